use super::*;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (header::HeaderName::from_static(name), value.parse().unwrap())).collect()
}

#[test]
fn a_cookie_counts_only_from_a_page_of_our_own() {
    let folder = tempfile::tempdir().unwrap();
    let sign_ins = SignIns::open(folder.path().join("sign-ins"), Duration::from_hours(1), "t");
    let origins = vec!["http://localhost:5173".to_owned()];
    let access = Access::new(
        Some("t"),
        (sign_ins, ScopedTokens::open(folder.path().join("tokens"))),
        &["127.0.0.1:7171".to_owned()],
        origins,
    );
    let cookie = format!("other=1; turnloom={}", access.sign_ins.add("test"));
    for (method, pairs, expected) in [
        (Method::GET, &[("sec-fetch-site", "same-origin")][..], true),
        (Method::POST, &[("sec-fetch-site", "same-origin")], true),
        (Method::GET, &[("sec-fetch-site", "none")], true),
        (Method::POST, &[("sec-fetch-site", "none")], false),
        (Method::GET, &[("sec-fetch-site", "same-site")], false),
        (Method::GET, &[("sec-fetch-site", "cross-site"), ("turnloom-page", "1")], false),
        (Method::GET, &[("sec-fetch-site", "same-site"), ("origin", "http://localhost:5173")], true),
        (Method::GET, &[], false),
        (Method::GET, &[("turnloom-page", "1")], true),
        (Method::POST, &[("origin", "http://127.0.0.1:7171")], true),
        (Method::GET, &[("referer", "http://127.0.0.1:7171/#/s/1")], true),
        (Method::GET, &[("referer", "http://127.0.0.1:8000/")], false),
        (Method::GET, &[("referer", "http://127.0.0.1:7171.evil.example/")], false),
    ] {
        let mut sent = headers(pairs);
        sent.insert(header::COOKIE, cookie.parse().unwrap());
        assert_eq!(access.admit(&method, &sent).is_ok(), expected, "{method} {pairs:?}");
        sent.insert(header::COOKIE, "turnloom=guess".parse().unwrap());
        assert!(access.admit(&method, &sent).is_err());
    }
}
