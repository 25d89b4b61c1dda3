//! The envelope's JSON. Members stand in a fixed order with `type` near the front, so that a stored event can be routed without parsing it.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::samples::samples;
use super::table::payload_schemas;
use super::{Envelope, Error, Event};
use crate::id::{Seq, SessionId, SubagentId, TurnId};
use crate::time::Timestamp;

/// The type of what stands where something cannot be read. No event has it.
pub const UNREADABLE: &str = "unreadable";

/// What is said of it.
#[derive(Serialize, JsonSchema)]
struct Unreadable {
    error: String,
    /// How it begins.
    raw: String,
}

/// How much is shown of what cannot be read.
const UNREADABLE_BYTES: usize = 256;

/// An encoded event: its position and the bytes that are stored and sent. Cloning shares them, and the event itself where this process made it.
#[derive(Debug, Clone)]
pub struct Record {
    pub seq: Seq,
    pub json: Bytes,
    decoded: Option<Arc<Envelope>>,
}

/// The bytes decide: whether somebody has read them already makes no difference.
impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        (self.seq, &self.json) == (other.seq, &other.json)
    }
}

impl Eq for Record {}

impl Record {
    /// Bytes from somewhere else.
    pub fn new(seq: Seq, json: impl Into<Bytes>) -> Self {
        Self { seq, json: json.into(), decoded: None }
    }

    /// What stands in a log where something cannot be read: the same place, and what is there instead of an event.
    pub fn unreadable(seq: Seq, session_id: &SessionId, why: &str, found: &[u8]) -> Self {
        let found = found.get(..found.len().min(UNREADABLE_BYTES)).unwrap_or_default();
        let data = Unreadable { error: why.to_owned(), raw: String::from_utf8_lossy(found).into_owned() };
        let head = Head {
            seq,
            ts: Timestamp::from_millis(0),
            kind: UNREADABLE,
            session_id: session_id.as_str(),
            turn_id: None,
        };
        head.around(|json| json.extend(serde_json::to_vec(&data).unwrap_or_default()))
    }

    pub fn is_unreadable(&self) -> bool {
        self.kind() == UNREADABLE
    }

    /// The event's type, found where `Envelope::encode` put it.
    pub fn kind(&self) -> &str {
        const MARK: &[u8] = b"\"type\":\"";
        // The position and the time stand before it: at most 20 digits and 30 characters.
        let head = self.json.get(..self.json.len().min(128)).unwrap_or_default();
        let kind = head.windows(MARK.len()).position(|window| window == MARK).and_then(|at| {
            let rest = self.json.get(at + MARK.len()..)?;
            let end = rest.iter().position(|&byte| byte == b'"')?;
            std::str::from_utf8(rest.get(..end)?).ok()
        });
        // Somebody else wrote it, in an order or with spaces of their own.
        kind.or_else(|| serde_json::from_slice::<Kind<'_>>(&self.json).ok().map(|found| found.kind))
            .unwrap_or("unknown")
    }

    /// The event. Nothing is parsed if this process made it.
    pub fn decode(&self) -> Result<Arc<Envelope>, Error> {
        match &self.decoded {
            Some(envelope) => Ok(Arc::clone(envelope)),
            None => Envelope::decode(&self.json).map(Arc::new),
        }
    }
}

impl Envelope {
    /// Encodes the event, and keeps it beside its bytes for readers in this process.
    pub fn into_record(self) -> Record {
        let record = self.encode();
        Record { decoded: Some(Arc::new(self)), ..record }
    }

    /// Encodes the event, once in its life.
    pub fn encode(&self) -> Record {
        let head = Head {
            seq: self.seq,
            ts: self.ts,
            kind: self.event.kind(),
            session_id: self.session_id.as_str(),
            turn_id: self.turn_id.as_ref().map(TurnId::as_str),
        };
        head.around(|json| {
            let start = json.len();
            if let Err(error) = self.event.write_data(json, self.subagent_id.as_ref()) {
                // Payloads have string keys and no custom serializers, so this cannot happen; if it did, the log must still say so.
                json.truncate(start);
                json.extend_from_slice(
                    serde_json::json!({ "encoding_error": error.to_string() }).to_string().as_bytes(),
                );
            }
        })
    }

