use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// A data directory with these components: each a name, its manifest and its other files.
/// A folder's name, its manifest, and its files.
type Folder<'a> = (&'a str, Value, &'a [(&'a str, &'a str)]);

fn data(components: &[Folder<'_>]) -> TempDir {
    let data = tempfile::tempdir().unwrap();
    for (name, manifest, files) in components {
        write(&data.path().join(FOLDER).join(name), &manifest.to_string(), files);
    }
    data
}

fn write(folder: &Path, manifest: &str, files: &[(&str, &str)]) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("component.json"), manifest).unwrap();
    for (path, content) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn open(data: &TempDir) -> ComponentFolders {
    ComponentFolders::open(data.path(), &[], &[])
}

const HTML: (&str, &str) = ("index.html", "<p>hello");

/// The hash that a page is served with.
fn hash(entry: &PageEntry) -> String {
    entry.view.url.split('/').nth(4).unwrap().to_owned()
}

#[test]
fn a_folder_is_an_entry_with_a_page() {
    let manifest = json!({
        "title": "Gauge", "surfaces": ["panel", "chat"], "props": { "type": "object" }, "state": true,
        "callbacks": [{ "name": "turn", "wakes": false }], "view": { "prefers_border": true },
    });
    let folders = open(&data(&[("gauge", manifest, &[HTML, ("lib/draw.js", "draw()")])]));
    assert_eq!(folders.problems(), []);
    let [entry] = &folders.entries()[..] else { panic!("one entry") };
    assert_eq!(
        serde_json::to_value(entry).unwrap(),
        json!({
            "name": "gauge", "title": "Gauge", "description": "", "source": "config", "surfaces": ["panel", "chat"],
            "has_loading_state": false, "props": { "type": "object" }, "callbacks": [{ "name": "turn", "wakes": false }],
            "view": { "url": format!("/views/c/gauge/{}/index.html", hash(entry)), "prefers_border": true, "state": true },
        })
    );
    let folder = folders.find("gauge", &hash(entry)).unwrap();
    assert_eq!(folder.file("lib/draw.js").unwrap().as_ref(), b"draw()");
    // What describes it is not served, and neither is anything above it.
    for path in ["component.json", "", "lib", "../gauge/index.html", "lib/../index.html"] {
        assert!(folder.file(path).is_none(), "{path}");
    }
    assert!(folders.find("gauge", "0").is_none() && folders.find("other", &hash(entry)).is_none());
}

#[test]
fn a_folder_that_is_wrong_is_named_and_the_others_are_served() {
    let long = "x".repeat(65);
    let folders = open(&data(&[
        ("fine", json!({}), &[HTML]),
        ("no-page", json!({}), &[]),
        ("other-name", json!({ "name": "another" }), &[HTML]),
        ("Upper", json!({}), &[HTML]),
        (&long, json!({}), &[HTML]),
        ("unknown-field", json!({ "colour": "red" }), &[HTML]),
        ("source", json!({ "source": "builtin" }), &[HTML]),
        ("url", json!({ "view": { "url": "https://elsewhere.example" } }), &[HTML]),
        ("surface", json!({ "surfaces": ["ceiling"] }), &[HTML]),
        ("nowhere", json!({ "surfaces": [] }), &[HTML]),
        ("callback", json!({ "callbacks": [{}] }), &[HTML]),
        ("domain", json!({ "csp": { "connect_domains": ["https://a.example; script-src *"] } }), &[HTML]),
        ("list", json!([]), &[HTML]),
    ]));
    let names: Vec<String> = folders.entries().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["fine"]);
    let problems = folders.problems();
    assert_eq!(problems.len(), 12, "{problems:#?}");
    let says = |folder: &str, part: &str| {
        problems.iter().any(|problem| problem.folder.ends_with(folder) && problem.problem.contains(part))
    };
    assert!(says("no-page", "it has no index.html"));
    assert!(says("other-name", "\"another\""));
    assert!(says("unknown-field", "colour"));
    assert!(says("domain", "is not a domain"));
}

#[test]
fn links_and_hidden_files_are_left_out() {
    let data = data(&[("gauge", json!({}), &[HTML, (".secret", "no"), (".git/config", "no")])]);
    let folder = data.path().join(FOLDER).join("gauge");
    fs::write(data.path().join("token"), "secret").unwrap();
    std::os::unix::fs::symlink(data.path().join("token"), folder.join("token")).unwrap();
    std::os::unix::fs::symlink(data.path(), folder.join("up")).unwrap();
    let folders = open(&data);
    let [entry] = &folders.entries()[..] else { panic!("one entry") };
    let folder = folders.find("gauge", &hash(entry)).unwrap();
    assert_eq!(folder.files.keys().collect::<Vec<_>>(), ["index.html"]);
}

