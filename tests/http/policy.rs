//! What agents may do, from outside: modes, rules that people choose, files that are wrong, and rules tried on what was recorded.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Client, Daemon, assert_lawful, eventually, of_kind};

const PUSH: &str = "bash git push --force origin main";

/// Two working directories, without links in their paths.
struct Places {
    _folder: TempDir,
    here: PathBuf,
    there: PathBuf,
}

impl Places {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| {
            let path = folder.path().canonicalize().unwrap().join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        Self { here: place("here"), there: place("there"), _folder: folder }
    }
}

fn session(client: &Client, id: &str, mode: &str, cwd: &Path) {
    let params = json!({ "pace_ms": 0, "mode": mode, "cwd": cwd });
    let created = client.post("/api/sessions", &json!({ "session_id": id, "runtime": "mock", "params": params }));
    assert_eq!(created.status, 201, "{}", created.body);
}

/// What was decided about the last call, and what came of it.
#[track_caller]
fn last_call(client: &Client, id: &str) -> (Value, Value) {
    let log = client.log(id);
    let last = |kind: &str| of_kind(&log, kind).last().map(|event| event["data"].clone()).unwrap_or_default();
    (last("tool_decided")["judged"].clone(), last("tool_result"))
}

/// Says something that needs no answer, and tells what was decided.
#[track_caller]
fn decided(client: &Client, id: &str, text: &str) -> Value {
    let asked = of_kind(&client.log(id), "permission_request").len();
    client.turn(id, text);
    assert_eq!(of_kind(&client.log(id), "permission_request").len(), asked, "{text} asked");
    last_call(client, id).0
}

/// Says something that asks, and gives the ask with its request.
#[track_caller]
fn asked(client: &Client, id: &str, text: &str) -> (String, Value) {
    client.say(id, text);
    let ask = client.ask(id);
    let asks = client.get("/api/asks").json();
    let found = asks["asks"].as_array().unwrap().iter().find(|found| found["ask_id"] == ask.as_str()).unwrap().clone();
    (ask, found["request"].clone())
}

#[track_caller]
fn answer(client: &Client, id: &str, ask: &str, body: &Value) {
    let answered = client.post(&format!("/api/sessions/{id}/permissions/{ask}"), body);
    assert_eq!(answered.status, 200, "{}", answered.body);
    client.until_idle(id);
}

/// The rules that *always* may store, with their scopes.
fn offered(request: &Value) -> Vec<(String, String)> {
    let options = request["options"].as_array().unwrap().iter().filter(|option| option["reply"] == "always");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    options.map(|option| (text(&option["scope"]), text(&option["rule"]))).collect()
}

fn rules(client: &Client) -> Vec<Value> {
    client.get("/api/rules").json()["rules"].as_array().unwrap().clone()
}

#[test]
fn each_mode_allows_asks_and_denies() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    let expected = [
        ("plan", ["allow", "deny", "deny", "deny"]),
        ("implement", ["allow", "allow", "ask", "deny"]),
        ("ask", ["allow", "ask", "ask", "deny"]),
        ("bypass", ["allow", "allow", "allow", "deny"]),
    ];
    for (mode, effects) in expected {
        session(client, mode, mode, &places.here);
        for (text, effect) in ["bash ls", "bash touch new.txt", PUSH, "bash rm -rf /"].iter().zip(effects) {
            if effect == "ask" {
                let (ask, request) = asked(client, mode, text);
                assert_eq!(request["judged"]["effect"], "ask");
                answer(client, mode, &ask, &json!({ "reply": "reject", "message": "not now" }));
                let (judged, result) = last_call(client, mode);
                assert_eq!((&judged["effect"], &result["denied"]), (&json!("ask"), &json!(true)), "{mode}: {text}");
                continue;
            }
            let judged = decided(client, mode, text);
            assert_eq!((&judged["effect"], &judged["mode"]), (&json!(effect), &json!(mode)), "{mode}: {text}");
            let (_, result) = last_call(client, mode);
            assert_eq!(result["denied"] == true, effect == "deny", "{mode}: {text}: {result}");
        }
        assert_lawful(&client.log(mode));
    }
    // Another mode holds from the next call on.
    assert_eq!(client.patch("/api/sessions/plan", &json!({ "mode": "implement" })).status, 200);
    assert_eq!(decided(client, "plan", "bash touch new.txt")["effect"], "allow");
}

