//! Where a message comes from that no client sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::channel::Kind;

/// Where a message comes from that no client sent.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MessageSource {
    /// The channel, by its name.
    pub channel: String,
    /// What kind of channel that is.
    pub kind: Option<Kind>,
    /// The service's own id of the delivery.
    pub delivery: String,
    /// Who wrote it, as the service says.
    pub sender: Option<String>,
}
