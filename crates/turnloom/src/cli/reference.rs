//! The command line as a page of the documentation, made from the commands themselves.

use std::fmt::Write as _;

use clap::Command;

/// Markdown with the help of every command.
pub fn reference() -> String {
    let mut command = super::help::command();
    command.build();
    let mut page = String::from("# The command line, in full\n\nMade from the program by `cargo xtask gen`.\n");
    section(&mut page, &mut command.clone(), "turnloom");
    let subcommands: Vec<Command> = command.get_subcommands().filter(|sub| sub.get_name() != "help").cloned().collect();
    for mut subcommand in subcommands {
        let name = format!("turnloom {}", subcommand.get_name());
        section(&mut page, &mut subcommand, &name);
    }
    page
}

fn section(page: &mut String, command: &mut Command, name: &str) {
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim());
}
