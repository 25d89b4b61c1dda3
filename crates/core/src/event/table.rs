//! What is true of each type of event, in one table. A new type is a row here; the compiler asks for every column.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

#[allow(clippy::wildcard_imports, reason = "every row names a payload")]
use super::data::*;
#[allow(clippy::wildcard_imports, reason = "every row names a payload")]
use super::delegation::*;
#[allow(clippy::wildcard_imports, reason = "every row names a payload")]
use super::history::*;
use super::part::Part;
use super::{Unknown, encoding};
use crate::blob::BlobRef;
use crate::id::SubagentId;

/// Who may bring an event into a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventAuthor {
    /// An agent, through its protocol.
    Agent,
    /// The session itself, and nobody for it.
    Session,
}

/// Where an event may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Only inside a turn, unless a background sub-agent did it.
    InTurn,
    /// Inside a turn; between turns only when it begins background work.
    InTurnOrBackground,
    Anywhere,
}

/// When an event must be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// With the next sync. A power cut may take it back where the store is set to survive its own end only.
    Grouped,
    /// Before anybody sees it.
    Synced,
}

/// A part of an event that may leave it for a blob.
#[derive(Debug)]
pub enum Large<'a> {
    Text(&'a mut String, &'a mut Option<BlobRef>),
    Json(&'a mut Value, &'a mut Option<BlobRef>),
    Image(&'a mut Image),
    Part(&'a mut Part),
}

/// Names every type once. From a row come the variant, its name in JSON, its payload, decoding and schema, and what is true of it.
macro_rules! events {
    ($($variant:ident $kind:literal $said:ident $stands:ident $durability:ident [$($large:ident as $how:ident),*] [$($value:ident),*])*) => {
        /// What happened. The payload of each variant has the variant's name.
        #[derive(Debug, Clone)]
        pub enum Event {
            $($variant($variant),)*
            Unknown(Unknown),
        }

        impl Event {
            /// Every type this version writes.
            pub const KINDS: &'static [&'static str] = &[$($kind),*];

            /// The name of the type in JSON.
            pub fn kind(&self) -> &str {
                match self {
                    $(Event::$variant(_) => $kind,)*
                    Event::Unknown(unknown) => &unknown.kind,
                }
            }

            /// Who may say it. Of a type that this version does not know, nobody but the session that copies it.
            pub fn author(&self) -> EventAuthor {
                match self {
                    $(Event::$variant(_) => EventAuthor::$said,)*
                    Event::Unknown(_) => EventAuthor::Session,
                }
            }

            /// Where a type may stand, by its name. Types of other versions stand where they stand.
            pub fn placement(kind: &str) -> Placement {
                match kind {
                    $($kind => Placement::$stands,)*
                    _ => Placement::Anywhere,
                }
            }

            pub fn durability(&self) -> Durability {
                match self {
                    $(Event::$variant(_) => Durability::$durability,)*
                    Event::Unknown(_) => Durability::Grouped,
                }
            }

            /// Visits what may leave the event for a blob.
            #[allow(unused_variables, reason = "most types have nothing that is large")]
            pub fn each_large(&mut self, visit: &mut dyn FnMut(Large<'_>)) {
                match self {
                    $(Event::$variant(data) => { $(large!(data visit $large $how);)* })*
                    Event::Unknown(_) => {}
                }
            }

            /// Visits the blobs that it names.
            #[allow(unused_variables, reason = "most types have nothing that is large")]
            pub fn each_blob<'a>(&'a self, visit: &mut dyn FnMut(&'a BlobRef)) {
                match self {
                    $(Event::$variant(data) => { $(blobs!(data visit $large $how);)* })*
                    Event::Unknown(_) => {}
                }
            }

            /// Visits the JSON in it whose shape somebody else decides.
            #[allow(unused_variables, reason = "most types have no free JSON")]
            pub fn each_value(&mut self, visit: &mut dyn FnMut(&mut Value)) {
                match self {
                    $(Event::$variant(data) => { $(data.$value.each_value(visit);)* })*
                    Event::Unknown(_) => {}
                }
            }

            pub(super) fn write_data(&self, out: &mut Vec<u8>, subagent_id: Option<&SubagentId>) -> serde_json::Result<()> {
                match self {
                    $(Event::$variant(data) => encoding::write_data(out, data, subagent_id),)*
                    Event::Unknown(unknown) => {
                        out.extend_from_slice(unknown.data.get().as_bytes());
                        Ok(())
                    }
                }
            }

            /// The payload as JSON.
            pub fn data(&self) -> Value {
                let value = match self {
                    $(Event::$variant(data) => serde_json::to_value(data),)*
                    Event::Unknown(unknown) => serde_json::from_str(unknown.data.get()),
                };
                // Payloads have string keys and no custom serializers, so they always encode.
                value.unwrap_or_default()
            }

            /// Reads a payload. One of an unknown type or shape becomes `Unknown`: a newer log must stay readable.
            pub fn from_parts(kind: &str, data: &RawValue) -> Event {
                let known = match kind {
                    $($kind => serde_json::from_str(data.get()).map(Event::$variant).ok(),)*
                    _ => None,
                };
                known.unwrap_or_else(|| Event::Unknown(Unknown { kind: kind.to_owned(), data: data.to_owned() }))
            }

            /// As [`Event::from_parts`], from a value.
            pub fn from_value(kind: &str, data: &Value) -> Event {
                let raw = serde_json::value::to_raw_value(data).unwrap_or_else(|_| RawValue::NULL.to_owned());
                Self::from_parts(kind, &raw)
            }
        }

        $(impl From<$variant> for Event {
            fn from(data: $variant) -> Event {
                Event::$variant(data)
            }
        })*

        pub(super) fn payload_schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
            vec![$(($kind, generator.subschema_for::<$variant>())),*]
        }
    };
}

