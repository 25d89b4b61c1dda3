//! What waits for a person, in a frame that is open to the right, and how it was settled.

use serde_json::Value;
use std::fmt::Write as _;
use turnloom_core::event::{
    Interrupt, InterruptResolved, PermissionOption, PermissionReply, PermissionRequest, PermissionResolved,
    QuestionRequest, QuestionResolved, Unanswered,
};
use turnloom_core::id::SubagentId;

use super::prose::Prose;
use super::style::{Color, Ink, Look, Medium};
use super::text::{char_width, clean, cut, one_line, width};
use super::{Channel, Renderer, Section};

/// Tools that ask for nothing but approval of a plan.
const APPROVALS: [&str; 2] = ["ExitPlanMode", "exit_plan_mode"];

impl Renderer {
    pub(super) fn permission(&mut self, by: Option<&SubagentId>, request: &PermissionRequest) {
        let title = request.title.as_deref().map_or_else(|| format!("Use {}", one_line(&request.tool_name)), one_line);
        let mut lines = vec![(Ink::Bold, title)];
        let command = request.tool_input.get("command").and_then(Value::as_str);
        match command {
            Some(command) if lines.iter().any(|(_, title)| title.contains(command)) => {}
            Some(command) => lines.extend(clean(command).lines().map(|line| (Ink::Plain, format!("$ {line}")))),
            None => lines.extend(self.input(by, request)),
        }
        let is_always = |option: &&PermissionOption| option.reply == PermissionReply::Always;
        let several = request.options.iter().filter(is_always).nth(1).is_some();
        let mut rules = 0;
        for option in &request.options {
            let key = match option.reply {
                PermissionReply::Once => "a".to_owned(),
                PermissionReply::Always => {
                    rules += 1;
                    if several { format!("A{rules}") } else { "A".to_owned() }
                }
                PermissionReply::Reject => "r".to_owned(),
            };
            let rule = option.rule.as_deref();
            // A rule of ours is long, and stands below what it means.
            let beside = rule.filter(|_| option.scope.is_none()).map(|rule| format!("  {}", one_line(rule)));
            lines.push((Ink::Plain, format!("{key}  {}{}", one_line(&option.label), beside.unwrap_or_default())));
            if let Some(rule) = rule.filter(|_| option.scope.is_some()) {
                let rule: Vec<String> = rule.lines().map(one_line).collect();
                lines.push((Ink::Dim, format!("    {}", rule.join(", "))));
            }
        }
        self.frame(by, "Permission", &lines);
    }