    pub fn decode(json: &[u8]) -> Result<Envelope, Error> {
        let wire: Wire<'_> = serde_json::from_slice(json)?;
        let event = Event::from_parts(&wire.kind, wire.data);
        // A started or ended sub-agent names itself there, not the one who did it.
        let names_itself =
            matches!(event, Event::SubagentStarted(_) | Event::SubagentUpdated(_) | Event::SubagentEnded(_));
        let subagent_id = if names_itself || !wire.data.get().contains("\"subagent_id\"") {
            None
        } else {
            serde_json::from_str::<SubagentField>(wire.data.get())?.subagent_id
        };
        Ok(Envelope {
            seq: wire.seq,
            ts: wire.ts,
            session_id: SessionId::trusted(wire.session_id),
            turn_id: wire.turn_id.map(TurnId::trusted),
            subagent_id,
            event,
        })
    }
}

/// The same fact in a session's log, in the form in which all are written: what a fork and an import copy. Of the payload only spaces between its
/// parts are left out.
pub fn readdress(record: &Record, session_id: &SessionId) -> Result<Record, Error> {
    let wire: Wire<'_> = serde_json::from_slice(&record.json)?;
    let head = Head {
        seq: wire.seq,
        ts: wire.ts,
        kind: &wire.kind,
        session_id: session_id.as_str(),
        turn_id: wire.turn_id.as_deref(),
    };
    Ok(head.around(|json| write_compact(json, wire.data.get())))
}

fn write_compact(out: &mut Vec<u8>, json: &str) {
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b' ' | b'\n' | b'\r' | b'\t' if !in_string => continue,
            _ => {}
        }
        out.push(byte);
    }
}

struct Head<'a> {
    seq: Seq,
    ts: Timestamp,
    kind: &'a str,
    session_id: &'a str,
    turn_id: Option<&'a str>,
}

impl Head<'_> {
    fn around(&self, write_data: impl FnOnce(&mut Vec<u8>)) -> Record {
        let mut json = Vec::with_capacity(384);
        // Writing to a Vec cannot fail, here and in `write_string`.
        drop(write!(json, r#"{{"seq":{},"ts":"{}","type":"#, self.seq, self.ts));
        write_string(&mut json, self.kind);
        json.extend_from_slice(br#","session_id":"#);
        write_string(&mut json, self.session_id);
        if let Some(turn_id) = self.turn_id {
            json.extend_from_slice(br#","turn_id":"#);
            write_string(&mut json, turn_id);
        }
        json.extend_from_slice(br#","data":"#);
        write_data(&mut json);
        json.push(b'}');
        Record::new(self.seq, json)
    }
}

fn write_string(json: &mut Vec<u8>, text: &str) {
    drop(serde_json::to_writer(json, text));
}

pub(super) fn write_data<T: Serialize>(
    out: &mut Vec<u8>,
    data: &T,
    subagent_id: Option<&SubagentId>,
) -> serde_json::Result<()> {
    #[derive(Serialize)]
    struct Done<'a, T> {
        subagent_id: &'a SubagentId,
        #[serde(flatten)]
        data: &'a T,
    }
    match subagent_id {
        None => serde_json::to_writer(out, data),
        Some(subagent_id) => serde_json::to_writer(out, &Done { subagent_id, data }),
    }
}

#[derive(Deserialize)]
struct SubagentField {
    subagent_id: Option<SubagentId>,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
}

#[derive(Deserialize)]
struct Wire<'a> {
    seq: Seq,
    ts: Timestamp,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    turn_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// The JSON Schema of an envelope, one branch per type. A type that is not listed is legal too: it comes from a newer version.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let samples = samples();
    let unreadable = Record::unreadable(Seq(7), &SessionId::trusted("try-me"), "expected value", b"\0\0");
    let unreadable: Value = serde_json::from_slice(&unreadable.json).unwrap_or_default();
    let branch = |(kind, data): (&str, schemars::Schema)| {
        let examples: Vec<&Value> = samples
            .iter()
            .chain([&unreadable])
            .filter(|event| event.get("type").is_some_and(|known| known == kind))
            .collect();
        let properties = json!({ "type": { "const": kind }, "data": data });
        json!({ "title": kind, "properties": properties, "required": ["type", "data"], "examples": examples })
    };
    let mut payloads = payload_schemas(&mut generator);
    payloads.push((UNREADABLE, generator.subschema_for::<Unreadable>()));
    let branches: Vec<Value> = payloads.into_iter().map(branch).collect();
    let mut definitions = Value::Object(generator.take_definitions(true));
    // A title for each, so that what is generated from it has names.
    for (name, definition) in definitions.as_object_mut().into_iter().flatten() {
        if let Some(definition) = definition.as_object_mut() {
            definition.insert("title".to_owned(), json!(name));
        }
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Event",
        "description": "One fact of a Turnloom session log.",
        "type": "object",
        "properties": {
            "seq": { "type": "integer", "minimum": 1, "description": "Position in the log: from 1, without gaps." },
            "ts": { "type": "string", "format": "date-time" },
            "type": { "type": "string" },
            "session_id": { "type": "string" },
            "turn_id": { "type": "string" },
            "data": { "type": "object", "properties": { "subagent_id": { "type": "string" } } },
        },
        "required": ["seq", "ts", "type", "session_id", "data"],
        "oneOf": branches,
        "$defs": definitions,
    })
}