#[test]
fn what_is_too_much_is_refused() {
    let data = data(&[("many", json!({}), &[HTML]), ("large", json!({}), &[HTML]), ("deep", json!({}), &[HTML])]);
    let place = data.path().join(FOLDER);
    for n in 0..256 {
        fs::write(place.join("many").join(format!("{n}.txt")), "").unwrap();
    }
    fs::write(place.join("large/huge.bin"), vec![0; 8 * 1024 * 1024]).unwrap();
    fs::create_dir_all(place.join("deep/1/2/3/4/5/6/7/8")).unwrap();
    let folders = open(&data);
    assert_eq!(folders.entries(), []);
    let problems: Vec<String> = folders.problems().into_iter().map(|problem| problem.problem).collect();
    let expected = ["its folders are more than 8 deep", "it has more than 8388608 bytes", "it has more than 256 files"];
    assert_eq!(problems, expected);
}

#[test]
fn the_first_of_two_with_one_name_counts_and_other_places_are_read() {
    let data = data(&[("gauge", json!({ "title": "first" }), &[HTML])]);
    let other = tempfile::tempdir().unwrap();
    write(&other.path().join("gauge"), "{\"title\":\"second\"}", &[HTML]);
    write(&other.path().join("dial"), "{}", &[HTML]);
    write(&data.path().join("more/knob"), "{}", &[HTML]);
    let places = [other.path().to_owned(), "more".into(), "nowhere".into()];
    let folders = ComponentFolders::open(data.path(), &places, &[]);
    let entries = folders.entries();
    let names: Vec<(&str, &str)> = entries.iter().map(|entry| (entry.name.as_str(), entry.title.as_str())).collect();
    assert_eq!(names, [("dial", ""), ("gauge", "first"), ("knob", "")]);
    assert_eq!(folders.problems().len(), 1);
}

#[test]
fn a_reload_reads_what_is_there_and_an_open_page_keeps_its_files() {
    let data = data(&[("gauge", json!({}), &[HTML])]);
    let folders = open(&data);
    let first = hash(&folders.entries()[0]);
    folders.reload();
    assert_eq!(hash(&folders.entries()[0]), first, "the same content has the same address");
    fs::write(data.path().join(FOLDER).join("gauge/index.html"), "<p>new").unwrap();
    folders.reload();
    let second = hash(&folders.entries()[0]);
    assert_ne!(first, second);
    let page = |hash: &str| folders.find("gauge", hash).unwrap().file("index.html").unwrap().clone();
    assert_eq!((page(&first).as_ref(), page(&second).as_ref()), (&b"<p>hello"[..], &b"<p>new"[..]));
    fs::remove_dir_all(data.path().join(FOLDER)).unwrap();
    folders.reload();
    assert_eq!(folders.entries(), []);
    assert!(folders.find("gauge", &first).is_none());
}

#[test]
fn only_domains_that_both_sides_name_are_in_the_policy() {
    let csp = json!({ "connect_domains": ["https://api.example", "https://evil.example"], "resource_domains": ["https://cdn.example"] });
    let data = data(&[("gauge", json!({ "csp": csp }), &[HTML])]);
    let policy = |allowed: &[&str]| {
        let allowed: Vec<String> = allowed.iter().map(|domain| (*domain).to_owned()).collect();
        let folders = ComponentFolders::open(data.path(), &[], &allowed);
        let entry = folders.entries().remove(0);
        let policy = folders.find("gauge", &hash(&entry)).unwrap().content_security_policy("127.0.0.1:7171");
        policy.replace(&hash(&entry), "HASH")
    };
    let base = "http://127.0.0.1:7171/views/c/gauge/HASH/";
    assert_eq!(
        policy(&[]),
        format!(
            "sandbox allow-scripts allow-forms; default-src 'none'; script-src 'unsafe-inline' {base}; style-src 'unsafe-inline' {base}; \
             img-src data: blob: {base}; font-src data: {base}; media-src data: blob: {base}; connect-src 'none'; frame-src 'none'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
        )
    );
    let some = policy(&["https://api.example", "https://cdn.example", "https://unasked.example"]);
    assert!(some.contains("connect-src https://api.example; "), "{some}");
    assert!(some.contains(&format!("script-src 'unsafe-inline' {base} https://cdn.example; ")), "{some}");
    assert!(!some.contains("evil") && !some.contains("unasked"));
}
