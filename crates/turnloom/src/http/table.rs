//! The table of routes. A route cannot exist without its entry, so the `OpenAPI` document cannot forget one.

use std::collections::BTreeMap;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::App;
use super::problem::Document;

/// One route and what the document says of it.
pub(super) struct Route {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    tag: &'static str,
    query: Option<fn(&mut SchemaGenerator) -> Value>,
    body: Option<fn(&mut SchemaGenerator) -> Value>,
    answers: Vec<(u16, &'static str, Content)>,
    router: MethodRouter<App>,
}

#[derive(Clone, Copy)]
enum Content {
    Nothing,
    Json(fn(&mut SchemaGenerator) -> Value),
    Other(&'static str),
}

pub(super) fn get<H: Handler<T, App>, T: 'static>(path: &'static str, summary: &'static str, handler: H) -> Route {
    Route::new("get", path, summary, on(MethodFilter::GET, handler))
}

pub(super) fn post<H: Handler<T, App>, T: 'static>(path: &'static str, summary: &'static str, handler: H) -> Route {
    Route::new("post", path, summary, on(MethodFilter::POST, handler))
}

pub(super) fn put<H: Handler<T, App>, T: 'static>(path: &'static str, summary: &'static str, handler: H) -> Route {
    Route::new("put", path, summary, on(MethodFilter::PUT, handler))
}

pub(super) fn patch<H: Handler<T, App>, T: 'static>(path: &'static str, summary: &'static str, handler: H) -> Route {
    Route::new("patch", path, summary, on(MethodFilter::PATCH, handler))
}

pub(super) fn delete<H: Handler<T, App>, T: 'static>(path: &'static str, summary: &'static str, handler: H) -> Route {
    Route::new("delete", path, summary, on(MethodFilter::DELETE, handler))
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

impl Route {
    fn new(method: &'static str, path: &'static str, summary: &'static str, router: MethodRouter<App>) -> Self {
        Self { method, path, summary, tag: "", query: None, body: None, answers: Vec::new(), router }
    }

    pub(super) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(schema_of::<T>);
        self
    }

    pub(super) fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Some(schema_of::<T>);
        self
    }

    pub(super) fn answers<T: JsonSchema>(mut self, status: u16, what: &'static str) -> Self {
        self.answers.push((status, what, Content::Json(schema_of::<T>)));
        self
    }

    /// An answer that is not JSON.
    pub(super) fn answers_as(mut self, status: u16, what: &'static str, media_type: &'static str) -> Self {
        self.answers.push((status, what, Content::Other(media_type)));
        self
    }

    pub(super) fn answers_empty(mut self, status: u16, what: &'static str) -> Self {
        self.answers.push((status, what, Content::Nothing));
        self
    }

    /// `get /api/sessions/{id}` becomes `get_api_sessions_id`.
    fn operation_id(&self) -> String {
        let path = self.path.replace(['{', '}', '*'], "");
        let words = path.split(['/', '-', '.', '_']).filter(|word| !word.is_empty());
        std::iter::once(self.method).chain(words).collect::<Vec<_>>().join("_")
    }

    fn describe(&self, generator: &mut SchemaGenerator) -> Value {
        let mut parameters: Vec<Value> = self
            .path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .map(|name| name.trim_start_matches('*'))
            .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
            .collect();
        if let Some(query) = self.query {
            parameters.extend(query_parameters(&query(generator), generator));
        }
        let mut responses: Map<String, Value> = Map::new();
        for (status, what, content) in &self.answers {
            let mut response = json!({ "description": what });
            let content = match content {
                Content::Nothing => None,
                Content::Json(schema) => Some(json!({ "application/json": { "schema": schema(generator) } })),
                Content::Other(media_type) => Some(json!({ *media_type: { "schema": { "type": "string" } } })),
            };
            if let (Some(content), Some(response)) = (content, response.as_object_mut()) {
                response.insert("content".to_owned(), content);
            }
            // Two forms of one status (a page and a stream) are two media types of one response.
            merge(responses.entry(status.to_string()).or_insert_with(|| json!({})), response);
        }
        let problem = generator.subschema_for::<Document<'_>>().to_value();
        responses.insert(
            "default".to_owned(),
            json!({ "description": "A problem document", "content": { "application/problem+json": { "schema": problem } } }),
        );
        let mut operation = json!({
            "operationId": self.operation_id(),
            "summary": self.summary,
            "tags": [self.tag],
            "parameters": parameters,
            "responses": responses,
        });
        if let (Some(body), Some(operation)) = (self.body, operation.as_object_mut()) {
            let schema = body(generator);
            operation
                .insert("requestBody".to_owned(), json!({ "content": { "application/json": { "schema": schema } } }));
        }
        operation
    }
}

/// All routes, in groups.
#[derive(Default)]
pub(super) struct Table(Vec<Route>);

impl Table {
    pub(super) fn group(mut self, tag: &'static str, routes: impl IntoIterator<Item = Route>) -> Self {
        self.0.extend(routes.into_iter().map(|route| Route { tag, ..route }));
        self
    }

    pub(super) fn router(self) -> Router<App> {
        let mut paths: BTreeMap<&'static str, MethodRouter<App>> = BTreeMap::new();
        for route in self.0 {
            let methods = paths.remove(route.path).unwrap_or_default();
            paths.insert(route.path, methods.merge(route.router));
        }
        paths.into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods))
    }

    pub(super) fn openapi(&self) -> Value {
        let mut settings = SchemaSettings::draft2020_12();
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        let mut generator = settings.into_generator();
        let mut paths: Map<String, Value> = Map::new();
        for route in &self.0 {
            let operation = route.describe(&mut generator);
            // The document has no name for "the rest of the path".
            let path = route.path.replace("{*", "{");
            merge(paths.entry(path).or_insert_with(|| json!({})), json!({ route.method: operation }));
        }
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Turnloom",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "One daemon between coding agents and user interfaces. Unknown fields in a request are an error that names the field.",
                "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            },
            "security": [{ "bearer": [] }, { "cookie": [] }],
            "paths": paths,
            "components": {
                "schemas": generator.take_definitions(true),
                "securitySchemes": {
                    "bearer": { "type": "http", "scheme": "bearer" },
                    "cookie": { "type": "apiKey", "in": "cookie", "name": super::access::COOKIE },
                },
            },
        })
    }
}

fn query_parameters(schema: &Value, generator: &SchemaGenerator) -> Vec<Value> {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let Some(properties) =
        generator.definitions().get(name).and_then(|schema| schema.get("properties")).and_then(Value::as_object)
    else {
        return Vec::new();
    };
    properties
        .iter()
        .map(|(name, schema)| json!({ "name": name, "in": "query", "required": false, "schema": schema }))
        .collect()
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                match into.get_mut(&name) {
                    Some(existing) => merge(existing, value),
                    None => drop(into.insert(name, value)),
                }
            }
        }
        (into, from) => *into = from,
    }
}
