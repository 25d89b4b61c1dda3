//! What messages are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::blob::BlobRef;

/// One piece of a message.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text {
        text: String,
    },
    /// An image: its bytes in base64, or a blob that holds them.
    Image {
        media_type: String,
        data: Option<String>,
        blob: Option<BlobRef>,
    },
    /// A file the agent can read by itself.
    File {
        path: String,
    },
}

impl Part {
    /// The blob that it names.
    pub fn blob(&self) -> Option<&BlobRef> {
        match self {
            Self::Image { blob, .. } => blob.as_ref(),
            Self::Text { .. } | Self::File { .. } => None,
        }
    }
}