#[test]
fn always_stores_the_rule_that_was_shown_and_reaches_as_far_as_it_says() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    // Who is allowed afterwards: the session itself, another here, another elsewhere.
    for (scope, allowed) in [("session", [true, false, false]), ("project", [true, true, false]), ("user", [true; 3])] {
        let ids = [format!("{scope}-1"), format!("{scope}-2"), format!("{scope}-3")];
        for (id, cwd) in ids.iter().zip([&places.here, &places.here, &places.there]) {
            session(client, id, "implement", cwd);
        }
        let (ask, request) = asked(client, &ids[0], PUSH);
        let (_, rule) = offered(&request).into_iter().find(|(offered, _)| offered == scope).expect("the scope");
        answer(client, &ids[0], &ask, &json!({ "reply": "always", "rule": rule }));
        let listed = rules(client);
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!((&listed[0]["rule"], &listed[0]["scope"]), (&json!(rule), &json!(scope)));
        assert!(listed[0]["note"].as_str().unwrap().contains(&ids[0]), "{listed:?}");
        assert_eq!(listed[0]["chosen"]["session_id"], ids[0], "{listed:?}");
        let stored = listed[0]["id"].as_str().unwrap().to_owned();
        let in_policy = client.get(&format!("/api/policy?session={}", ids[0])).json();
        assert_eq!(in_policy["always"], json!(listed));
        for (id, allowed) in ids.iter().zip(allowed) {
            if allowed {
                let judged = decided(client, id, PUSH);
                let by = format!("always/{stored}");
                assert_eq!((&judged["effect"], &judged["rule"]), (&json!("allow"), &json!(by)), "{id}");
                assert_eq!(judged["scope"], scope);
            } else {
                let (ask, _) = asked(client, id, PUSH);
                answer(client, id, &ask, &json!({ "reply": "reject" }));
            }
        }
        assert_eq!(client.delete(&format!("/api/rules/{stored}")).status, 204);
        client.delete(&format!("/api/rules/{stored}")).is_problem(404, "rule_not_found");
        assert_eq!(rules(client), Vec::<Value>::new());
        let (ask, _) = asked(client, &ids[0], PUSH);
        answer(client, &ids[0], &ask, &json!({ "reply": "once" }));
        assert_lawful(&client.log(&ids[0]));
    }
}

#[test]
fn a_rule_that_was_not_offered_is_refused() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    session(client, "s", "implement", &places.here);
    let (ask, _) = asked(client, "s", PUSH);
    let path = format!("/api/sessions/s/permissions/{ask}");
    for wrong in ["effect = \"allow\"\ntool = \"Bash\"", ""] {
        client.post(&path, &json!({ "reply": "always", "rule": wrong })).is_problem(400, "invalid_request");
    }
    assert_eq!(rules(client), Vec::<Value>::new());
    answer(client, "s", &ask, &json!({ "reply": "reject" }));
}

#[test]
fn of_two_people_one_decides_and_only_their_rule_is_kept() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    for round in 0..10 {
        let id = format!("s{round}");
        session(client, &id, "implement", &places.here);
        let (ask, request) = asked(client, &id, PUSH);
        let (_, rule) = offered(&request).into_iter().find(|(scope, _)| scope == "session").unwrap();
        let path = format!("/api/sessions/{id}/permissions/{ask}");
        let (always, reject) = std::thread::scope(|scope| {
            let always = scope.spawn(|| client.post(&path, &json!({ "reply": "always", "rule": rule })).status);
            let reject = scope.spawn(|| client.post(&path, &json!({ "reply": "reject" })).status);
            (always.join().unwrap(), reject.join().unwrap())
        });
        assert!(matches!((always, reject), (200, 409) | (409, 200)), "{always} {reject}");
        client.until_idle(&id);
        let kept = rules(client).iter().any(|stored| stored["rule"] == rule.as_str());
        assert_eq!(kept, always == 200, "{id}");
        assert_lawful(&client.log(&id));
    }
}

