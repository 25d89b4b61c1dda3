//! Who may call, and from where.

use crate::support::{Client, Daemon};

#[test]
fn a_token_is_needed_and_must_be_right() {
    let daemon = Daemon::start();
    let stranger = Client::new(&daemon.client.address, None);
    assert_eq!(stranger.get("/health").status, 200);
    for path in ["/api/sessions", "/metrics", "/api/openapi.json", "/api/nothing"] {
        stranger.get(path).is_problem(401, "unauthorized");
    }
    Client::new(&daemon.client.address, Some("wrong")).get("/api/sessions").is_problem(401, "unauthorized");
    stranger.request("GET", "/api/sessions", &[("cookie", "turnloom=wrong")], b"").is_problem(401, "unauthorized");
    assert_eq!(daemon.client.get("/api/sessions").status, 200);
}

#[test]
fn a_login_link_works_once_and_its_cookie_for_long() {
    let mut daemon = Daemon::start();
    let path =
        daemon.client.post("/api/login-links", &serde_json::json!({})).json()["path"].as_str().unwrap().to_owned();
    let stranger = Client::new(&daemon.client.address, None);
    let login = stranger.get(&path);
    assert_eq!((login.status, login.header("location")), (303, Some("/")));
    let cookie = login.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    stranger.get(&path).is_problem(401, "login_expired");
    stranger.get("/login?token=guess").is_problem(401, "login_expired");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    assert_eq!(stranger.request("GET", "/api/sessions", &[("cookie", &cookie)], b"").status, 200);
    // A page stays signed in when the daemon is restarted.
    daemon.kill();
    daemon.again();
    let stranger = Client::new(&daemon.client.address, None);
    assert_eq!(stranger.request("GET", "/api/sessions", &[("cookie", &cookie)], b"").status, 200);
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let daemon = Daemon::start_with("origins = [\"https://app.example\"]\nhosts = [\"loom.example\"]", &[]);
    let client = &daemon.client;
    let with = |headers: &[(&str, &str)]| client.request("GET", "/api/sessions", headers, b"");
    with(&[("host", "evil.example")]).is_problem(421, "foreign_host");
    with(&[("origin", "http://evil.example")]).is_problem(403, "foreign_origin");
    with(&[("origin", "null")]).is_problem(403, "foreign_origin");
    let port = client.address.rsplit(':').next().unwrap();
    assert_eq!(with(&[("host", &format!("localhost:{port}"))]).status, 200);
    assert_eq!(with(&[("host", "loom.example")]).status, 200);
    assert_eq!(with(&[("origin", &format!("http://{}", client.address))]).status, 200);
    let allowed = with(&[("origin", "https://app.example")]);
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (200, Some("https://app.example")));
    let wanted = "authorization,content-type,last-event-id,turnloom-client";
    let preflight = [
        ("origin", "https://app.example"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", wanted),
        ("authorization", ""),
    ];
    let answer = client.request("OPTIONS", "/api/sessions", &preflight, b"");
    assert_eq!((answer.status, answer.header("access-control-allow-headers")), (200, Some(wanted)));
}

#[test]
fn without_a_token_only_on_loopback() {
    let daemon = Daemon::start_with("", &["--no-token"]);
    assert_eq!(Client::new(&daemon.client.address, None).get("/api/sessions").status, 200);
}
