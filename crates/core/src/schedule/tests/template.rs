use std::collections::BTreeMap;

use super::*;

fn fill(text: &str) -> Result<String, Error> {
    let variables = BTreeMap::from([("branch".to_owned(), "main {{date}}".to_owned())]);
    let words = Words {
        date: "2026-03-29".to_owned(),
        time: "03:00".to_owned(),
        last_result: "all {{well}}",
        run_id: "r",
        variables: Some(&variables),
    };
    Template::parse(text).map(|template| template.fill(&words))
}

#[test]
fn names_are_filled_in_once() {
    assert_eq!(fill("on {{date}} at {{ time }}: {{last_result}}").unwrap(), "on 2026-03-29 at 03:00: all {{well}}");
    assert_eq!(fill("{{branch}}{{branch}}").unwrap(), "main {{date}}main {{date}}", "what is put in is not read again");
    assert_eq!(fill(r"keep \{{date}} }} { } as it is").unwrap(), "keep {{date}} }} { } as it is");
    assert_eq!(fill("").unwrap(), "");
}

#[test]
fn what_points_nowhere_is_refused() {
    for text in ["{{", "{{date", "{{}}", "{{a b}}", "{{ä}}", "x {{date}} {{"] {
        assert_eq!(fill(text).unwrap_err().code(), "invalid_template", "{text}");
    }
    let now = at("2026-01-01T00:00:00Z");
    let given = |prompt: &str| {
        let variables = BTreeMap::from([("branch".to_owned(), String::new())]);
        let every = json!({ "type": "interval", "every": "1h" });
        Definition { prompt: prompt.to_owned(), variables, ..definition(&every) }.check(now, now).map(drop)
    };
    assert_eq!(given("{{branch}} {{run_id}}"), Ok(()));
    let refused = given("{{brunch}}").unwrap_err();
    assert_eq!(refused.code(), "invalid_template");
    assert!(refused.to_string().ends_with("there are date, time, last_result, run_id, branch"), "{refused}");
}
