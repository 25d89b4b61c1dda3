//! Rules from everywhere: what beats what, and who may loosen.

use serde_json::json;

use super::{DIRECTORY, effect, world};
use crate::policy::{Call, Caller, Effect, Origin, Policy, RulesFile, decide};

fn user(text: &str) -> Policy {
    Policy::shipped().with_user("policy.toml", text).unwrap()
}

fn rule(effect: &str, about: &str) -> String {
    format!("[[rule]]\neffect = '{effect}'\n{about}\n")
}

#[test]
fn the_strictest_decides_whatever_the_order() {
    let (allow, ask, deny) =
        (rule("allow", "command = 'evil *'"), rule("ask", "command = 'evil *'"), rule("deny", "command = 'evil *'"));
    for (rules, expected) in [
        (vec![&allow], Effect::Allow),
        (vec![&allow, &ask], Effect::Ask),
        (vec![&ask, &allow], Effect::Ask),
        (vec![&deny, &allow, &ask], Effect::Deny),
        (vec![&allow, &ask, &deny], Effect::Deny),
    ] {
        let text: String = rules.into_iter().cloned().collect();
        assert_eq!(effect(&user(&text), "implement", "evil x"), expected);
    }
}

#[test]
fn a_permission_covers_what_it_names_and_no_more() {
    let policy = user(&rule("allow", "command = ['evil *', 'git push *', 'npm publish']"));
    for (command, expected) in [
        ("evil", Effect::Allow),
        ("evil a b", Effect::Allow),
        ("evil > a.txt", Effect::Allow),
        ("evil > /tmp/x", Effect::Ask),
        ("evil < ~/.ssh/id_rsa", Effect::Ask),
        ("evil $(other)", Effect::Ask),
        ("evil; other", Effect::Ask),
        ("$X evil", Effect::Ask),
        ("E=evil; $E", Effect::Ask),
        ("sh -c 'evil a'", Effect::Allow),
        ("sudo evil", Effect::Ask),
        ("LD_PRELOAD=x evil", Effect::Ask),
        ("/tmp/evil", Effect::Ask),
        ("/usr/bin/evil", Effect::Allow),
        ("git push -f", Effect::Allow),
        ("npm publish", Effect::Allow),
        ("npm publish --tag x", Effect::Ask),
        ("evil 'unterminated", Effect::Ask),
    ] {
        assert_eq!(effect(&policy, "implement", command), expected, "{command}");
    }
    // Planning stays planning, and what is absolute stays.
    assert_eq!(effect(&policy, "plan", "evil"), Effect::Deny);
    let all = user(&rule("allow", "tool = '*'"));
    assert_eq!(effect(&all, "bypass", "rm -rf /"), Effect::Deny);
    assert_eq!(effect(&all, "implement", "python -c 1"), Effect::Ask);
}

#[test]
fn exceptions_are_explicit() {
    let policy = user(&rule("deny", "does = 'network'\nexcept = [{ host = 'good.example' }]"));
    assert_eq!(effect(&policy, "bypass", "curl https://bad.example"), Effect::Deny);
    assert_eq!(effect(&policy, "bypass", "curl https://good.example/x"), Effect::Allow);
    assert_eq!(effect(&policy, "bypass", "curl https://good.example@bad.example"), Effect::Deny);
    let beaten = "[[rule]]\nid = 'no-net'\neffect = 'ask'\ndoes = 'network'\n[[rule]]\neffect = 'allow'\nhost = 'good.example'\nbeats = ['no-net', 'destroy']\n";
    assert_eq!(effect(&user(beaten), "bypass", "curl https://good.example"), Effect::Allow);
    assert_eq!(effect(&user(beaten), "bypass", "curl https://bad.example"), Effect::Ask);
}