    /// What is asked about, where it is no command: a plan as a document, anything else by its fields.
    fn input(
        &self,
        by: Option<&SubagentId>,
        PermissionRequest { tool_name, tool_input, .. }: &PermissionRequest,
    ) -> Vec<(Ink, String)> {
        let plan = tool_input.get("plan").and_then(Value::as_str);
        if let Some(plan) = plan.filter(|_| APPROVALS.contains(&tool_name.as_str())) {
            return document(plan, self.room(by).saturating_sub(2));
        }
        match tool_input {
            Value::Null => Vec::new(),
            Value::Object(fields) => fields
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (Ink::Plain, format!("{}: {}", one_line(name), in_words(value))))
                .collect(),
            _ => vec![(Ink::Plain, in_words(tool_input))],
        }
    }

    pub(super) fn permission_resolved(&mut self, by: Option<&SubagentId>, resolved: &PermissionResolved) {
        let expired = resolved.unanswered == Some(Unanswered::Expired);
        if resolved.why_unanswered().is_some() && !expired {
            return self.unanswered(by, resolved.reason.as_deref());
        }
        let (ink, mark, what) = match (resolved.allowed, resolved.reply) {
            (true, PermissionReply::Always) => (Ink::Green, "✓", "Always allowed"),
            (true, _) => (Ink::Green, "✓", "Allowed"),
            (false, _) => (Ink::Yellow, "⊘", "Not allowed"),
        };
        self.settled(by, ink, mark, what, &resolved.by, resolved.reason.as_deref());
    }

    pub(super) fn question(&mut self, by: Option<&SubagentId>, request: &QuestionRequest) {
        let mut lines = Vec::new();
        for (at, question) in request.questions.iter().enumerate() {
            if at > 0 {
                lines.push((Ink::Plain, String::new()));
            }
            lines.extend(clean(&question.prompt).lines().map(|line| (Ink::Bold, line.to_owned())));
            let widest = question.options.iter().map(|option| width(&one_line(&option.label))).max().unwrap_or(0);
            for (number, option) in (1..).zip(&question.options) {
                let label = one_line(&option.label);
                let gap = " ".repeat(widest.saturating_sub(width(&label)) + 2);
                let what = option.description.as_deref().map(|what| format!("{gap}{}", one_line(what)));
                lines.push((Ink::Plain, format!("{number}  {label}{}", what.unwrap_or_default())));
            }
            let more = match (question.options.is_empty(), question.multiple, question.free_text) {
                (false, true, true) => "several, or your own words",
                (false, true, false) => "one or several",
                (false, false, true) => "or your own words",
                (false, false, false) | (true, _, _) => "",
            };
            if !more.is_empty() {
                lines.push((Ink::Dim, format!("   {more}")));
            }
        }
        self.frame(by, "Question", &lines);
    }

    pub(super) fn question_resolved(&mut self, by: Option<&SubagentId>, resolved: &QuestionResolved) {
        match &resolved.answers {
            Some(answers) if resolved.rejected != Some(true) => {
                let answers: Vec<String> = answers.iter().map(|answer| one_line(&answer.join(", "))).collect();
                let what = format!("Answered {}", answers.join("; "));
                self.settled(by, Ink::Green, "✓", &what, &resolved.by, resolved.reason.as_deref());
            }
            _ if resolved.why_unanswered().is_some() => self.unanswered(by, resolved.reason.as_deref()),
            _ => self.settled(by, Ink::Yellow, "⊘", "Not answered", &resolved.by, resolved.reason.as_deref()),
        }
    }

    pub(super) fn interrupt(&mut self, by: Option<&SubagentId>, request: &Interrupt) {
        let label = request.props.get("label").or_else(|| request.props.get("title")).and_then(Value::as_str);
        let mut lines: Vec<(Ink, String)> = label.map(|label| (Ink::Bold, one_line(label))).into_iter().collect();
        lines.push((Ink::Dim, one_line(&request.props.to_string())));
        self.frame(by, &one_line(&request.component_name), &lines);
    }

    pub(super) fn interrupt_resolved(&mut self, by: Option<&SubagentId>, resolved: &InterruptResolved) {
        match &resolved.value {
            Some(value) => {
                let what = format!("Given {}", one_line(&value.to_string()));
                self.settled(by, Ink::Green, "✓", &what, &resolved.by, resolved.reason.as_deref());
            }
            None if resolved.why_unanswered().is_some() => self.unanswered(by, resolved.reason.as_deref()),
            None => self.settled(by, Ink::Yellow, "⊘", "Not given", &resolved.by, resolved.reason.as_deref()),
        }
    }

    fn frame(&mut self, by: Option<&SubagentId>, title: &str, lines: &[(Ink, String)]) {
        self.section(Section::Box);
        self.doing = Some("Waiting for an answer".to_owned());
        let (margin, room, look) = (self.margin(by), self.room(by).saturating_sub(2), self.activity);
        let rule = "─".repeat(room.min(60).saturating_sub(width(title) + 3));
        let bar = look.paint(Ink::Yellow, "│");
        let mut text = format!(
            "{margin}{} {} {}\n",
            look.paint(Ink::Yellow, "╭─"),
            look.paint(Ink::Yellow, title),
            look.paint(Ink::Yellow, &rule)
        );
        for (ink, line) in lines {
            let line = format!("{margin}{bar} {}", look.paint(*ink, &cut(line, room)));
            text.push_str(line.trim_end());
            text.push('\n');
        }
        let _ = writeln!(text, "{margin}{}", look.paint(Ink::Yellow, "╰─"));
        self.print(Channel::Activity, &text);
    }

    /// How an ask ended, right under its frame.
    fn settled(&mut self, by: Option<&SubagentId>, ink: Ink, mark: &str, what: &str, who: &str, reason: Option<&str>) {
        let reason = reason.map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
        self.settle(by, ink, mark, &format!("{what} by {}{reason}", one_line(who)));
    }

    /// Nobody decided.
    fn unanswered(&mut self, by: Option<&SubagentId>, reason: Option<&str>) {
        let reason = reason.map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
        self.settle(by, Ink::Yellow, "⊘", &format!("Nobody answered{reason}"));
    }

    fn settle(&mut self, by: Option<&SubagentId>, ink: Ink, mark: &str, words: &str) {
        self.close();
        if self.last == Section::Box {
            self.last = Section::Lines;
        }
        self.doing = None;
        self.note(by, ink, mark, words);
    }
}

/// A value in one line, text as it is.
fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| one_line(&value.to_string()), one_line)
}

/// A text that is to be read, with all of it in sight: broken at words, and where that is not done (code, tables) anywhere.
fn document(text: &str, room: usize) -> Vec<(Ink, String)> {
    let look = Look { color: Color::Off, medium: Medium::Screen, width: room + 1 };
    let mut prose = Prose::new(look, Ink::Plain, "", 0);
    let mut shown = prose.push(text.trim());
    shown.push_str(&prose.end());
    let ink = |line: &str| if line.starts_with('#') { Ink::Bold } else { Ink::Plain };
    shown.lines().flat_map(|line| fitting(line, room).into_iter().map(move |part| (ink(line), part))).collect()
}

/// A line in as many parts as it takes.
fn fitting(line: &str, room: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut used = 0;
    for c in line.chars() {
        if used > 0 && used + char_width(c) > room {
            parts.push(String::new());
            used = 0;
        }
        used += char_width(c);
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}
