//! What the agent asks of the person at this terminal, and what is read from the keyboard for it.

use anyhow::Result;
use turnloom_core::id::AskId;

use super::{Asking, Conversation};
use crate::cli::answering::{Interview, Reply, Taken};
use crate::cli::connect::path;
use crate::cli::render::Ink;

const NOBODY: &str = "nobody is at the terminal to ask";

impl Conversation<'_> {
    pub(super) async fn asked(&mut self, interview: Interview) -> Result<()> {
        match self.asking {
            Asking::Yes => self.reply(interview.yes()).await,
            Asking::Person if !self.person => {
                self.terminal.hint("nobody is at this terminal, so the answer is no; use --yes to allow what is asked");
                self.reply(interview.no(NOBODY)).await
            }
            Asking::Person => {
                self.interviews.push_back(interview);
                self.prompt_for_answer();
                Ok(())
            }
        }
    }

    pub(super) fn settled(&mut self, ask_id: &AskId) {
        self.interviews.retain(|interview| interview.ask_id != *ask_id);
        self.prompt_for_answer();
    }

    /// Takes a line for the ask that waits; the end of the input is a no.
    pub(super) async fn answer_line(&mut self, line: Option<String>) -> Result<()> {
        self.prompted = false;
        let Some(interview) = self.interviews.front_mut() else { return Ok(()) };
        let Some(line) = line else {
            let reply = interview.no(NOBODY);
            self.interviews.pop_front();
            return self.reply(reply).await;
        };
        match interview.take(&line) {
            Taken::Reply(reply) => {
                self.interviews.pop_front();
                self.reply(reply).await?;
            }
            Taken::More => {}
            Taken::Unclear(why) => self.terminal.hint(&why),
        }
        self.prompt_for_answer();
        Ok(())
    }

    pub(super) async fn reply(&mut self, reply: Reply) -> Result<()> {
        let answer =
            self.follow.client().post::<serde_json::Value>(&path(&self.session, &reply.path), &reply.body).await;
        match answer {
            Ok(_) => Ok(()),
            // Somebody else was first, or the turn is over; the log says so, and it is shown.
            Err(error) if matches!(error.code(), Some("already_resolved" | "ask_not_found")) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn prompt_for_answer(&mut self) {
        if !self.prompted
            && let Some(interview) = self.interviews.front()
        {
            let prompt = format!("  {}", self.terminal.err.paint(Ink::Yellow, &interview.prompt()));
            self.terminal.talk(&prompt);
            self.prompted = true;
        }
    }

    pub(super) fn prompt_for_message(&mut self) {
        if self.person && !self.prompted && self.interviews.is_empty() {
            let prompt = format!("\n{} ", self.terminal.err.paint(Ink::Cyan, "›"));
            self.terminal.talk(&prompt);
            self.prompted = true;
        }
    }
}
