//! Rules in words, and where they can count.

use crate::policy::{Policy, Rule, RulesFile};

fn rule(about: &str) -> Rule {
    let file = RulesFile::read("policy.toml", &format!("[[rule]]\neffect = 'deny'\n{about}\n")).unwrap();
    file.rules.into_iter().next().unwrap()
}

#[test]
fn a_rule_says_what_it_is_about() {
    for (about, words) in [
        ("command = ['npm run deploy *', 'make deploy']", "runs `npm run deploy *` or `make deploy`"),
        ("does = ['write', 'delete']\nwhere = 'inside'", "writes or removes in the working directory"),
        ("does = 'read'\npath = '~/.ssh/**'", "reads `~/.ssh/**`"),
        ("path = ['a', 'b', 'c', 'd', 'e', 'f']", "touches `a`, `b`, `c`, `d` or 2 more"),
        ("does = 'network'\nhost = '*.example.com'", "talks to another machine with `*.example.com`"),
        ("tool = 'WebFetch'\ncaller = 'sub-agent'", "uses the tool `WebFetch` as a sub-agent"),
        ("mode = 'bypass'\norigin = 'scheduled'", "does anything in a scheduled turn in the mode `bypass`"),
        (
            "command = 'git push *'\nexcept = [{ project = '~/src/app' }]",
            "runs `git push *`; not where it does anything in `~/src/app`",
        ),
        (
            "does = 'mcp'\nserver = 'files'\nsession = 's'",
            "calls a tool of an MCP server of the MCP server `files` in the session `s`",
        ),
    ] {
        assert_eq!(rule(about).words(), words);
    }
    assert_eq!(
        RulesFile::read("p", "[[rule]]\neffect = 'allow'\ncommand = 'x *'\nbeats = 'no-x'\n").unwrap().rules[0].words(),
        "runs `x *`; counts before `no-x`"
    );
}

#[test]
fn every_rule_that_ships_has_words() {
    let policy = Policy::shipped();
    let modes: Vec<&str> = policy.modes().collect();
    let of_modes = modes.iter().flat_map(|mode| policy.rules_of(mode)).map(|(_, rule)| rule);
    for rule in policy.rules().map(|(_, rule)| rule).chain(of_modes) {
        assert!(rule.words().len() > 5, "{}: {:?}", rule.id, rule.words());
    }
}

#[test]
fn a_rule_for_a_project_or_a_session_holds_nowhere_else() {
    let home = Some("/home/user");
    let project = rule("command = 'x'\nproject = '~/src/app'");
    assert!(project.holds_in("/home/user/src/app", Some("s"), home));
    assert!(project.holds_in("/home/user/src/app/inner", None, home));
    assert!(!project.holds_in("/home/user/src/other", Some("s"), home));
    let session = rule("command = 'x'\nsession = 's'");
    assert!(session.holds_in("/tmp", Some("s"), home));
    assert!(!session.holds_in("/tmp", Some("t"), home));
    assert!(rule("command = 'x'").holds_in("/tmp", Some("t"), home));
}
