//! Messages for services that tell people: ntfy, and whoever takes one JSON object. Pure: requests as values.

use serde_json::{Value, json};
use turnloom_core::attention::Notice;

use super::Preset;

/// What a service is asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    Post { url: String, body: Value },
    Delete { url: String },
}

/// The topic that an address of ntfy names, and what comes before it.
pub(super) fn topic(path: &str) -> Option<(&str, &str)> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let (before, topic) = path.rsplit_once('/')?;
    let is_topic = (1..=64).contains(&topic.len())
        && topic.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    is_topic.then_some((before, topic))
}

/// The request that shows a notice. The same tag takes the place of what was shown with it.
pub(super) fn show(preset: Preset, url: &str, tag: &str, notice: &Notice, page: Option<&str>) -> Request {
    let link = page.map(|page| format!("{}{}", page.trim_end_matches('/'), notice.path));
    match preset {
        Preset::Ntfy => {
            let (base, name) = split(url);
            let (priority, mood) = if notice.needs_you { (4, "raised_hand") } else { (3, "speech_balloon") };
            let mut body = json!({
                "topic": name, "title": notice.title, "message": notice.body, "priority": priority, "tags": [mood],
                "sequence_id": tag,
            });
            if let (Some(link), Some(members)) = (link, body.as_object_mut()) {
                members.insert("click".to_owned(), json!(link));
            }
            Request::Post { url: format!("{base}/"), body }
        }
        Preset::Json => {
            let body = json!({
                "type": "show", "tag": tag, "title": notice.title, "body": notice.body, "path": notice.path, "url": link,
                "needs_you": notice.needs_you,
            });
            Request::Post { url: url.to_owned(), body }
        }
    }
}

/// The request that takes it back, as far as the service can.
pub(super) fn withdraw(preset: Preset, url: &str, tag: &str) -> Request {
    match preset {
        Preset::Ntfy => {
            let (base, name) = split(url);
            Request::Delete { url: format!("{base}/{name}/{tag}") }
        }
        Preset::Json => Request::Post { url: url.to_owned(), body: json!({ "type": "withdraw", "tag": tag }) },
    }
}

fn split(url: &str) -> (&str, &str) {
    topic(url).unwrap_or((url, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ntfy_ends_with_its_topic() {
        assert_eq!(topic("https://ntfy.sh/builds"), Some(("https://ntfy.sh", "builds")));
        assert_eq!(topic("/a/b/my-topic_1?auth=x"), Some(("/a/b", "my-topic_1")));
        for none in ["/", "", "/a/", "/a b", "/ü"] {
            assert_eq!(topic(none), None, "{none}");
        }
    }

    #[test]
    fn a_notice_is_shown_and_taken_back_under_one_name() {
        let notice = Notice {
            title: "Build needs you".to_owned(),
            body: "Run tests?".to_owned(),
            path: "/#/s/a".to_owned(),
            needs_you: true,
        };
        let Request::Post { url, body } =
            show(Preset::Ntfy, "https://ntfy.sh/builds", "in_1", &notice, Some("https://loom.example/"))
        else {
            panic!("it is posted")
        };
        assert_eq!(url, "https://ntfy.sh/");
        assert_eq!((&body["topic"], &body["sequence_id"]), (&json!("builds"), &json!("in_1")));
        assert_eq!(body["click"], "https://loom.example/#/s/a");
        let delete = Request::Delete { url: "https://ntfy.sh/builds/in_1".to_owned() };
        assert_eq!(withdraw(Preset::Ntfy, "https://ntfy.sh/builds", "in_1"), delete);
    }
}
