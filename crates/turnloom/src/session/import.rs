//! Sessions from a file. What an agent would be started with is checked as if a client had said it; that somebody of this machine agrees is the
//! session's own business (`turnloom_core::session`).

use std::fs::File;
use std::io::{Read as _, Seek as _};

use serde_json::{Map, Value};
use turnloom_core::budget;
use turnloom_core::client_tools;
use turnloom_core::component;
use turnloom_core::delegation;
use turnloom_core::event::{Envelope, readdress};
use turnloom_core::id::SessionId;
use turnloom_core::runtime::skips_approvals;
use turnloom_core::session::{IMPORTED, Output};

use super::{Error, Sessions, now};
use crate::archive::{self, Archive, Params};
use crate::log::{Created, NewSession, SessionRow};

impl From<archive::Error> for Error {
    fn from(error: archive::Error) -> Self {
        match error {
            archive::Error::Unwanted => Error::ShuttingDown,
            broken => Error::BrokenFile(broken.to_string()),
        }
    }
}

impl Sessions {
    /// Stores the session from a file, under another id if one is given. The session is not woken until somebody uses it.
    pub async fn import(&self, file: File, id: Option<SessionId>) -> Result<SessionRow, Error> {
        let _turn = self.0.copying.acquire().await;
        // A large file takes its time, and others must not wait for it.
        let shutdown = self.0.shutdown.clone();
        let reading = self.0.tracker.spawn_blocking(move || read(file, id, &|| !shutdown.is_cancelled()));
        let (id, archive) = reading.await.map_err(|_| Error::ShuttingDown)??;
        self.check_import(&archive)?;
        let Archive { header, mut records, blobs, state } = archive;
        let params = params(header.params, header.head.0);
        let mut machine = self.machine(id.clone(), &header.runtime, params.clone(), state)?;
        let mut out = Output::default();
        machine.settle_import(now(), &mut out);
        records.extend(out.facts.iter().map(Envelope::encode));
        let new = NewSession {
            id: id.clone(),
            runtime: header.runtime,
            params,
            created_at: header.created_at,
            records,
            blobs,
            summary: machine.state().summary(),
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
        }
        for (name, value) in archive.state.settings() {
            let checked = if [client_tools::SESSION_TOOLS, client_tools::RUN_TOOLS].contains(&name.as_str()) {
                client_tools::read(value).map(drop)
            } else if [budget::OWN, budget::GROUP].contains(&name.as_str()) {
                budget::check_params(archive.state.settings()).map_err(|(_, why)| why)
            } else if name == delegation::ALLOWED {
                value.as_bool().map(drop).ok_or_else(|| "must be true or false".to_owned())
            } else if [component::SESSION_COMPONENTS, component::SESSION_RULES].contains(&name.as_str()) {
                component::check_params(archive.state.settings()).map_err(|(_, why)| why)
            } else {
                let known = runtime.settings().iter().find(|setting| setting.name == name);
                known.ok_or_else(|| "is not a setting".to_owned()).and_then(|setting| setting.check(value))
            };
            checked.map_err(|why| broken(format!("`settings.{name}` {why}")))?;
        }
        Ok(())
    }
}

fn read(mut file: File, id: Option<SessionId>, is_wanted: &dyn Fn() -> bool) -> Result<(SessionId, Archive), Error> {
    let mut text = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut text));
    read.map_err(|cause| Error::BrokenFile(format!("the file cannot be read: {cause}")))?;
    let mut archive = Archive::read_while(&text, is_wanted)?;
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
    let mode = mode.filter(|mode| !skips_approvals("mode", &mode.as_str().into()));
    let given = [("title", title), ("cwd", cwd), ("model", model), ("mode", mode)];
    let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?))));
    Value::Object(given.chain([(IMPORTED.to_owned(), Value::from(head))]).collect::<Map<_, _>>())
}