#[test]
fn an_answer_that_comes_too_late_stores_nothing() {
    let (mut daemon, places) = (Daemon::start(), Places::new());
    for ended_by in ["stop", "restart"] {
        session(&daemon.client, ended_by, "implement", &places.here);
        let (ask, request) = asked(&daemon.client, ended_by, PUSH);
        let (_, rule) = offered(&request).remove(0);
        if ended_by == "stop" {
            daemon.client.post("/api/sessions/stop/stop", &json!({}));
        } else {
            daemon.kill();
            daemon.again();
        }
        let late = json!({ "reply": "always", "rule": rule });
        daemon
            .client
            .post(&format!("/api/sessions/{ended_by}/permissions/{ask}"), &late)
            .is_problem(409, "already_resolved");
        assert_eq!(rules(&daemon.client), Vec::<Value>::new(), "{ended_by}");
        assert_lawful(&daemon.client.log(ended_by));
    }
}

#[test]
fn a_file_that_breaks_counts_as_it_was_and_is_read_again_when_it_is_mended() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    let file = daemon.data.join("policy.toml");
    let deny =
        "[[rule]]\nid = \"no-deploy\"\neffect = \"deny\"\ncommand = \"make deploy\"\nreason = \"a person deploys\"\n";
    std::fs::write(&file, deny).unwrap();
    session(client, "s", "bypass", &places.here);
    let problems = || client.get("/api/policy?session=s").json()["problems"].clone();
    assert_eq!(problems(), json!([]));
    assert_eq!(decided(client, "s", "bash make deploy")["rule"], "user/no-deploy");
    std::fs::write(&file, format!("{deny}\n[[rule]]\neffect = \"perhaps\"\n")).unwrap();
    let judged = decided(client, "s", "bash make deploy");
    assert_eq!((&judged["effect"], &judged["rule"]), (&json!("deny"), &json!("user/no-deploy")));
    let wrong = problems();
    assert_eq!((&wrong[0]["file"], &wrong[0]["line"]), (&json!(file), &json!(7)), "{wrong}");
    assert!(wrong[0]["message"].as_str().unwrap().contains("perhaps"), "{wrong}");
    std::fs::write(&file, deny.replace("no-deploy", "still-no-deploy")).unwrap();
    assert_eq!(decided(client, "s", "bash make deploy")["rule"], "user/still-no-deploy");
    assert_eq!(problems(), json!([]));
    let listed = client.get("/api/policy?session=s").json();
    assert_eq!((&listed["mode"], &listed["cwd"]), (&json!("bypass"), &json!(places.here)));
    let mine: Vec<_> = listed["rules"].as_array().unwrap().iter().filter(|rule| rule["layer"] == "user").collect();
    assert_eq!((mine.len(), &mine[0]["name"]), (1, &json!("user/still-no-deploy")));
    let names: Vec<_> = listed["modes"].as_array().unwrap().iter().map(|mode| mode["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ask", "bypass", "implement", "plan"]);
    assert!(listed["modes"].as_array().unwrap().iter().all(|mode| mode["about"].is_string()), "{listed}");
}

#[test]
fn a_file_that_never_was_right_makes_everything_ask() {
    let (data, places) = (tempfile::tempdir().unwrap(), Places::new());
    let file = data.path().join("policy.toml");
    std::fs::write(&file, "[[rule]]\neffect = deny\n").unwrap();
    let daemon = Daemon::on(data.path(), &[]);
    let client = &daemon.client;
    session(client, "s", "bypass", &places.here);
    let (ask, request) = asked(client, "s", "bash ls");
    assert_eq!(request["judged"]["rule"], "user/broken-rules");
    assert!(request["judged"]["reason"].as_str().unwrap().contains("policy.toml:2"), "{request}");
    answer(client, "s", &ask, &json!({ "reply": "once" }));
    std::fs::write(&file, "").unwrap();
    assert_eq!(decided(client, "s", "bash ls")["effect"], "allow");
}

