//! What the daemon's documents promise: every answer that a test gets is compared with the `OpenAPI` one, every frame of a stream and of a WebSocket with
//! the `AsyncAPI` one, so whatever is not true there fails whichever test meets it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::Value;

use super::client::header;
use super::closed;

/// Larger bodies are compared by their type only: a page of ten thousand events is no better a witness than one of ten.
const MAX_BYTES: usize = 256 * 1024;

pub struct Contract {
    pub document: Value,
    /// Its schemas, as strict as they are compared with.
    components: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// The document as the code gives it; that the daemon serves the same is a test of its own.
pub static CONTRACT: LazyLock<Contract> = LazyLock::new(|| Contract::of(turnloom::http::openapi()));

/// The streams, as the code describes them.
pub static STREAMS: LazyLock<Contract> = LazyLock::new(|| Contract::of(turnloom::http::asyncapi()));

/// What is known of an answer when it is compared.
pub struct Seen<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub status: u16,
    pub headers: &'a [(String, String)],
    /// Nothing, where it is a stream that goes on.
    pub body: Option<&'a [u8]>,
}

impl Contract {
    fn of(document: Value) -> Self {
        let components = closed::components(&document["components"]);
        Self { document, components, validators: Mutex::default() }
    }

    /// That an answer is one that the document describes. What it does not describe is not there.
    #[track_caller]
    pub fn check(&self, seen: &Seen<'_>) {
        let errors = self.errors_of_answer(seen);
        let Seen { method, path, status, .. } = seen;
        let body = String::from_utf8_lossy(seen.body.unwrap_or_default());
        assert!(errors.is_empty(), "{method} {path}: {status} is not what the document says: {errors:#?}\n{body}");
    }

    /// What in the JSON of an answer is not as described. That there may be such an answer at all is checked first.
    #[track_caller]
    pub fn errors_of_answer(&self, seen: &Seen<'_>) -> Vec<String> {
        let told = format!("{} {}: {}", seen.method, seen.path, seen.status);
        let Some((path, operation)) = self.operation(seen.method, seen.path) else {
            // Strangers are not told what there is. Every page has a head, every path may be asked for by a browser first, and Socket.IO is a
            // protocol of its own.
            let is_refused = matches!(seen.status, 401 | 404 | 405);
            let is_about_another = matches!(seen.method, "HEAD" | "OPTIONS") || seen.path.starts_with("/ws/");
            assert!(is_refused || is_about_another, "{told}: no such operation is in the document");
            return Vec::new();
        };
        let responses = &operation["responses"];
        let name = match responses.get(seen.status.to_string()) {
            Some(_) => seen.status.to_string(),
            None if seen.status >= 400 => "default".to_owned(),
            None => panic!("{told} is not in the document"),
        };
        let Some(content) = responses[&name].get("content").and_then(Value::as_object) else {
            assert!(seen.body.is_none_or(<[u8]>::is_empty), "{told} has a body, and the document says none");
            return Vec::new();
        };
        let media_type = header(seen.headers, "content-type").unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        let known = if content.contains_key(media_type) { media_type } else { "*/*" };
        let described = content.get(known);
        let described = described.unwrap_or_else(|| panic!("{told} is {media_type:?}, which is not in the document"));
        let Some(body) = seen.body.filter(|body| is_json(media_type) && body.len() <= MAX_BYTES) else {
            return Vec::new();
        };
        let value: Value = serde_json::from_slice(body).unwrap_or_else(|error| panic!("{told} is not JSON: {error}"));
        let key = format!("{} {path} {name} {media_type}", seen.method);
        errors_of(&self.validator(&key, &described["schema"]), &value)
    }

    /// The operation that a request is for: the one with the most literal path.
    pub fn operation(&self, method: &str, path: &str) -> Option<(&str, &Value)> {
        let path = path.split('?').next().unwrap_or_default();
        let given: Vec<&str> = path.split('/').collect();
        let fits = |template: &str| {
            let wanted: Vec<&str> = template.split('/').collect();
            let takes_rest = template.starts_with("/static/");
            let same = |(wanted, given): (&&str, &&str)| wanted.starts_with('{') || wanted == given;
            (wanted.len() == given.len() || (takes_rest && given.len() > wanted.len()))
                && wanted.iter().zip(&given).all(same)
        };
        let paths = self.document["paths"].as_object().expect("paths").iter();
        let best =
            paths.filter(|(template, _)| fits(template)).min_by_key(|(template, _)| template.matches('{').count())?;
        best.1.get(method.to_lowercase()).map(|operation| (best.0.as_str(), operation))
    }

