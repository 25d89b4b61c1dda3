//! The oldest version that the daemon takes: what it does in another way than the newest.

use serde_json::json;

use super::free;
use crate::place::{Place, oldest_codex_program};
use crate::support::of_kind;

#[test]
fn it_talks_works_asks_goes_back_and_remembers() {
    let mut place = Place::codex_of(
        &oldest_codex_program(),
        r#"
        [[reply]]
        name = "run"
        when = { user = "run it" }
        step = [{ run = "touch made.txt && echo made; sleep 0.5; echo again" }]
        [[reply]]
        when = { after = "run" }
        step = [{ text = "That was it." }]
        [[reply]]
        when = { user = "" }
        always = true
        step = [{ text = "You said: {{user}}" }]
        "#,
        "",
    );
    let id = place.session("codex", free("untrusted"));
    assert_eq!(place.turn(&id, "remember the warp").completed().text(), "You said: remember the warp");
    place.say(&id, "run it");
    let ask = place.ask(&id);
    place.permit(&id, &ask, &json!({ "reply": "once" }));
    let turn = place.until_idle(&id).completed();
    assert_eq!(turn.only("tool_result")["output"], "made\nagain\n", "nothing of it is lost");
    place.turn(&id, "forget the weft").completed();
    let roll = |place: &Place| {
        let rolled = place.client().post(&format!("/api/sessions/{id}/rollback"), &json!({ "turns": 1 }));
        assert_eq!(rolled.status, 200, "{}", rolled.body);
    };
    roll(&place);
    place.turn(&id, "what was it").completed();
    let heard = place.last_conversation();
    assert!(heard.contains("remember the warp") && !heard.contains("forget the weft"), "{heard}");
    // Also where another process made the turns.
    assert_eq!(place.daemon.terminate(), Some(0));
    place.daemon.again();
    roll(&place);
    place.turn(&id, "and now").completed();
    let heard = place.last_conversation();
    assert!(heard.contains("remember the warp") && !heard.contains("what was it"), "{heard}");
    let log = place.client().log(&id);
    let ready = of_kind(&log, "session_ready");
    assert_eq!(ready[1]["data"]["version"], "0.158.0");
    assert_eq!(ready.last().unwrap()["data"]["resumed"], true);
    place.end();
}
