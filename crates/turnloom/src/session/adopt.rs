//! Conversations that were there before their sessions: an agent held them on its own, and stored them.

use std::path::Path;

use serde_json::{Map, Value};
use turnloom_core::command::Refusal;
use turnloom_core::id::{IdSource, SessionId};
use turnloom_core::session::{Output, State};

use super::create::seed;
use super::{Error, NewSession, Sessions, now};
use crate::log::{Created, SessionRow};
use crate::runtime::{AdoptError, Conversation};

/// The parameter that says which conversation a session was made of. It is stored, and not a client's to give.
const ADOPTED: &str = "adopt";

/// What a session takes over from its conversation, where the client does not say.
const TAKEN_OVER: &[&str] = &["cwd", "title"];

impl From<AdoptError> for Error {
    fn from(error: AdoptError) -> Self {
        match error {
            AdoptError::Unsupported => Refusal::Unsupported { what: "adopt conversations" }.into(),
            AdoptError::NotFound(id) => Error::ConversationNotFound(id),
            AdoptError::Unreadable(_) => Error::ConversationUnreadable(error.to_string()),
        }
    }
}

impl Sessions {
    /// The conversations that the agents of a runtime have stored for a directory, newest first.
    pub async fn conversations(&self, runtime: &str, cwd: &Path) -> Result<Vec<Conversation>, Error> {
        Ok(self.runtime(runtime)?.conversations(cwd, self.launch_context()).await?)
    }

    /// Creates a session that begins with what was said in a conversation, or finds the one that an earlier try of the same request made.
    pub async fn adopt(&self, new: NewSession, conversation: &str) -> Result<(SessionRow, Created), Error> {
        let NewSession { id, runtime, params: given } = new;
        self.check_params(&runtime, &given)?;
        // The conversation may have changed or gone since; a retry is answered all the same.
        if let Some(row) = self.existing_session(id.as_ref()).await? {
            return is_same(&row, &runtime, &given, conversation)
                .then(|| (row.clone(), Created::Exists(Box::new(row.clone()))))
                .ok_or(Error::Conflict(row.id));
        }
        let history = self.runtime(&runtime)?.history(conversation, self.launch_context()).await?;
        let mut params = given.clone();
        take_over(&mut params, history.conversation)?;
        params.insert(ADOPTED.to_owned(), conversation.into());
        let params = Value::Object(params);
        let at = now();
        let id = id.unwrap_or_else(|| SessionId::fresh(&mut IdSource::seeded(seed()), at));
        let mut machine = self.machine(id.clone(), &runtime, params.clone(), State::default())?;
        let mut out = Output::default();
        machine.create(at, &mut out);
        machine.adopt(at, &mut out, conversation.to_owned(), history.turns);
        let created = self.store_new(&machine, out, Vec::new(), &runtime, &params, None).await?;
        if let Created::Exists(row) = &created
            && !is_same(row, &runtime, &given, conversation)
        {
            return Err(Error::Conflict(id));
        }
        Ok((self.row(&id).await?, created))
    }

    async fn existing_session(&self, id: Option<&SessionId>) -> Result<Option<SessionRow>, Error> {
        match id {
            Some(id) => Ok(self.log().session(id).await?),
            None => Ok(None),
        }
    }
}

fn take_over(params: &mut Map<String, Value>, conversation: Conversation) -> Result<(), Error> {
    if !params.contains_key("title") && !conversation.title.is_empty() {
        params.insert("title".to_owned(), conversation.title.into());
    }
    if let (false, Some(cwd)) = (params.contains_key("cwd"), conversation.cwd) {
        if !Path::new(&cwd).is_dir() {
            return Err(Error::Invalid(format!(
                "the conversation was held in {cwd:?}, which is not there any more; give another `params.cwd`"
            )));
        }
        params.insert("cwd".to_owned(), cwd.into());
    }
    Ok(())
}

/// Whether a session was made by this very request.
fn is_same(row: &SessionRow, runtime: &str, given: &Map<String, Value>, conversation: &str) -> bool {
    let Some(stored) = row.params.as_object() else { return false };
    let of_request = |name: &str| given.contains_key(name) || !(name == ADOPTED || TAKEN_OVER.contains(&name));
    row.runtime == runtime
        && stored.get(ADOPTED).and_then(Value::as_str) == Some(conversation)
        && given.iter().all(|(name, value)| stored.get(name) == Some(value))
        && stored.keys().all(|name| !of_request(name) || given.contains_key(name))
}
