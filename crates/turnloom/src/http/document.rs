//! The `OpenAPI` document: what the table of routes says of them, in the way that generators of clients want it.
//!
//! Answers are described as they are written and bodies as they are read, so what an answer may leave out is optional in one and what a body may leave
//! out in the other. What a route is stands in `table`; schemas of what is written by hand stand in `shapes`.

mod events;
mod examples;
pub(super) mod schemas;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::table::{Content, Described};

/// The two generators of schemas: one for what is written, one for what is read.
pub(super) struct Schemas {
    pub(super) answers: SchemaGenerator,
    pub(super) requests: SchemaGenerator,
}

/// How a type says its schema.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Value;

impl Default for Schemas {
    fn default() -> Self {
        let settings = || {
            let mut settings = SchemaSettings::draft2020_12();
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
            settings
        };
        let answers = settings().for_serialize().into_generator();
        let requests = settings().for_deserialize().into_generator();
        Self { answers, requests }
    }
}

impl Schemas {
    /// All that was named, and the events; then the names that have `Input` behind them where they are read.
    pub(super) fn joined(self) -> (Map<String, Value>, Vec<String>) {
        let (mut components, differing) = schemas::joined(self.answers, self.requests);
        components.extend(events::components());
        (components, differing)
    }
}

/// The whole document.
pub(super) fn openapi<'a>(routes: impl IntoIterator<Item = Described<'a>>) -> Value {
    let mut schemas = Schemas::default();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes {
        let operation = operation(&route, &mut schemas);
        // The document has no name for "the rest of the path".
        let path = route.path.replace("{*", "{");
        schemas::merge(paths.entry(path).or_insert_with(|| json!({})), json!({ route.method: operation }));
    }
    let mut paths = Value::Object(paths);
    let (components, differing) = schemas.joined();
    let operations = paths.as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in operations.filter_map(Value::as_object_mut).flat_map(|methods| methods.values_mut()) {
        for side in ["requestBody", "parameters"] {
            if let Some(side) = operation.get_mut(side) {
                schemas::rename(side, &differing);
            }
        }
    }
    schemas::plain(&mut paths);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Turnloom",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "One daemon between coding agents and user interfaces. Unknown fields in a request are an error that names the field. \
                Streams and the WebSocket are described by /api/asyncapi.json, every event by /api/events.schema.json.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [
            { "url": "/", "description": "The daemon that serves this document" },
            { "url": "http://127.0.0.1:7171", "description": "A daemon on this machine, at its default address" },
        ],
        "security": [{ "bearer": [] }, { "cookie": [] }],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "The daemon's token" },
                "cookie": {
                    "type": "apiKey", "in": "cookie", "name": super::access::COOKIE,
                    "description": "What a sign-in link sets in a browser",
                },
            },
        },
    })
}

fn operation(route: &Described<'_>, schemas: &mut Schemas) -> Value {
    let mut parameters: Vec<Value> = path_parameters(route.path).collect();
    if let Some(query) = route.query {
        let schema = query(&mut schemas.requests);
        parameters.extend(query_parameters(&schema, &schemas.requests));
    }
    let mut responses: Map<String, Value> = Map::new();
    for (status, what, content) in route.answers {
        let mut response = json!({ "description": what });
        if let Some((media_type, schema)) = described(*content, &mut schemas.answers) {
            schemas::merge(&mut response, json!({ "content": { media_type: answered(&schema) } }));
        }
        // Two forms of one status (a page and a stream) are two media types of one response.
        schemas::merge(responses.entry(status.to_string()).or_insert_with(|| json!({})), response);
    }
    let mut problem = json!({ "description": "Why it was refused" });
    for content in route.problems {
        if let Some((media_type, schema)) = described(*content, &mut schemas.answers) {
            schemas::merge(&mut problem, json!({ "content": { media_type: { "schema": schema } } }));
        }
    }
    responses.insert("default".to_owned(), problem);
    let mut operation = json!({
        "operationId": route.id, "summary": route.summary, "tags": [route.tag], "parameters": parameters, "responses": responses,
    });
    let Some(members) = operation.as_object_mut() else { return operation };
    if route.open {
        members.insert("security".to_owned(), json!([]));
    }
    if let Some((media_type, schema)) = route.body.and_then(|body| described(body, &mut schemas.requests)) {
        let mut content = json!({ "schema": schema.clone() });
        if let (Some(example), Some(content)) = (route.example, content.as_object_mut()) {
            content.insert("example".to_owned(), example.clone());
        }
        let known = named(&schema).and_then(|name| schemas.requests.definitions().get(name)).unwrap_or(&schema);
        // Where nothing in it is required, nothing need be sent.
        let is_required = known.get("required").is_some() || known.get("type") != Some(&json!("object"));
        let body = json!({ "required": is_required, "content": { media_type: content } });
        members.insert("requestBody".to_owned(), body);
    }
    operation
}

