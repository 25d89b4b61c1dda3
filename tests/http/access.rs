//! Who may call, and from where.

use std::io::Read as _;

use serde_json::json;

use crate::support::{Client, Daemon, Sse, of_kind};
use crate::websocket;

#[test]
fn a_token_is_needed_and_must_be_right() {
    let daemon = Daemon::start();
    let stranger = Client::new(&daemon.client.address, None);
    assert_eq!(stranger.get("/health").status, 200);
    for path in ["/api/sessions", "/metrics", "/api/docs", "/api/nothing"] {
        stranger.get(path).is_problem(401, "unauthorized");
    }
    Client::new(&daemon.client.address, Some("wrong")).get("/api/sessions").is_problem(401, "unauthorized");
    stranger.request("GET", "/api/sessions", &[("cookie", "turnloom=wrong")], b"").is_problem(401, "unauthorized");
    assert_eq!(daemon.client.get("/api/sessions").status, 200);
}

/// A request of the page that this daemon serves, as browsers mark it.
const OWN_PAGE: (&str, &str) = ("sec-fetch-site", "same-origin");

fn link(daemon: &Daemon) -> String {
    daemon.client.post("/api/login-links", &json!({})).json()["path"].as_str().unwrap().to_owned()
}

/// A browser that is signed in: its cookie.
fn sign_in(daemon: &Daemon, name: &str) -> String {
    let login = Client::new(&daemon.client.address, None).request("GET", &link(daemon), &[("user-agent", name)], b"");
    assert_eq!((login.status, login.header("location")), (303, Some("/")));
    login.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

#[test]
fn a_login_link_works_once_and_its_cookie_for_long() {
    let mut daemon = Daemon::start();
    let path = link(&daemon);
    let stranger = Client::new(&daemon.client.address, None);
    // Whoever only looks does not use it up.
    assert_eq!(stranger.request("HEAD", &path, &[], b"").status, 204);
    assert_eq!(stranger.request("GET", &path, &[("sec-purpose", "prefetch;prerender")], b"").status, 204);
    let login = stranger.get(&path);
    assert_eq!((login.status, login.header("location")), (303, Some("/")));
    let cookie = login.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains("Secure"), "{cookie}");
    stranger.get(&path).is_problem(401, "login_expired");
    stranger.get("/login?token=guess").is_problem(401, "login_expired");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    assert_eq!(stranger.request("GET", "/api/sessions", &[("cookie", &cookie), OWN_PAGE], b"").status, 200);
    // A page stays signed in when the daemon is restarted.
    daemon.kill();
    daemon.again();
    let stranger = Client::new(&daemon.client.address, None);
    assert_eq!(stranger.request("GET", "/api/sessions", &[("cookie", &cookie), OWN_PAGE], b"").status, 200);
    // Behind a proxy that encrypts, it does not leave in the open.
    let login = stranger.request("GET", &link(&daemon), &[("x-forwarded-proto", "https")], b"");
    assert!(login.header("set-cookie").unwrap().ends_with("; Secure"));
}

#[test]
fn a_cookie_is_worth_nothing_to_pages_of_others() {
    let daemon = Daemon::start();
    let cookie = sign_in(&daemon, "Browser");
    let stranger = Client::new(&daemon.client.address, None);
    let with = |method: &str, path: &str, more: &[(&str, &str)]| {
        stranger.request(method, path, &[&[("cookie", cookie.as_str())], more].concat(), b"")
    };
    // A page of another port of the same host has the cookie sent, and cannot hide where it is.
    for site in ["same-site", "cross-site"] {
        with("GET", "/api/sessions", &[("sec-fetch-site", site)]).is_problem(403, "foreign_page");
        with("POST", "/api/sessions", &[("sec-fetch-site", site)]).is_problem(403, "foreign_page");
    }
    with("GET", "/api/sessions", &[]).is_problem(403, "foreign_page");
    let own = format!("http://{}", daemon.client.address);
    for proof in [
        OWN_PAGE,
        ("sec-fetch-site", "none"),
        ("turnloom-page", "1"),
        ("origin", own.as_str()),
        ("referer", &format!("{own}/")),
    ] {
        assert_eq!(with("GET", "/api/sessions", &[proof]).status, 200, "{proof:?}");
    }
    // The token is a proof in itself, and the page alone has no secrets.
    let site = [("sec-fetch-site", "cross-site")];
    assert_eq!(daemon.client.request("GET", "/api/sessions", &site, b"").status, 200);
    assert_eq!(with("GET", "/", &site).status, 200);
}