#[test]
fn a_projects_own_rules_count_once_the_user_trusts_it() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    std::fs::create_dir(places.here.join(".turnloom")).unwrap();
    let own = places.here.join(".turnloom/policy.toml");
    std::fs::write(&own, "[[rule]]\nid = \"no-deploy\"\neffect = \"deny\"\ncommand = \"make deploy\"\n").unwrap();
    session(client, "s", "bypass", &places.here);
    let is_trusted = || client.get("/api/policy?session=s").json()["is_trusted"].clone();
    assert_eq!(decided(client, "s", "bash make deploy")["effect"], "allow");
    assert_eq!(is_trusted(), false);
    let trust = format!("trusted_projects = [{}]\n", json!(places.here));
    std::fs::write(daemon.data.join("policy.toml"), trust).unwrap();
    let judged = decided(client, "s", "bash make deploy");
    assert_eq!((&judged["effect"], &judged["rule"]), (&json!("deny"), &json!("project/no-deploy")));
    assert_eq!(is_trusted(), true);
    // It may only tighten.
    std::fs::write(&own, "[[rule]]\neffect = \"allow\"\ncommand = \"make deploy\"\n").unwrap();
    let wrong = client.get("/api/policy?session=s").json()["problems"].clone();
    assert_eq!(wrong[0]["file"], json!(own), "{wrong}");
    let elsewhere = client.get(&format!("/api/policy?cwd={}", places.there.display())).json();
    assert_eq!(elsewhere["problems"], json!([]));
}

#[test]
fn a_view_shows_what_was_decided() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    session(client, "s", "implement", &places.here);
    let judged = decided(client, "s", "bash rm -rf /");
    let (ask, _) = asked(client, "s", PUSH);
    let view = client.get("/api/sessions/s/view").json();
    let blocks = |message: &Value| message["blocks"].as_array().cloned().unwrap_or_default();
    let all: Vec<Value> = view["messages"].as_array().unwrap().iter().flat_map(blocks).collect();
    let tools: Vec<&Value> = all.iter().filter(|block| block["kind"] == "tool").collect();
    let denied =
        json!({ "effect": "deny", "rule": judged["rule"], "scope": judged["scope"], "reason": judged["reason"] });
    assert_eq!(tools[0]["decision"], denied);
    assert_eq!(tools[1]["decision"]["effect"], "ask");
    let permission = all.iter().find(|block| block["kind"] == "permission").unwrap();
    assert_eq!(permission["judged"]["effect"], "ask");
    assert!(permission["options"].as_array().unwrap().iter().any(|option| option["scope"] == "project"));
    answer(client, "s", &ask, &json!({ "reply": "reject" }));
}

#[test]
fn rules_are_tried_on_what_was_recorded() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    session(client, "s", "implement", &places.here);
    decided(client, "s", "bash touch new.txt");
    decided(client, "s", "bash ls");
    for _ in 0..3 {
        let (ask, _) = asked(client, "s", PUSH);
        answer(client, "s", &ask, &json!({ "reply": "once" }));
    }
    let proposed = "[[rule]]\nid = \"no-touch\"\neffect = \"deny\"\ncommand = \"touch *\"\n";
    let report = client.post("/api/policy/test", &json!({ "rules": proposed })).json();
    assert_eq!(report["calls"], 5);
    assert_eq!(report["counts"], json!([{ "old": "allow", "new": "deny", "calls": 1 }]));
    let changed = &report["changed"][0];
    let log = client.log("s");
    assert_eq!((&changed["session_id"], &changed["seq"]), (&json!("s"), &of_kind(&log, "tool_start")[0]["seq"]));
    assert_eq!((&changed["what"], &changed["new_rule"]), (&json!("touch new.txt"), &json!("user/no-touch")));
    let later = client.post("/api/policy/test", &json!({ "rules": proposed, "since": "2100-01-01T00:00:00Z" })).json();
    assert_eq!(later["calls"], 0);
    let broken = client.post("/api/policy/test", &json!({ "rules": "[[rule]]\neffect = 1\n" }));
    assert_eq!(broken.is_problem(422, "rules_broken")["line"], 1);

    let suggested = client.get("/api/policy/suggestions").json();
    let first = &suggested["suggestions"][0];
    assert_eq!(first["calls"].as_array().map(Vec::len), Some(3), "{suggested}");
    let rule = first["rule"].as_str().unwrap();
    assert!(rule.contains("effect = \"allow\"") && rule.contains("git push --force origin main"), "{rule}");
    // What is suggested answers the next one.
    std::fs::write(daemon.data.join("policy.toml"), format!("[[rule]]\nid = \"suggested\"\n{rule}\n")).unwrap();
    eventually("the rule counts", || {
        let problems = client.get("/api/policy?session=s").json()["problems"].clone();
        (problems == json!([])).then_some(())
    });
    assert_eq!(decided(client, "s", PUSH)["rule"], "user/suggested");
}