/// An answer as the document has it: its schema, and an example where there is one.
fn answered(schema: &Value) -> Value {
    let example = named(schema).and_then(examples::of);
    let mut content = json!({ "schema": schema });
    if let (Some(example), Some(content)) = (example, content.as_object_mut()) {
        content.insert("example".to_owned(), example);
    }
    content
}

/// The name that a schema refers to.
fn named(schema: &Value) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next())
}

/// The media type and the schema of a body; nothing of one that is empty.
fn described(content: Content, generator: &mut SchemaGenerator) -> Option<(&'static str, Value)> {
    match content {
        Content::Nothing => None,
        Content::Json(schema) => Some(("application/json", schema(generator))),
        Content::Problem(schema) => Some(("application/problem+json", schema(generator))),
        Content::Text(media_type) => Some((media_type, json!({ "type": "string" }))),
        Content::Bytes(media_type) => Some((media_type, json!({ "type": "string", "format": "binary" }))),
    }
}

/// What the names in paths stand for. One that is missing here is found by the tests of the document.
const IN_PATHS: &[(&str, &str)] = &[
    ("agent", "The name of a runtime, or `default`"),
    ("artifact_id", "The id of an artifact, from its event"),
    ("hash", "Which state of the component's folder, from its entry"),
    ("path", "A file in the folder"),
    ("channel", "The name of a channel, from its first message"),
    ("ask_id", "The id of an ask, from its event or the list of asks"),
    ("background_id", "The id of background work, from its event"),
    ("blob_id", "The id of a blob, from the event that refers to it"),
    ("component_id", "The id of a component, from its event"),
    ("delivery_id", "The id of a delivery, from the list of deliveries"),
    ("id", "The id of a session"),
    ("item", "The id of something in the inbox, from its list"),
    ("interrupt_id", "The id of an interrupt, from its event or the list of asks"),
    ("message_id", "The id of a message"),
    ("name", "The name of a file, with its folders"),
    ("runtime", "The name of a runtime"),
    ("session", "The id of a session; any text where the session is made by it"),
    ("thread", "The id of a thread, which is the id of a session"),
    ("tool_use_id", "The id of a call, from its event"),
    ("turn_id", "The id of a turn"),
];

fn path_parameters(path: &str) -> impl Iterator<Item = Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names.map(|name| name.trim_start_matches('*')).map(move |name| {
        let described = match name {
            "id" if path.starts_with("/api/sign-ins/") => "The id of a sign-in, or `current`",
            "id" if path.starts_with("/api/tokens/") => "The id of a token",
            "id" if path.starts_with("/api/webhooks/") => "The id of a webhook",
            "channel" if path.starts_with("/hooks/") => "The name of a channel",
            "name" if path.starts_with("/api/channels/") => "The name of a channel",
            "name" if path.contains("component") || path.starts_with("/views/") => "The name of a component",
            _ => IN_PATHS.iter().find(|(known, _)| *known == name).map_or("", |(_, what)| *what),
        };
        json!({ "name": name, "in": "path", "required": true, "description": described, "schema": { "type": "string" } })
    })
}

fn query_parameters(schema: &Value, generator: &SchemaGenerator) -> Vec<Value> {
    let Some(schema) = named(schema).and_then(|name| generator.definitions().get(name)) else { return Vec::new() };
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = schema.clone();
        // A parameter is there or it is not.
        schemas::never_null(&mut schema);
        let described = schema.as_object_mut().and_then(|schema| schema.remove("description")).unwrap_or(json!(""));
        let required = required.contains(&json!(name));
        json!({ "name": name, "in": "query", "required": required, "description": described, "schema": schema })
    };
    properties.map(parameter).collect()
}
