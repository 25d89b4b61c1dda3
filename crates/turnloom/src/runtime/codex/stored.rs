//! Threads that Codex has stored, asked of a server that runs.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use turnloom_core::runtime::codex::{StoredThread, stored_threads, stored_turns};
use turnloom_core::runtime::jsonrpc::{Flavor, Peer, Received};
use turnloom_core::runtime::{self, ImportedTurn};
use turnloom_core::time::Timestamp;

use super::hub::Hub;
use crate::process::{Agent, Line};
use crate::runtime::{AdoptError, Conversation, History, LaunchContext, MirrorUpdate};

/// How long one answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);
/// How much is asked for at a time.
const PAGE: u64 = 100;
/// How much there may be.
const MAX_PAGES: usize = 100;

pub(super) async fn list(hub: &Hub, cwd: &Path, context: &LaunchContext) -> Result<Vec<Conversation>, AdoptError> {
    let mut caller = RequestClient::join(hub, context).await?;
    let mut found = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let params = json!({ "limit": PAGE, "cursor": cursor, "cwd": cwd, "sourceKinds": ["appServer", "vscode", "cli", "exec"] });
        let result = caller.call("thread/list", params).await.map_err(AdoptError::Unreadable)?;
        let (threads, next) = stored_threads(&result).map_err(AdoptError::Unreadable)?;
        found.extend(threads.into_iter().map(conversation));
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    found.sort_by_key(|conversation| std::cmp::Reverse(conversation.updated_at));
    Ok(found)
}

pub(super) async fn history(hub: &Hub, id: &str, context: &LaunchContext) -> Result<History, AdoptError> {
    let mut caller = RequestClient::join(hub, context).await?;
    let not_found = |_| AdoptError::NotFound(id.to_owned());
    let result = caller.call("thread/read", json!({ "threadId": id })).await.map_err(not_found)?;
    let thread: Value = serde_json::from_str(&result).map_err(|error| AdoptError::Unreadable(error.to_string()))?;
    let page = json!({ "data": [thread.get("thread")] }).to_string();
    let (threads, _) = stored_threads(&page).map_err(AdoptError::Unreadable)?;
    let thread = threads.into_iter().next().ok_or_else(|| AdoptError::NotFound(id.to_owned()))?;
    let mut turns: Vec<ImportedTurn> = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = json!({
            "threadId": id, "limit": PAGE, "cursor": cursor, "itemsView": "full", "sortDirection": "asc",
        });
        let result = caller.call("thread/turns/list", params).await.map_err(AdoptError::Unreadable)?;
        let (page, next) = stored_turns(&result).map_err(AdoptError::Unreadable)?;
        turns.extend(page);
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(History { conversation: conversation(thread), turns })
}

pub(super) async fn push(
    hub: &Hub,
    id: &str,
    update: &MirrorUpdate,
    context: &LaunchContext,
) -> Result<(), AdoptError> {
    let mut caller = RequestClient::join(hub, context).await?;
    let (method, params) = match update {
        MirrorUpdate::Renamed(title) => ("thread/name/set", json!({ "threadId": id, "name": title })),
        MirrorUpdate::Archived => ("thread/archive", json!({ "threadId": id })),
        MirrorUpdate::Unarchived => ("thread/unarchive", json!({ "threadId": id })),
    };
    caller.call(method, params).await.map(drop).map_err(AdoptError::Unreadable)
}

fn conversation(thread: StoredThread) -> Conversation {
    Conversation {
        id: thread.id,
        title: thread.title.unwrap_or_default(),
        cwd: thread.cwd,
        updated_at: Timestamp::from_millis(thread.updated_at.unwrap_or_default().saturating_mul(1000)),
    }
}

/// A client that only asks.
struct RequestClient {
    agent: Agent,
    peer: Peer<()>,
}

impl RequestClient {
    async fn join(hub: &Hub, context: &LaunchContext) -> Result<Self, AdoptError> {
        let gone = || AdoptError::Unreadable("codex is gone".to_owned());
        let mut caller = Self { agent: hub.join(context).await.ok_or_else(gone)?, peer: Peer::new(Flavor::Plain) };
        let client = json!({ "name": "turnloom", "title": "Turnloom", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "clientInfo": client, "capabilities": { "experimentalApi": true } });
        caller.call("initialize", params).await.map_err(AdoptError::Unreadable)?;
        Ok(caller)
    }

    async fn call(&mut self, method: &str, params: Value) -> Result<String, String> {
        let (_, line) = self.peer.request(method, params, (), None);
        let asking = async {
            let written = self.agent.input.write_all(format!("{line}\n").as_bytes()).await;
            written.map_err(|error| error.to_string())?;
            let mut lines = Vec::new();
            while self.agent.output.next_batch(&mut lines).await > 0 {
                for line in lines.drain(..) {
                    let Line::Text(text) = &line else { continue };
                    if let Received::Response { result, .. } = self.peer.receive(runtime::Line::Text(text)) {
                        return result.map(str::to_owned).map_err(|error| error.message);
                    }
                }
            }
            Err("codex is gone".to_owned())
        };
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, asking).await;
        answer.unwrap_or_else(|_| Err(format!("codex did not answer {method} in time")))
    }
}