#[test]
fn a_session_tells_which_modes_it_could_have_and_why_not() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    std::fs::create_dir(daemon.data.join("modes")).unwrap();
    let careful = "about = \"As implement, and pushes nothing.\"\nextends = \"implement\"\n";
    std::fs::write(daemon.data.join("modes/careful.toml"), careful).unwrap();
    session(client, "s", "implement", &places.here);
    let choices = client.get("/api/policy?session=s").json()["choices"].clone();
    let names: Vec<_> = choices.as_array().unwrap().iter().map(|choice| choice["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["plan", "implement", "ask", "bypass", "careful"]);
    assert!(
        choices.as_array().unwrap().iter().all(|choice| choice["has_rules"] == true && choice["refused"].is_null())
    );
    assert_eq!(choices[4]["about"], "As implement, and pushes nothing.");
    // One that asks nobody cannot be held to rules; its own plan mode is not ours.
    let params = json!({ "cwd": places.here });
    let created =
        client.post("/api/sessions", &json!({ "session_id": "e", "runtime": "codex-exec", "params": params }));
    assert_eq!(created.status, 201, "{}", created.body);
    let choices = client.get("/api/policy?session=e").json()["choices"].clone();
    let of = |name: &str| choices.as_array().unwrap().iter().find(|choice| choice["name"] == name).unwrap().clone();
    assert!(of("implement")["refused"].as_str().unwrap().contains("cannot be held to them"), "{choices}");
    assert_eq!((&of("plan")["has_rules"], &of("plan")["refused"]), (&json!(false), &Value::Null), "{choices}");
    assert_eq!(client.get("/api/policy").json()["choices"], Value::Null);
}

#[test]
fn rules_say_what_they_are_about_and_where_they_stand() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    let file = daemon.data.join("policy.toml");
    let there =
        format!("\n[[rule]]\nid = \"there\"\neffect = \"ask\"\ncommand = \"x *\"\nproject = {}\n", json!(places.there));
    let mine = format!("# mine\n[[rule]]\nid = \"deploy\"\neffect = \"ask\"\ncommand = \"make deploy\"\n{there}");
    std::fs::write(&file, mine).unwrap();
    session(client, "s", "implement", &places.here);
    let policy = client.get("/api/policy?session=s").json();
    let rule =
        |name: &str| policy["rules"].as_array().unwrap().iter().find(|rule| rule["name"] == name).unwrap().clone();
    let deploy = rule("user/deploy");
    assert_eq!((&deploy["says"], &deploy["line"]), (&json!("runs `make deploy`"), &json!(2)));
    assert_eq!((&deploy["file"], &deploy["elsewhere"]), (&json!(file), &Value::Null));
    assert_eq!(rule("user/there")["elsewhere"], true);
    assert_eq!(rule("absolute/power")["file"], Value::Null);
    let files = policy["files"].as_array().unwrap();
    let project = files.iter().find(|file| file["layer"] == "project").unwrap();
    assert_eq!((&project["is_there"], &project["counts"]), (&json!(false), &json!(false)));
    assert_eq!(client.get("/api/policy/problems?session=s").json()["problems"], json!([]));
    std::fs::write(&file, "[[rule]]\neffect = 1\n").unwrap();
    assert_eq!(client.get("/api/policy/problems?session=s").json()["problems"][0]["line"], 1);
}

