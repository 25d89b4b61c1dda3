//! Components of people's own: the files of their pages, and how they are read again.

use std::fs;
use std::io::BufRead as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Answer, Client, Daemon};

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// A daemon with one component that wants two domains, one of which it gets.
fn start() -> Daemon {
    let daemon = Daemon::start_with("[views]\nallow_domains = [\"https://api.example\"]", &[]);
    let csp = json!({ "connect_domains": ["https://api.example", "https://no.example"] });
    let manifest = json!({ "title": "Gauge", "callbacks": [{ "name": "turn" }], "csp": csp }).to_string();
    let page = "<script src='draw.js'></script>";
    let files = [("component.json", manifest.as_str()), ("index.html", page), ("draw.js", "draw()")];
    write(&daemon.data.join("components/gauge"), &files);
    daemon
}

fn reload(client: &Client) -> Value {
    let answer = client.post("/api/components/reload", &json!({}));
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

fn page_of(reloaded: &Value) -> String {
    reloaded["components"][0]["view"]["url"].as_str().expect("an address").to_owned()
}

/// As a frame without an origin asks for what belongs to its page.
fn as_frame(client: &Client, path: &str) -> Answer {
    let stranger = Client::new(&client.address, None);
    stranger.request("GET", path, &[("origin", "null"), ("sec-fetch-site", "cross-site")], b"")
}

#[test]
fn files_of_a_page_come_without_a_token_and_with_a_policy() {
    let daemon = start();
    let client = &daemon.client;
    let page = page_of(&reload(client));
    let base = format!("http://{}{}", client.address, page.trim_end_matches("index.html"));
    let answer = as_frame(client, &page);
    assert_eq!((answer.status, answer.body.as_str()), (200, "<script src='draw.js'></script>"));
    let policy = format!(
        "sandbox allow-scripts allow-forms; default-src 'none'; script-src 'unsafe-inline' {base}; style-src 'unsafe-inline' {base}; \
         img-src data: blob: {base}; font-src data: {base}; media-src data: blob: {base}; connect-src https://api.example; \
         frame-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    );
    for (name, value) in [
        ("content-security-policy", policy.as_str()),
        ("permissions-policy", "camera=(), microphone=(), geolocation=(), clipboard-write=(), display-capture=()"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("access-control-allow-origin", "*"),
        ("cross-origin-resource-policy", "cross-origin"),
        ("content-type", "text/html; charset=utf-8"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    let script = as_frame(client, &page.replace("index.html", "draw.js"));
    assert_eq!((script.status, script.header("content-type")), (200, Some("text/javascript; charset=utf-8")));
    assert_eq!(script.header("content-security-policy"), Some(policy.as_str()), "also when it is opened by itself");
}

#[test]
fn nothing_else_is_served_and_nobody_else_is_let_in() {
    let daemon = start();
    let client = &daemon.client;
    let page = page_of(&reload(client));
    let folder = page.trim_end_matches("index.html");
    for path in ["component.json", "..%2f..%2ftoken", "%2e%2e/gauge/index.html", "nothing.html"] {
        as_frame(client, &format!("{folder}{path}")).is_problem(404, "not_found");
    }
    as_frame(client, "/views/c/gauge/0000000000000000/index.html").is_problem(404, "not_found");
    as_frame(client, "/views/c/other/0000000000000000/index.html").is_problem(404, "not_found");
    // What lets a frame have its files lets it have nothing more.
    as_frame(client, "/api/sessions").is_problem(403, "foreign_origin");
    let stranger = Client::new(&client.address, None);
    stranger.post("/api/components/reload", &json!({})).is_problem(401, "unauthorized");
    // Not in the document, so it is asked without comparing the answer with it.
    let mut refused = String::new();
    stranger.send("POST", &page, &[("origin", "null")], b"").read_line(&mut refused).unwrap();
    assert!(refused.contains(" 403 "), "{refused}");
}

#[test]
fn a_reload_brings_new_files_and_names_what_is_wrong() {
    let daemon = start();
    let client = &daemon.client;
    let before = page_of(&reload(client));
    let components = daemon.data.join("components");
    write(&components.join("gauge"), &[("draw.js", "draw(2)")]);
    write(&components.join("broken"), &[("component.json", "{"), ("index.html", "")]);
    let reloaded = reload(client);
    let after = page_of(&reloaded);
    assert_ne!(before, after);
    assert_eq!(as_frame(client, &after.replace("index.html", "draw.js")).body, "draw(2)");
    assert_eq!(
        as_frame(client, &before.replace("index.html", "draw.js")).body,
        "draw()",
        "a page that is open goes on"
    );
    let [problem] = &reloaded["problems"].as_array().unwrap()[..] else { panic!("{reloaded}") };
    assert!(problem["folder"].as_str().unwrap().ends_with("broken"), "{problem}");
    assert!(problem["problem"].as_str().unwrap().contains("component.json is not right"), "{problem}");
    let entry = &reloaded["components"][0];
    assert_eq!(
        (&entry["name"], &entry["source"], &entry["title"]),
        (&json!("gauge"), &json!("config"), &json!("Gauge"))
    );
}

#[test]
fn a_component_with_a_page_is_in_the_registry() {
    let daemon = start();
    let client = &daemon.client;
    client.get("/api/components/gauge").is_problem(404, "component_unknown");
    let before = client.get("/api/components").json()["version"].clone();
    let page = page_of(&reload(client));
    let entry = client.get("/api/components/gauge").json();
    assert_eq!((&entry["source"], &entry["view"]["url"]), (&json!("config"), &json!(page)));
    assert!(entry["props"]["properties"]["title"].is_object(), "it takes what every component takes: {entry}");
    let list = client.get("/api/components").json();
    assert_ne!(list["version"], before);
    assert!(list["components"].as_array().unwrap().iter().any(|known| known["name"] == "gauge"));
    assert!(list["components"].as_array().unwrap().iter().any(|known| known["name"] == "chart"));
}
