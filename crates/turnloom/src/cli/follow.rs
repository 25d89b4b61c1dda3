//! Follows a session across reconnects: when the daemon goes away and comes back, perhaps at another address, reading continues right after the last
//! event.

use std::time::Duration;

use anyhow::Result;
use tokio::time::Instant;
use turnloom_core::id::{Seq, SessionId};

use super::connect::{Target, is_temporary};
use super::failure::Failure;
use crate::client::{Backoff, Client, Events, Received};

/// How long a follower waits for a daemon to come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReconnectLimit {
    Endless,
    Limited(Duration),
}

/// What a follower learns.
#[derive(Debug)]
pub(super) enum Followed {
    Event(Received),
    /// The daemon is gone; it is looked for from now on. Said once per break.
    Lost,
}

#[derive(Debug)]
pub(super) struct Follow {
    target: Target,
    client: Client,
    session: SessionId,
    types: Option<String>,
    reconnect_limit: ReconnectLimit,
    after: Seq,
    events: Option<Events>,
    lost: Option<(Instant, Backoff)>,
}

impl Follow {
    pub(super) fn new(
        target: &Target,
        client: &Client,
        session: &SessionId,
        after: Seq,
        reconnect_limit: ReconnectLimit,
    ) -> Self {
        Self {
            target: target.clone(),
            client: client.clone(),
            session: session.clone(),
            types: None,
            reconnect_limit,
            after,
            events: None,
            lost: None,
        }
    }

    #[must_use]
    pub(super) fn only(mut self, types: Option<String>) -> Self {
        self.types = types;
        self
    }

    /// The daemon that answers now.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Cancel-safe: a position is passed only when its event is handed over.
    pub(super) async fn next(&mut self) -> Result<Followed> {
        loop {
            if let Some(events) = &mut self.events {
                match events.next().await {
                    Ok(Some(event)) => {
                        self.after = events.after();
                        return Ok(Followed::Event(event));
                    }
                    Ok(None) => {}
                    Err(error) if is_temporary(&error) => {}
                    Err(error) => return Err(error.into()),
                }
                self.events = None;
            }
            if let Some(lost) = self.connect().await? {
                return Ok(lost);
            }
        }
    }

    /// One try to be connected again.
    async fn connect(&mut self) -> Result<Option<Followed>> {
        if let Some((since, backoff)) = &mut self.lost {
            if let ReconnectLimit::Limited(reconnect_limit) = self.reconnect_limit
                && since.elapsed() > reconnect_limit
            {
                let what = format!("the daemon at {} went away", self.client.url());
                return Err(
                    Failure::new(what, "start it again with `turnloom up`; nothing that was said is lost").into()
                );
            }
            backoff.wait().await;
            match self.target.find().await {
                Ok(Some(client)) => self.client = client,
                Ok(None) => return Ok(None),
                Err(error) => return error.downcast_ref().is_some_and(is_temporary).then_some(None).ok_or(error),
            }
        }
        match Events::open(&self.client, &self.session, self.after, self.types.as_deref()).await {
            Ok(events) => {
                self.events = Some(events);
                self.lost = None;
                Ok(None)
            }
            Err(error) if is_temporary(&error) => {
                let first = self.lost.is_none();
                self.lost.get_or_insert_with(|| (Instant::now(), Backoff::default()));
                Ok(first.then_some(Followed::Lost))
            }
            Err(error) => Err(error.into()),
        }
    }
}
