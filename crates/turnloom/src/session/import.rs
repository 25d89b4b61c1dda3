//! Sessions from a file. What an agent would be started with is checked as if a client had said it; that somebody of this machine agrees is the
//! session's own business (`turnloom_core::session`).

use std::fs::File;
use std::io::{Read as _, Seek as _};

use serde_json::{Map, Value};
use turnloom_core::client_tools;
use turnloom_core::event::readdress;
use turnloom_core::id::SessionId;
use turnloom_core::runtime::skips_approvals;
use turnloom_core::session::IMPORTED;

use super::{Error, Sessions};
use crate::archive::{self, Archive, Params};
use crate::log::{Created, NewSession, SessionRow};

impl From<archive::Error> for Error {
    fn from(error: archive::Error) -> Self {
        Error::BrokenFile(error.to_string())
    }
}

impl Sessions {
    /// Stores the session from a file, under another id if one is given. The session is not woken until somebody uses it.
    pub async fn import(&self, file: File, id: Option<SessionId>) -> Result<SessionRow, Error> {
        let _turn = self.0.copying.acquire().await;
        // A large file takes its time, and others must not wait for it.
        let reading = self.0.tracker.spawn_blocking(move || read(file, id));
        let (id, archive) = reading.await.map_err(|_| Error::ShuttingDown)??;
        self.check_import(&archive)?;
        let Archive { header, records, blobs, state } = archive;
        let new = NewSession {
            id: id.clone(),
            runtime: header.runtime,
            params: params(header.params, header.head.0),
            created_at: header.created_at,
            records,
            blobs,
            summary: state.summary(),
            share_blobs_of: None,
        };
        match self.log().create(new).await? {
            Created::New => self.row(&id).await,
            Created::Exists(_) => Err(Error::Conflict(id)),
        }
    }

    /// Refuses what the runtime here would not take from a client either.
    fn check_import(&self, archive: &Archive) -> Result<(), Error> {
        let runtime = self.runtime(&archive.header.runtime)?;
        let broken = |why: String| Error::BrokenFile(format!("{why}; export the session again"));
        for mode in archive.header.params.mode.iter().chain(&archive.state.summary().mode) {
            self.check_known_mode(runtime, "mode", mode).map_err(|error| broken(error.to_string()))?;
            // Some take such a mode for another one by themselves.
            if runtime.may_have_mode(mode, &Value::Null).is_ok() && skips_approvals("mode", &mode.as_str().into()) {
                return Err(broken(format!("{mode:?} is not taken from a file: choose another `mode` there")));
            }
        }
        for (name, value) in archive.state.settings() {
            let checked = if [client_tools::SESSION_TOOLS, client_tools::RUN_TOOLS].contains(&name.as_str()) {
                client_tools::read(value).map(drop)
            } else {
                let known = runtime.settings().iter().find(|setting| setting.name == name);
                known.ok_or_else(|| "is not a setting".to_owned()).and_then(|setting| setting.check(value))
            };
            let checked = checked.and_then(|()| {
                let unguarded = skips_approvals(name, value);
                if unguarded {
                    Err(format!("{value} is not taken from a file: choose something else there"))
                } else {
                    Ok(())
                }
            });
            checked.map_err(|why| broken(format!("`settings.{name}` {why}")))?;
        }
        Ok(())
    }
}

fn read(mut file: File, id: Option<SessionId>) -> Result<(SessionId, Archive), Error> {
    let mut text = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut text));
    read.map_err(|cause| Error::BrokenFile(format!("the file cannot be read: {cause}")))?;
    let mut archive = Archive::read(&text)?;
    let Some(id) = id else {
        let named = SessionId::parse(archive.header.session_id.as_str());
        let id = named.map_err(|error| Error::BrokenFile(format!("line 1: {error}; give the session another id")))?;
        return Ok((id, archive));
    };
    for record in &mut archive.records {
        *record = readdress(record, &id).map_err(|error| Error::BrokenFile(error.to_string()))?;
    }
    Ok((id, archive))
}

fn params(params: Params, head: u64) -> Value {
    let Params { title, cwd, model, mode } = params;
    let given = [("title", title), ("cwd", cwd), ("model", model), ("mode", mode)];
    let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?))));
    Value::Object(given.chain([(IMPORTED.to_owned(), Value::from(head))]).collect::<Map<_, _>>())
}