#[test]
fn browsers_that_are_signed_in_are_listed_and_signed_out() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    let (mine, other) = (sign_in(&daemon, "Mine"), sign_in(&daemon, "Other"));
    let stranger = Client::new(&client.address, None);
    let with =
        |cookie: &str, method: &str, path: &str| stranger.request(method, path, &[("cookie", cookie), OWN_PAGE], b"");
    let listed = with(&mine, "GET", "/api/sign-ins").json()["sign_ins"].as_array().unwrap().clone();
    let named = |name: &str| listed.iter().find(|sign_in| sign_in["browser"] == name).unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!((&named("Mine")["current"], &named("Other")["current"]), (&json!(true), &json!(false)));

    let headers = [("cookie", other.as_str()), OWN_PAGE];
    let mut stream = Sse::with(&stranger, "/api/sessions/s/events?after=0", &headers);
    assert_eq!(stream.next_event().unwrap().id, Some(1));
    let mut socket = websocket::open_with(client, &headers);
    let mut text =
        stranger.send("GET", "/api/sessions/s/events", &[&headers[..], &[("accept", "text/plain")]].concat(), b"");
    #[cfg(feature = "socketio")]
    let device = crate::gateway::Device::connect(client, "d", &headers);
    let id = named("Other")["id"].as_str().unwrap();
    assert_eq!(with(&mine, "DELETE", &format!("/api/sign-ins/{id}")).status, 204);
    with(&other, "GET", "/api/sessions").is_problem(401, "unauthorized");
    assert!(stream.next_event().is_none(), "what it had open is closed");
    assert!(socket.read().is_err(), "also its socket");
    text.read_to_end(&mut Vec::new()).expect("also what is only text");
    #[cfg(feature = "socketio")]
    assert!(device.ends_disconnected(), "and its device");

    let out = with(&mine, "DELETE", "/api/sign-ins/current");
    assert!(out.status == 204 && out.header("set-cookie").unwrap().contains("turnloom=; "));
    with(&mine, "GET", "/api/sessions").is_problem(401, "unauthorized");
    client.delete("/api/sign-ins/current").is_problem(404, "sign_in_not_found");
    let third = sign_in(&daemon, "Third");
    assert_eq!(client.delete("/api/sign-ins").status, 204);
    with(&third, "GET", "/api/sessions").is_problem(401, "unauthorized");
    assert_eq!(client.get("/api/sign-ins").json(), json!({ "sign_ins": [] }));
}

#[test]
fn what_is_served_is_taken_for_nothing_else() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.turn("s", "big 100000");
    client.turn("s", "artifact");
    let log = client.log("s");
    let blob = log.iter().find_map(|event| event["data"]["blob"]["id"].as_str()).unwrap();
    let script = daemon.data.join("evil.js");
    std::fs::write(&script, "steal()").unwrap();
    let file = format!("/universal/v1/fs/file?path={}", script.display());
    let artifact = of_kind(&log, "artifact_created")[0]["data"]["artifact_id"].as_str().unwrap().to_owned();
    for path in [
        format!("/api/blobs/{blob}"),
        file,
        format!("/agent-ui/sessions/s/artifacts/{artifact}/content"),
        "/api/sessions".to_owned(),
        "/api/nothing".to_owned(),
        "/".to_owned(),
        "/health".to_owned(),
    ] {
        let answer = client.get(&path);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        // That somebody is there is all that pages of others may know.
        let policy = if path == "/health" { "cross-origin" } else { "same-origin" };
        assert_eq!(answer.header("cross-origin-resource-policy"), Some(policy), "{path}");
        let media_type = answer.header("content-type").unwrap();
        assert!(!media_type.contains("javascript"), "{path}: {media_type}");
    }
    // What is made to be shown elsewhere may be.
    let link = client.post(&format!("/api/blobs/{blob}/link"), &json!({})).json();
    let shown = Client::new(&client.address, None).get(link["path"].as_str().unwrap());
    assert_eq!((shown.status, shown.header("cross-origin-resource-policy")), (200, Some("cross-origin")));
    assert_eq!(shown.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn a_scheme_may_be_written_in_any_way() {
    let daemon = Daemon::start();
    let token = daemon.client.token.clone().unwrap();
    for scheme in ["bearer", "BEARER", "Bearer", "token"] {
        let authorization = format!("{scheme} {token}");
        let answer = daemon.client.request("GET", "/api/sessions", &[("authorization", &authorization)], b"");
        assert_eq!(answer.status, 200, "{scheme}");
    }
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
    assert_eq!(with(&[("host", "loom.example:443")]).status, 200, "the usual port goes without saying");
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
    // What a browser asks before it sends anything is refused like the request would be, and says why.
    let ask = |name: &'static str, value: &'static str| {
        let [_, method, ..] = preflight;
        client.request("OPTIONS", "/api/sessions", &[(name, value), method, ("authorization", "")], b"")
    };
    let refused = ask("origin", "https://other.example").is_problem(403, "foreign_origin");
    assert!(refused["detail"].as_str().unwrap().contains("add it to `origins`"), "{refused}");
    ask("host", "evil.example").is_problem(421, "foreign_host");
    // Nothing can be configured for a page without an origin.
    for origin in ["null", "file://"] {
        let refused = ask("origin", origin).is_problem(403, "foreign_origin");
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.contains("serve it over HTTP") && !detail.contains("add it"), "{detail}");
    }
}

#[test]
fn without_a_token_only_on_loopback() {
    let daemon = Daemon::start_with("", &["--no-token"]);
    let anybody = Client::new(&daemon.client.address, None);
    assert_eq!(anybody.get("/api/sessions").status, 200);
    // Anybody is anybody on this machine, and not a page that somebody there looks at.
    for site in ["same-site", "cross-site"] {
        let headers = [("sec-fetch-site", site)];
        anybody.request("GET", "/api/sessions", &headers, b"").is_problem(403, "foreign_page");
        anybody.request("POST", "/api/sessions", &headers, b"").is_problem(403, "foreign_page");
        assert_eq!(anybody.request("GET", "/", &headers, b"").status, 200);
    }
    assert_eq!(anybody.request("GET", "/api/sessions", &[OWN_PAGE], b"").status, 200);
}