/// How a field is visited. `Text` and `Json` leave their reference in the payload's `blob`.
macro_rules! large {
    ($data:ident $visit:ident $field:ident Text) => {
        if let Some(text) = $data.$field.text() {
            $visit(Large::Text(text, &mut $data.blob));
        }
    };
    ($data:ident $visit:ident $field:ident Json) => {
        if let Some(value) = &mut $data.$field {
            $visit(Large::Json(value, &mut $data.blob));
        }
    };
    ($data:ident $visit:ident $field:ident Images) => {
        for image in $data.$field.iter_mut().flatten() {
            $visit(Large::Image(image));
        }
    };
    ($data:ident $visit:ident $field:ident Parts) => {
        for part in $data.$field.parts() {
            $visit(Large::Part(part));
        }
    };
    // A page is in a blob from the beginning.
    ($data:ident $visit:ident $field:ident View) => {};
    ($data:ident $visit:ident $field:ident Message) => {
        for part in $data.$field.iter_mut().flat_map(|message| &mut message.content) {
            $visit(Large::Part(part));
        }
    };
}

/// Where the blobs of a field are named, for each way in which it is visited.
macro_rules! blobs {
    ($data:ident $visit:ident $field:ident Text) => {
        $data.blob.iter().for_each(&mut *$visit);
    };
    ($data:ident $visit:ident $field:ident Json) => {
        $data.blob.iter().for_each(&mut *$visit);
    };
    ($data:ident $visit:ident $field:ident Images) => {
        $data.$field.iter().flatten().filter_map(|image| image.blob.as_ref()).for_each(&mut *$visit);
    };
    ($data:ident $visit:ident $field:ident Parts) => {
        $data.$field.all().iter().filter_map(Part::blob).for_each(&mut *$visit);
    };
    ($data:ident $visit:ident $field:ident View) => {
        $data.$field.iter().filter_map(|view| view.blob.as_ref()).for_each(&mut *$visit);
    };
    ($data:ident $visit:ident $field:ident Message) => {
        let parts = $data.$field.iter().flat_map(|message| &message.content);
        parts.filter_map(Part::blob).for_each(&mut *$visit);
    };
}

