// Made by `npm run generate` from docs/reference. Do not edit.

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Props: {
            weather: {
                location?: string;
                city?: string;
                temperature?: number;
                temp?: number;
                /** @enum {unknown} */
                unit?: "C" | "F";
                condition?: string;
                feels_like?: number;
                high?: number;
                low?: number;
                humidity?: number;
                wind_speed?: number;
                wind_unit?: string;
                observed_at?: string;
                forecast?: {
                    label: string;
                    high?: number;
                    low?: number;
                    condition?: string;
                    precipitation?: number;
                }[];
            };
            chart: {
                /** @enum {unknown} */
                type: "bar" | "line" | "area" | "pie" | "scatter";
                data: ({
                    [key: string]: unknown;
                } | number | (string | number | boolean | null)[])[];
                x?: string;
                y?: string | string[];
                series?: string;
                stacked?: boolean;
                horizontal?: boolean;
                x_label?: string;
                y_label?: string;
                unit?: string;
                min?: number;
                max?: number;
                legend?: boolean;
                height?: number;
                colors?: string[];
            };
            table: {
                columns?: (string | {
                    key: string;
                    label?: string;
                    /** @enum {unknown} */
                    type?: "text" | "number" | "date" | "boolean" | "link" | "code" | "badge";
                    /** @enum {unknown} */
                    align?: "left" | "right" | "center";
                })[];
                rows: ({
                    [key: string]: unknown;
                } | unknown[])[];
                row_key?: string;
                sort?: {
                    key: string;
                    /** @enum {unknown} */
                    direction?: "asc" | "desc";
                };
                page_size?: number;
                /** @enum {unknown} */
                selectable?: "none" | "one" | "many";
                caption?: string;
                total?: number;
            };
            form: {
                schema: {
                    [key: string]: unknown;
                };
                values?: {
                    [key: string]: unknown;
                };
                order?: string[];
                widgets?: {
                    [key: string]: "text" | "textarea" | "select" | "radio" | "checkbox" | "switch" | "slider" | "date" | "time" | "datetime";
                };
                submit_label?: string;
                cancel_label?: string;
                /** @enum {unknown} */
                columns?: 1 | 2;
                live?: boolean;
            };
            plan_editor: {
                steps: (string | {
                    id?: string;
                    description?: string;
                    text?: string;
                    /** @enum {unknown} */
                    status?: "pending" | "running" | "done" | "skipped" | "failed";
                    detail?: string;
                    approved?: boolean;
                })[];
                current_step?: number;
                editable?: boolean;
            };
            approval: {
                action: string;
                details?: string;
                options?: (string | {
                    value: string;
                    label?: string;
                    description?: string;
                    /** @enum {unknown} */
                    style?: "primary" | "danger" | "plain";
                })[];
                danger?: boolean;
                command?: string;
                diff?: string;
                allow_message?: boolean;
            };
            search_results: {
                query?: string;
                results: {
                    title: string;
                    url?: string;
                    snippet?: string;
                    source?: string;
                    date?: string;
                    score?: number;
                }[];
                total?: number;
                took_ms?: number;
            };
            research_progress: {
                queries?: (string | {
                    text: string;
                    status?: string;
                    results?: number;
                })[];
                results_count?: number;
                status?: string;
                progress?: number;
                sources?: {
                    title: string;
                    url?: string;
                }[];
                findings?: string[];
            };
            progress: {
                value?: number;
                max?: number;
                label?: string;
                detail?: string;
                indeterminate?: boolean;
                /** @enum {unknown} */
                state?: "running" | "paused" | "done" | "failed";
                steps?: {
                    label: string;
                    /** @enum {unknown} */
                    state?: "pending" | "running" | "done" | "failed";
                }[];
                started_at?: string;
                eta_seconds?: number;
            };
            key_values: {
                items: {
                    label: string;
                    value: unknown;
                    unit?: string;
                    /** @enum {unknown} */
                    kind?: "text" | "number" | "bytes" | "duration" | "date" | "link" | "code" | "badge";
                    /** @enum {unknown} */
                    tone?: "neutral" | "ok" | "warn" | "bad" | "accent";
                }[] | {
                    [key: string]: unknown;
                };
                columns?: number;
            };
            metrics: {
                metrics: {
                    label: string;
                    value: number | string;
                    unit?: string;
                    delta?: number;
                    delta_label?: string;
                    /** @enum {unknown} */
                    tone?: "neutral" | "ok" | "warn" | "bad" | "accent";
                    trend?: number[];
                    target?: number;
                }[];
            };
            code_diff: {
                files?: {
                    path: string;
                    /** @enum {unknown} */
                    kind?: "added" | "modified" | "deleted" | "renamed";
                    old_path?: string;
                    diff?: string;
                    old_text?: string;
                    new_text?: string;
                }[];
                path?: string;
                diff?: string;
                /** @enum {unknown} */
                layout?: "unified" | "split";
            };
            code: {
                code: string;
                language?: string;
                path?: string;
                start_line?: number;
                highlight?: (number | [
                    number,
                    number
                ])[];
                wrap?: boolean;
            };
            markdown: {
                text?: string;
                markdown?: string;
            };
            image: {
                src: string;
                alt: string;
                caption?: string;
                width?: number;
                height?: number;
            };
            gallery: {
                images: {
                    src: string;
                    alt: string;
                    caption?: string;
                    width?: number;
                    height?: number;
                }[];
                columns?: number;
            };
            tree: {
                nodes: components["schemas"]["tree_node"][];
                selectable?: boolean;
            };
            timeline: {
                events: {
                    at: string;
                    end?: string;
                    title: string;
                    detail?: string;
                    /** @enum {unknown} */
                    tone?: "neutral" | "ok" | "warn" | "bad" | "accent";
                }[];
                /** @enum {unknown} */
                order?: "asc" | "desc";
            };
            map: {
                points?: {
                    lat: number;
                    lon: number;
                    label?: string;
                    value?: number;
                    /** @enum {unknown} */
                    tone?: "neutral" | "ok" | "warn" | "bad" | "accent";
                    detail?: string;
                }[];
                lines?: {
                    points: number[][];
                    label?: string;
                    /** @enum {unknown} */
                    tone?: "neutral" | "ok" | "warn" | "bad" | "accent";
                }[];
                bounds?: number[];
                /** @enum {unknown} */
                projection?: "mercator" | "equirectangular";
            };
            file_list: {
                files: {
                    path: string;
                    /** @enum {unknown} */
                    kind?: "file" | "dir" | "added" | "modified" | "deleted" | "renamed";
                    size?: number;
                    modified_at?: string;
                    additions?: number;
                    deletions?: number;
                    note?: string;
                    blob?: string;
                }[];
                root?: string;
            };
            json: {
                value?: unknown;
            };
        };
        Callbacks: {
            weather: Record<string, never>;
            chart: {
                select_point: {
                    index: number;
                    row: unknown;
                };
            };
            table: {
                select_rows: {
                    rows: unknown[];
                };
                open_row: {
                    row: unknown;
                };
            };
            form: {
                submit: {
                    values: {
                        [key: string]: unknown;
                    };
                };
                cancel: Record<string, never>;
                change: {
                    values: {
                        [key: string]: unknown;
                    };
                };
            };
            plan_editor: {
                reorder_steps: {
                    steps: (string | {
                        id?: string;
                        description?: string;
                        text?: string;
                        /** @enum {unknown} */
                        status?: "pending" | "running" | "done" | "skipped" | "failed";
                        detail?: string;
                        approved?: boolean;
                    })[];
                };
                approve_step: {
                    step_index: number;
                };
                edit_step: {
                    step_index: number;
                    description: string;
                };
                add_step: {
                    step_index: number;
                    description: string;
                };
                remove_step: {
                    step_index: number;
                };
                approve_plan: Record<string, never>;
            };
            approval: {
                choose: {
                    choice: string;
                };
            };
            search_results: {
                open_result: {
                    index: number;
                };
                more: Record<string, never>;
            };
            research_progress: Record<string, never>;
            progress: {
                cancel: Record<string, never>;
            };
            key_values: Record<string, never>;
            metrics: Record<string, never>;
            code_diff: {
                accept_file: {
                    path: string;
                };
                reject_file: {
                    path: string;
                };
                comment: {
                    path: string;
                    line: number;
                    text: string;
                };
            };
            code: Record<string, never>;
            markdown: Record<string, never>;
            image: Record<string, never>;
            gallery: {
                select_image: {
                    index: number;
                };
            };
            tree: {
                select_node: {
                    path: number[];
                    id: string;
                };
            };
            timeline: Record<string, never>;
            map: {
                select_point: {
                    index: number;
                };
            };
            file_list: {
                open_file: {
                    path: string;
                };
            };
            json: Record<string, never>;
        };
        Answers: {
            form: {
                /** @enum {unknown} */
                action: "submit" | "cancel";
                values?: {
                    [key: string]: unknown;
                };
            };
            plan_editor: {
                approved: boolean;
                steps?: (string | {
                    id?: string;
                    description?: string;
                    text?: string;
                    /** @enum {unknown} */
                    status?: "pending" | "running" | "done" | "skipped" | "failed";
                    detail?: string;
                    approved?: boolean;
                })[];
                message?: string;
            };
            approval: {
                choice: string;
                approved: boolean;
                message?: string;
            };
            code_diff: {
                choice: string;
                comments?: {
                    [key: string]: unknown;
                }[];
            };
        };
        tree_node: {
            id?: string;
            label: string;
            detail?: string;
            badge?: string;
            /** @enum {unknown} */
            tone?: "neutral" | "ok" | "warn" | "bad" | "accent";
            expanded?: boolean;
            children?: components["schemas"]["tree_node"][];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