#[test]
fn a_rule_is_added_to_the_users_own_or_refused_whole() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    session(client, "s", "implement", &places.here);
    let rule = "effect = \"deny\"\ncommand = \"touch *\"";
    let added = client.post("/api/policy/own/rules", &json!({ "rule": rule }));
    assert_eq!(added.status, 201, "{}", added.body);
    let name = added.json()["name"].clone();
    assert_eq!(decided(client, "s", "bash touch new.txt")["rule"], name);
    let own = client.get("/api/policy/own").json();
    assert_eq!(own["file"], json!(daemon.data.join("policy.toml")));
    let taken = format!("id = {}\neffect = \"ask\"\ncommand = \"x\"", added.json()["id"]);
    let refused = client.post("/api/policy/own/rules", &json!({ "rule": taken }));
    assert_eq!(refused.is_problem(422, "rules_broken")["line"], 8);
    let two = format!("{rule}\n[[rule]]\n{rule}");
    client.post("/api/policy/own/rules", &json!({ "rule": two })).is_problem(400, "invalid_request");
    assert_eq!(client.get("/api/policy/own").json(), own);

    let stale = json!({ "text": "", "was": "of another time" });
    client.put("/api/policy/own", &stale).is_problem(409, "rules_changed");
    let wrong = json!({ "text": "[[rule]]\neffect = 1\n", "was": own["sha256"] });
    assert_eq!(client.put("/api/policy/own", &wrong).is_problem(422, "rules_broken")["line"], 1);
    assert_eq!(client.get("/api/policy/own").json(), own);
    let emptied = client.put("/api/policy/own", &json!({ "text": "", "was": own["sha256"] }));
    assert_eq!((emptied.status, &emptied.json()["text"]), (200, &json!("")), "{}", emptied.body);
    assert_eq!(decided(client, "s", "bash touch new.txt")["effect"], "allow");
}

#[test]
fn many_sessions_are_tried_some_at_a_time() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    for id in ["a", "b", "c"] {
        session(client, id, "implement", &places.here);
        decided(client, id, "bash touch new.txt");
    }
    client.delete("/api/sessions/c");
    let proposed = "[[rule]]\nid = \"no-touch\"\neffect = \"deny\"\ncommand = \"touch *\"\n";
    let (mut cursor, mut found, mut steps) = (Value::Null, Vec::new(), 0);
    loop {
        let body = json!({ "rules": proposed, "sessions": 1, "cursor": cursor });
        let report = client.post("/api/policy/test", &body).json();
        let changed = report["changed"].as_array().unwrap().clone();
        found.extend(changed.iter().map(|call| call["session_id"].as_str().unwrap().to_owned()));
        assert!(changed.iter().all(|call| call["tool_use_id"].is_string()), "{report}");
        steps += 1;
        cursor = report["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    found.sort();
    assert_eq!(found, ["a", "b", "c"]);
    assert!(steps >= 3, "{steps}");
    let all = client.post("/api/policy/test", &json!({ "rules": proposed })).json();
    assert_eq!((&all["calls"], &all["next_cursor"]), (&json!(3), &Value::Null));
    let nonsense = json!({ "rules": proposed, "cursor": "nonsense" });
    client.post("/api/policy/test", &nonsense).is_problem(400, "bad_cursor");
    client.post("/api/policy/test", &json!({ "rules": proposed, "sessions": 0 })).is_problem(400, "invalid_request");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let daemon = Daemon::start();
    let client = &daemon.client;
    client.mock("s");
    client.get("/api/policy?session=nobody").is_problem(404, "session_not_found");
    client.get("/api/policy?cwd=relative").is_problem(400, "invalid_request");
    client.get("/api/policy?session=s&cwd=/tmp").is_problem(400, "invalid_request");
    client.get("/api/policy/suggestions?since=yesterday").is_problem(400, "invalid_request");
    client.delete("/api/rules/nothing").is_problem(404, "rule_not_found");
    assert_eq!(client.get("/api/policy?session=s").json()["mode"], Value::Null);
}

#[test]
fn a_person_cannot_edit_a_call_into_one_that_is_denied() {
    let (daemon, places) = (Daemon::start(), Places::new());
    let client = &daemon.client;
    for mode in ["implement", "ask"] {
        session(client, mode, mode, &places.here);
        let (ask, _) = asked(client, mode, PUSH);
        let path = format!("/api/sessions/{mode}/permissions/{ask}");
        let edited = |command: &str| json!({ "reply": "once", "updated_input": { "command": command } });
        client.post(&path, &edited("rm -rf /")).is_problem(422, "denied_by_rule");
        client.post(&path, &edited("sh -c 'rm -rf ~'")).is_problem(422, "denied_by_rule");
        // The ask is still there, and what a rule would only ask about is the person's to allow.
        answer(client, mode, &ask, &edited("git push --force origin topic"));
        let (judged, result) = last_call(client, mode);
        assert_eq!((&judged["effect"], &result["denied"]), (&json!("ask"), &Value::Null), "{mode}: {result}");
        assert_lawful(&client.log(mode));
    }
}