#[test]
fn projects_and_sessions_only_tighten() {
    let strict = rule("deny", "command = 'cargo *'");
    let policy = Policy::shipped().with_project("p", &strict).unwrap();
    assert_eq!(effect(&policy, "implement", "cargo test"), Effect::Deny);
    let policy = Policy::shipped().with_session("s", &rule("ask", "does = 'write'")).unwrap();
    assert_eq!(effect(&policy, "implement", "touch a"), Effect::Ask);
    for loose in
        [rule("allow", "does = 'write'"), "trusted_projects = ['/x']".to_owned(), "default = 'allow'".to_owned()]
    {
        assert!(Policy::shipped().with_project("p", &loose).is_err(), "{loose}");
        assert!(Policy::shipped().with_session("s", &loose).is_err(), "{loose}");
    }
    let policy = user("trusted_projects = ['~/app', '/code/app']");
    assert!(policy.trusts("/code/app", Some("/home/user")));
    assert!(policy.trusts("/home/user/app", Some("/home/user")));
    assert!(!policy.trusts("/code/app2", Some("/home/user")));
}

#[test]
fn who_calls_matters() {
    let text = rule("deny", "does = 'write'\norigin = ['scheduled', 'delegated']")
        + &rule("ask", "does = 'write'\ncaller = 'sub-agent'")
        + &rule("deny", "does = 'write'\nruntime = 'codex'")
        + &rule("ask", "does = 'read'\nsession = 's1'")
        + &rule("ask", "does = 'read'\nproject = '/code/other'");
    let policy = user(&text);
    let (touch, ls) = (json!({"command": "touch a"}), json!({"command": "ls"}));
    let plain = Call::new("Bash", &touch, "implement", DIRECTORY);
    let of = |call: Call<'_>| decide(&policy, &call, &world()).effect;
    assert_eq!(of(plain), Effect::Allow);
    assert_eq!(of(Call { origin: Origin::Scheduled, ..plain }), Effect::Deny);
    assert_eq!(of(Call { caller: Caller::SubAgent, ..plain }), Effect::Ask);
    assert_eq!(of(Call { runtime: "codex", ..plain }), Effect::Deny);
    assert_eq!(of(Call { input: &ls, session: "s1", ..plain }), Effect::Ask);
    assert_eq!(of(Call { input: &ls, session: "s2", ..plain }), Effect::Allow);
    assert_eq!(of(Call { input: &ls, workspace: "/code/other", directory: "/code/other", ..plain }), Effect::Ask);
}

#[test]
fn own_modes_extend_others() {
    let text = "extends = 'implement'\n".to_owned() + &rule("deny", "command = 'git push *'");
    let policy = Policy::shipped().with_mode("mine", "mine.toml", &text).unwrap();
    assert_eq!(effect(&policy, "mine", "git push"), Effect::Deny);
    assert_eq!(effect(&policy, "mine", "cargo test"), Effect::Allow);
    assert_eq!(effect(&policy, "mine", "evil"), Effect::Ask);
    assert!(Policy::shipped().with_mode("mine", "mine.toml", "extends = 'nobody'").is_err());
    // Round and round.
    let policy = Policy::shipped().with_mode("mine", "mine.toml", "extends = 'mine'").unwrap();
    assert_eq!(effect(&policy, "mine", "ls"), Effect::Ask);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, line, what) in [
        ("x = 1", 1, "unknown field"),
        ("\n[[rule]]\neffect = 'no'\n", 2, "no"),
        ("\n\n[[rule]]\neffect = 'ask'\nwat = 1\n", 3, "wat"),
        ("[[rule]]\neffect = 'allow'\ncommand = '*'\n", 1, "must name its program"),
        ("[[rule]]\neffect = 'allow'\n", 1, "everything"),
        ("[[rule]\n", 1, ""),
    ] {
        let error = RulesFile::read("f.toml", text).unwrap_err();
        assert_eq!((error.file.as_str(), error.line), ("f.toml", line), "{text}: {error}");
        assert!(error.what.contains(what), "{text}: {error}");
    }
}
