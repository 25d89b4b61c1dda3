//! The document, to read in a browser: one page, made from the table of routes, that asks nothing of anybody else.

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::App;

const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --muted: #888; --accent: #2b6cb0 }
@media (prefers-color-scheme: dark) { :root { --accent: #7ab8f5 } }
body { font: 15px/1.6 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 24px 16px 96px }
h1 { font-size: 24px; margin: 0 0 4px } h2 { font-size: 18px; margin: 40px 0 8px; border-bottom: 1px solid var(--line) }
p { margin: 4px 0 } .muted { color: var(--muted) } a { color: var(--accent) }
details { border-bottom: 1px solid var(--line); padding: 8px 0 } summary { cursor: pointer }
code, pre { font: 13px/1.5 ui-monospace, monospace } pre { overflow-x: auto; padding: 12px; border: 1px solid var(--line); border-radius: 6px }
.method { display: inline-block; width: 4.5em; font-weight: 600; text-transform: uppercase }
table { border-collapse: collapse; margin: 8px 0 } td { padding: 2px 16px 2px 0; vertical-align: top }
";

pub(super) async fn routes(State(app): State<App>) -> Response {
    let mut body = String::from(
        "<h1>The Turnloom API</h1><p class=\"muted\">Made from the code that serves it. \
         <a href=\"/api/openapi.json\">The same for programs</a>.</p>",
    );
    let mut tags: Vec<(String, String)> = Vec::new();
    for (path, methods) in app.openapi.pointer("/paths").and_then(Value::as_object).into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let tag = operation.pointer("/tags/0").and_then(Value::as_str).unwrap_or_default();
            let entry = describe(path, method, operation);
            match tags.iter_mut().find(|(known, _)| known == tag) {
                Some((_, entries)) => entries.push_str(&entry),
                None => tags.push((tag.to_owned(), entry)),
            }
        }
    }
    for (tag, entries) in tags {
        let _ = write!(body, "<h2>{}</h2>{entries}", escape(&tag));
    }
    if let Some(schemas) = app.openapi.pointer("/components/schemas").and_then(Value::as_object) {
        body.push_str("<h2>Shapes</h2>");
        for (name, schema) in schemas {
            let text = serde_json::to_string_pretty(schema).unwrap_or_default();
            let _ = write!(
                body,
                "<details id=\"{0}\"><summary><code>{0}</code></summary><pre>{1}</pre></details>",
                escape(name),
                escape(&text)
            );
        }
    }
    page("Turnloom API", &body)
}

fn describe(path: &str, method: &str, operation: &Value) -> String {
    let summary = operation.get("summary").and_then(Value::as_str).unwrap_or_default();
    let mut entry = format!(
        "<details><summary><span class=\"method\">{}</span><code>{}</code> <span class=\"muted\">{}</span></summary>",
        escape(method),
        escape(path),
        escape(summary)
    );
    let parameters = operation.get("parameters").and_then(Value::as_array);
    if let Some(parameters) = parameters.filter(|parameters| !parameters.is_empty()) {
        entry.push_str("<table>");
        for parameter in parameters {
            let text = |name: &str| parameter.get(name).and_then(Value::as_str).unwrap_or_default();
            let what = parameter.pointer("/schema/description").and_then(Value::as_str).unwrap_or_default();
            let _ = write!(
                entry,
                "<tr><td><code>{}</code></td><td class=\"muted\">{}</td><td>{}</td></tr>",
                escape(text("name")),
                escape(text("in")),
                escape(what)
            );
        }
        entry.push_str("</table>");
    }
    if let Some(body) = operation.pointer("/requestBody/content/application~1json/schema") {
        let _ = write!(entry, "<p>Body: {}</p>", shape(body));
    }
    for (status, response) in operation.get("responses").and_then(Value::as_object).into_iter().flatten() {
        let what = response.get("description").and_then(Value::as_str).unwrap_or_default();
        let content = response.get("content").and_then(Value::as_object).into_iter().flatten();
        let forms: Vec<String> = content
            .map(|(media_type, content)| match content.get("schema") {
                Some(schema) if schema.get("$ref").is_some() => shape(schema),
                _ => format!("<code>{}</code>", escape(media_type)),
            })
            .collect();
        let _ = write!(entry, "<p><strong>{}</strong> {} {}</p>", escape(status), escape(what), forms.join(", "));
    }
    entry.push_str("</details>");
    entry
}

/// A link to a shape further down.
fn shape(schema: &Value) -> String {
    match schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()) {
        Some(name) => format!("<a href=\"#{0}\"><code>{0}</code></a>", escape(name)),
        None => "<code>JSON</code>".to_owned(),
    }
}

fn page(title: &str, body: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{}</title><style>{STYLE}</style></head><body>{body}</body></html>",
        escape(title)
    );
    let headers = [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)];
    (headers, html).into_response()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
