use super::*;

fn new(name: &str, scopes: &[&str]) -> NewToken {
    NewToken {
        name: name.to_owned(),
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        expires_at: None,
    }
}

#[test]
fn scopes_are_read_and_written() {
    for text in ["full", "agent:research", "emit:s1", "emit:*", "read:*", "use:a.b:c"] {
        assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
    }
    for text in ["", "all", "agent:", "agent:*", "agent:a b", "agent:mock/1", "emit:", "read:a/b", "write:*", "full:*"]
    {
        assert!(text.parse::<Scope>().is_err(), "{text}");
    }
}

#[test]
fn a_scope_opens_what_it_names_and_nothing_else() {
    let one = Some("s1");
    for (scope, opened) in [
        ("read:s1", vec![Need::Read(one), Need::ReadSomething, Need::SomeBlob]),
        (
            "read:*",
            vec![Need::Read(one), Need::Read(None), Need::Read(Some("s2")), Need::ReadSomething, Need::SomeBlob],
        ),
        ("use:s1", vec![Need::Read(one), Need::Use(one), Need::ReadSomething, Need::SomeBlob]),
        ("emit:s1", vec![Need::Emit(one)]),
        ("emit:*", vec![Need::Emit(one), Need::Emit(Some("s2"))]),
        ("agent:a", vec![Need::BeSomeAgent, Need::SomeBlob]),
    ] {
        let parsed: Scope = scope.parse().unwrap();
        for need in [
            Need::Owner,
            Need::Person,
            Need::Full,
            Need::Read(one),
            Need::Read(Some("s2")),
            Need::Read(None),
            Need::Use(one),
            Need::Use(Some("s2")),
            Need::Use(None),
            Need::Emit(one),
            Need::Emit(Some("s2")),
            Need::ReadSomething,
            Need::BeSomeAgent,
            Need::SomeBlob,
        ] {
            assert_eq!(opens(&parsed, need), opened.contains(&need), "{scope} {need:?}");
        }
    }
    assert!(opens(&Scope::Full, Need::Full) && !opens(&Scope::Full, Need::Owner));
    assert!(!opens(&Scope::Full, Need::Person), "channels and webhooks are made by people");
}

#[test]
fn a_token_outlives_the_daemon_and_only_its_digest_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    let first = ScopedTokens::open(file.clone());
    let (listed, secret) = first.make(new("Reports", &["read:*"])).unwrap();
    let (lent, loan) = first.lend("digest", vec![Scope::Emit(Reach::All)]);
    assert!(first.find(&lent).is_some());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("Reports") && !text.contains(&secret) && !text.contains("digest\":\"digest"), "{text}");

    let next = ScopedTokens::open(file.clone());
    assert_eq!(next.find(&secret).unwrap().name(), "Reports");
    assert!(next.find(&lent).is_none(), "it was lent by another daemon");
    assert!(next.find("tl_guess").is_none());
    drop(loan);
    assert!(first.find(&lent).is_none(), "its process is gone");

    let holder = next.find(&secret).unwrap();
    assert!(next.revoke(&listed.token_id).unwrap() && !next.revoke(&listed.token_id).unwrap());
    assert!(holder.0.ended.is_cancelled() && next.find(&secret).is_none());
    assert!(ScopedTokens::open(file).find(&secret).is_none());
}

#[test]
fn what_is_no_token_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = ScopedTokens::open(folder.path().join("tokens"));
    for (name, scopes) in [("", &["full"][..]), ("agent", &["full"]), ("a\nb", &["full"]), ("a", &[]), ("a", &["x"])] {
        assert!(tokens.make(new(name, scopes)).is_err(), "{name:?} {scopes:?}");
    }
    let expired = NewToken { expires_at: Some(now()), ..new("a", &["full"]) };
    assert!(matches!(tokens.make(expired), Err(Error::Expired)));
    assert!(tokens.list().is_empty());
}

#[test]
fn a_broken_file_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    std::fs::write(&file, "not json").unwrap();
    let tokens = ScopedTokens::open(file);
    tokens.make(new("a", &["full"])).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("tokens.broken")).unwrap(), "not json");
}
