//! What the calls of a client change in the router, and what the answers to them change.

use std::borrow::Cow;

use super::{ClientId, Params, Routed, Router};

/// How many thread names are remembered that the server has not reported back yet.
const MAX_NAMED: usize = 1_024;

/// What the router does when a client's call is answered.
#[derive(Debug)]
pub(super) enum OnResponse {
    Nothing,
    /// The answer contains a thread. A resumed thread speaks before its answer comes, so it already has an owner.
    Thread {
        owned: Option<String>,
    },
    /// It begins a turn in this thread.
    Turn {
        thread_id: String,
    },
    /// The answer lists the running commands of this thread. A page that is not the first one adds to the commands that are known.
    CommandsListed {
        thread_id: String,
        from_first: bool,
    },
    /// The answer confirms that a command was killed.
    Ended {
        thread_id: String,
    },
    Name {
        thread_id: String,
        name: String,
    },
}

impl Router {
    /// What to do when this call is answered. `None` if the call asks for a thread that another client owns.
    pub(super) fn on_response(&mut self, client: ClientId, method: &str, about: &Params<'_>) -> Option<OnResponse> {
        let thread_id = about.thread_id.as_deref().unwrap_or_default();
        Some(match method {
            "thread/resume" => match self.threads.get(thread_id) {
                Some(thread) if thread.owner != client => return None,
                Some(_) => OnResponse::Thread { owned: None },
                None => {
                    self.claim(thread_id, client, None);
                    OnResponse::Thread { owned: Some(thread_id.to_owned()) }
                }
            },
            "thread/start" | "thread/fork" => OnResponse::Thread { owned: None },
            "turn/start" | "review/start" => OnResponse::Turn { thread_id: thread_id.to_owned() },
            "thread/backgroundTerminals/list" => {
                OnResponse::CommandsListed { thread_id: thread_id.to_owned(), from_first: about.cursor.is_none() }
            }
            "thread/backgroundTerminals/terminate" => OnResponse::Ended { thread_id: thread_id.to_owned() },
            "thread/name/set" => {
                let (thread_id, name) = (thread_id.to_owned(), about.name.as_deref().unwrap_or_default().to_owned());
                if self.named.len() >= MAX_NAMED {
                    self.named.clear();
                }
                self.named.insert((thread_id.clone(), name.clone()));
                OnResponse::Name { thread_id, name }
            }
            _ => OnResponse::Nothing,
        })
    }

    /// Handles the answer to a client's call, whether or not the client is still connected.
    pub(super) fn client_answered(
        &mut self,
        client: ClientId,
        on_response: OnResponse,
        result: Option<&str>,
        out: &mut Routed,
    ) {
        match on_response {
            OnResponse::Thread { owned } => {
                match result.and_then(opened) {
                    Some((thread_id, cwd)) => self.opened(client, &thread_id, cwd, out),
                    None => owned.iter().for_each(|thread_id| self.unclaim(thread_id, client)),
                }
                self.settle_unclaimed(out);
            }
            OnResponse::CommandsListed { thread_id, from_first } => {
                self.commands_listed(&thread_id, from_first, result, out);
            }
            OnResponse::Ended { thread_id } => self.command_ended(&thread_id, out),
            OnResponse::Name { thread_id, name } => {
                if result.is_none() {
                    self.named.remove(&(thread_id, name));
                }
            }
            OnResponse::Turn { .. } | OnResponse::Nothing => {}
        }
    }
}

/// The thread that an answer brings, and where it works.
fn opened(result: &str) -> Option<(String, Option<String>)> {
    let about: Params<'_> = serde_json::from_str(result).ok()?;
    let id = about.thread.map(|thread| thread.id.into_owned()).filter(|id| !id.is_empty())?;
    Some((id, about.cwd.map(Cow::into_owned)))
}