    /// The channel of a stream that a request follows; other people's protocols have none.
    pub fn channel_of(&self, path: &str) -> Option<&str> {
        let given: Vec<&str> = path.split('?').next().unwrap_or_default().split('/').collect();
        let same = |(wanted, given): (&str, &&str)| wanted.starts_with('{') || wanted == *given;
        let fits = |channel: &Value| {
            let wanted: Vec<&str> = channel["address"].as_str().expect("an address").split('/').collect();
            wanted.len() == given.len() && wanted.into_iter().zip(&given).all(same)
        };
        let mut channels = self.document["channels"].as_object().expect("channels").iter();
        channels.find(|(_, channel)| fits(channel)).map(|(name, _)| name.as_str())
    }

    /// That a frame of a stream is one that the document describes. Facts are named by their type, and tasks have no names.
    #[track_caller]
    pub fn check_frame(&self, channel: &str, kind: &str, data: &str) {
        if channel == "channel" {
            let value: Value = serde_json::from_str(data).unwrap_or_else(|error| panic!("{channel}: {error}: {data}"));
            return self.check_message(channel, value["op"].as_str().unwrap_or_default(), &value);
        }
        let messages = &self.document["channels"][channel]["messages"];
        let name = [kind, "event", "task"].into_iter().find(|name| messages.get(name).is_some());
        let name = name.unwrap_or_else(|| panic!("{channel} tells {kind:?}, which is not in the document: {data}"));
        if data.len() <= MAX_BYTES {
            let value = serde_json::from_str(data).unwrap_or_else(|error| panic!("{channel} {kind}: {error}: {data}"));
            self.check_message(channel, name, &value);
        }
    }

    /// That something a socket carries is one that the document describes.
    #[track_caller]
    pub fn check_op(&self, op: &Value) {
        let errors = self.errors_of_op(op);
        assert!(errors.is_empty(), "{op} is not what the document says: {errors:#?}");
    }

    pub fn errors_of_op(&self, op: &Value) -> Vec<String> {
        let name = op["op"].as_str().unwrap_or_default();
        if self.document["channels"]["socket"]["messages"].get(name).is_none() {
            return vec![format!("there is no op {name:?}")];
        }
        self.errors("socket", name, op)
    }

    #[track_caller]
    fn check_message(&self, channel: &str, name: &str, value: &Value) {
        let errors = self.errors(channel, name, value);
        assert!(errors.is_empty(), "{channel} {name} is not what the document says: {errors:#?}\n{value:#}");
    }

    fn errors(&self, channel: &str, name: &str, value: &Value) -> Vec<String> {
        let payload = &self.document["channels"][channel]["messages"][name]["payload"];
        if payload.is_null() {
            return vec![format!("{channel} has no {name:?}")];
        }
        // A fact is compared with its own type, and not with each of them in turn.
        let carries_ops = matches!(channel, "socket" | "channel");
        let fact = if carries_ops { &value["event"] } else { value };
        if name == "event"
            && let Some(schema) = self.schema_of_fact(fact)
        {
            let key = format!("fact {}", fact["type"]);
            let mut errors = errors_of(&self.validator(&key, &schema), fact);
            if carries_ops {
                let mut frame = value.clone();
                frame["event"] = Value::Null;
                let mut payload = payload.clone();
                payload["properties"]["event"] = serde_json::json!({});
                errors.extend(errors_of(&self.validator("socket event", &payload), &frame));
            }
            return errors;
        }
        errors_of(&self.validator(&format!("{channel} {name}"), payload), value)
    }

    fn schema_of_fact(&self, fact: &Value) -> Option<Value> {
        let mapping = &self.document["components"]["schemas"]["Event"]["discriminator"]["mapping"];
        let path = mapping.get(fact["type"].as_str()?)?;
        Some(serde_json::json!({ "$ref": path }))
    }

    /// What checks values of this schema. What the document does not name is not there.
    pub fn validator(&self, key: &str, schema: &Value) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let made = || {
            let mut schema = closed::whole(schema);
            schema["components"] = self.components.clone();
            Arc::new(jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{key}: {error}")))
        };
        Arc::clone(validators.entry(key.to_owned()).or_insert_with(made))
    }
}

/// One value, not one on each line.
fn is_json(media_type: &str) -> bool {
    // A manifest is for browsers; what is in it is their affair.
    media_type == "application/json" || (media_type.ends_with("+json") && media_type != "application/manifest+json")
}

fn errors_of(validator: &Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|error| format!("{} at {}", error, error.instance_path())).collect()
}
