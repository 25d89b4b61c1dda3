//! `turnloom --help`, with the subcommands in groups. The words come from the subcommands themselves.

use clap::{Command, CommandFactory as _};

use super::Cli;

const GROUPS: &[(&str, &[&str])] = &[
    ("The daemon", &["up", "open", "sign-ins", "token", "tokens", "doctor", "agents"]),
    ("Talk to an agent", &["run", "chat"]),
    ("Sessions", &["sessions", "events", "send", "stop", "continue", "emit", "export", "import", "adopt"]),
    ("What runs by itself", &["schedule"]),
    ("What waits for you", &["inbox", "asks", "answer"]),
    ("What agents may do", &["rules", "policy", "budget"]),
    ("Other services", &["channel", "webhook"]),
    ("Recordings and scripts", &["record", "replay", "scripted"]),
    ("Your shell", &["completions"]),
];

const EXAMPLES: &str = "\
Examples:
  turnloom up                     start the daemon and open the workbench
  turnloom run \"demo\"             one turn with the built-in mock agent: no key, no network
  turnloom events last --follow   watch a session's log grow";

/// The command line, ready to parse.
pub(super) fn command() -> Command {
    let command = Cli::command();
    let groups: Vec<String> = GROUPS.iter().map(|(title, names)| group(&command, title, names)).collect();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}\n\nOptions:\n{{options}}\n\n{EXAMPLES}\n\nEvery command explains itself: turnloom run --help",
        groups.join("\n\n")
    );
    command.help_template(template)
}

fn group(command: &Command, title: &str, names: &[&str]) -> String {
    let about = |name: &&str| {
        let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
        format!("  {name:<12} {}", about.unwrap_or_default())
    };
    format!("{title}:\n{}", names.iter().map(about).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_subcommand_is_in_a_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let command = Cli::command();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }
}