events! {
//  type                name                   said by  stands              synced?  may become blobs                      free JSON
    SessionReady        "session_ready"        Session  Anywhere            Grouped  []                                    []
    SessionUpdated      "session_updated"      Agent    Anywhere            Grouped  []                                    [settings]
    ModeChanged         "mode_changed"         Agent    Anywhere            Grouped  []                                    []
    ModelChanged        "model_changed"        Agent    Anywhere            Grouped  []                                    []
    SessionEnded        "session_ended"        Session  Anywhere            Grouped  []                                    []
    UserMessage         "user_message"         Session  Anywhere            Grouped  [content as Parts]                    []
    TurnStarted         "turn_started"         Session  InTurn              Grouped  []                                    []
    Status              "status"               Agent    InTurn              Grouped  []                                    [detail]
    Steer               "steer"                Session  InTurn              Grouped  [content as Parts]                    []
    TurnResult          "result"               Agent    InTurn              Grouped  []                                    [structured_output]
    Done                "done"                 Session  InTurn              Synced   []                                    []
    Failure             "error"                Agent    InTurn              Grouped  []                                    []
    Usage               "usage"                Agent    InTurn              Grouped  []                                    []
    Budget              "budget"               Session  Anywhere            Synced   []                                    []
    ScheduleMissed      "schedule_missed"      Session  Anywhere            Synced   []                                    []
    Delta               "delta"                Agent    InTurn              Grouped  []                                    []
    Thinking            "thinking"             Agent    InTurn              Grouped  []                                    []
    Retracted           "retracted"            Agent    InTurn              Grouped  []                                    []
    ToolStart           "tool_start"           Agent    InTurn              Grouped  [input as Json]                       [input, component]
    ToolProgress        "tool_progress"        Agent    InTurn              Grouped  []                                    []
    ToolResult          "tool_result"          Agent    InTurn              Grouped  [output as Text, images as Images]    [structured, meta, props]
    ToolDecided         "tool_decided"         Session  Anywhere            Grouped  []                                    []
    PermissionRequest   "permission_request"   Session  InTurn              Synced   []                                    [tool_input]
    PermissionResolved  "permission_resolved"  Session  InTurn              Synced   []                                    [updated_input]
    QuestionRequest     "question_request"     Session  InTurn              Synced   []                                    []
    QuestionResolved    "question_resolved"    Session  InTurn              Synced   []                                    []
    Interrupt           "interrupt"            Session  InTurn              Synced   []                                    [props, value_schema]
    InterruptResolved   "interrupt_resolved"   Session  InTurn              Synced   []                                    [value]
    SubagentStarted     "subagent_started"     Agent    InTurnOrBackground  Grouped  []                                    []
    SubagentUpdated     "subagent_updated"     Agent    InTurn              Grouped  []                                    []
    SubagentEnded       "subagent_ended"       Agent    InTurn              Grouped  []                                    []
    BackgroundStarted   "background_started"   Agent    Anywhere            Grouped  []                                    []
    BackgroundEnded     "background_ended"     Agent    Anywhere            Grouped  [output as Text, images as Images]    []
    Delegated           "delegated"            Session  Anywhere            Synced   []                                    []
    DelegationStarted   "delegation_started"   Session  Anywhere            Synced   []                                    []
    DelegationUpdated   "delegation_updated"   Session  Anywhere            Grouped  []                                    []
    ComponentUpdate     "component_update"     Agent    Anywhere            Grouped  [view as View]                        [props, patch]
    ComponentRemove     "component_remove"     Agent    Anywhere            Grouped  []                                    []
    ComponentCallback   "component_callback"   Session  Anywhere            Grouped  []                                    [payload]
    StateSnapshot       "state_snapshot"       Agent    Anywhere            Grouped  []                                    [state]
    StateDelta          "state_delta"          Agent    Anywhere            Grouped  []                                    [patch]
    PlanUpdated         "plan_updated"         Agent    InTurn              Grouped  []                                    []
    DiffUpdated         "diff_updated"         Agent    InTurn              Grouped  []                                    []
    ArtifactCreated     "artifact_created"     Agent    Anywhere            Grouped  [content as Text]                     []
    ArtifactUpdated     "artifact_updated"     Agent    Anywhere            Grouped  [content as Text]                     []
    ArtifactVersion     "artifact_version"     Agent    Anywhere            Grouped  []                                    []
    ArtifactRemoved     "artifact_removed"     Agent    Anywhere            Grouped  []                                    []
    EvidenceChanged     "evidence_changed"     Agent    Anywhere            Grouped  []                                    [detail]
    CompactionStart     "compaction_start"     Agent    InTurn              Grouped  []                                    []
    CompactionEnd       "compaction_end"       Agent    InTurn              Grouped  []                                    []
    Rollback            "rollback"             Session  Anywhere            Grouped  []                                    []
    Forked              "forked"               Session  Anywhere            Grouped  []                                    []
    QueueChanged        "queue_changed"        Session  Anywhere            Grouped  [added as Message]                    []
    AgentUnparsed       "agent_unparsed"       Agent    Anywhere            Grouped  []                                    []
}

/// A text, or perhaps one.
trait Text {
    fn text(&mut self) -> Option<&mut String>;
}

impl Text for String {
    fn text(&mut self) -> Option<&mut String> {
        Some(self)
    }
}

impl Text for Option<String> {
    fn text(&mut self) -> Option<&mut String> {
        self.as_mut()
    }
}

/// The parts of a message, or perhaps those of one.
trait Parts {
    fn all(&self) -> &[Part];
    fn parts(&mut self) -> &mut [Part];
}

impl Parts for Vec<Part> {
    fn all(&self) -> &[Part] {
        self
    }

    fn parts(&mut self) -> &mut [Part] {
        self
    }
}

impl Parts for Option<Vec<Part>> {
    fn all(&self) -> &[Part] {
        self.as_deref().unwrap_or_default()
    }

    fn parts(&mut self) -> &mut [Part] {
        self.as_deref_mut().unwrap_or_default()
    }
}

trait EachValue {
    fn each_value(&mut self, visit: &mut dyn FnMut(&mut Value));
}

impl EachValue for Value {
    fn each_value(&mut self, visit: &mut dyn FnMut(&mut Value)) {
        visit(self);
    }
}

impl EachValue for Map<String, Value> {
    fn each_value(&mut self, visit: &mut dyn FnMut(&mut Value)) {
        self.values_mut().for_each(visit);
    }
}

impl EachValue for Box<ToolComponent> {
    fn each_value(&mut self, visit: &mut dyn FnMut(&mut Value)) {
        self.props.each_value(visit);
    }
}

impl<T: EachValue> EachValue for Option<T> {
    fn each_value(&mut self, visit: &mut dyn FnMut(&mut Value)) {
        if let Some(value) = self {
            value.each_value(visit);
        }
    }
}
