use proptest::prelude::*;
use serde_json::json;

use super::*;

fn render(template: &str, payload: &Value) -> Result<String, String> {
    let headers = Headers::new([("X-Event", "issues")]);
    let template = Template::parse(template).map_err(|error| error.to_string())?;
    let scope = Scope { payload, headers: &headers, names: &[("answer", "42")] };
    template.render(scope).map_err(|error| error.to_string())
}

#[test]
fn places_are_filled() {
    let payload =
        json!({ "a": { "b": "text" }, "n": 7, "list": [1, { "x": null }], "no": null, "a/b": "slash", "e": "" });
    for (template, expected) in [
        ("", ""),
        ("plain", "plain"),
        ("{/a/b}", "text"),
        ("<{/a/b}> {/n}", "<text> 7"),
        ("{/list/0}{/list}", "1[1,{\"x\":null}]"),
        ("{/a~1b}", "slash"),
        ("{/nothing|/a/b}", "text"),
        ("{/no|/n}", "7"),
        ("[{/nothing?}]", "[]"),
        ("[{/no|/list/1/x?}]", "[]"),
        ("[{/e}]", "[]"),
        ("{{/a/b}}", "{/a/b}"),
        ("{{{/a/b}}}", "{text}"),
        ("{answer} {header.x-event} {header.X-EVENT}", "42 issues issues"),
        ("{header.x-none|answer}", "42"),
    ] {
        assert_eq!(render(template, &payload).as_deref(), Ok(expected), "{template}");
    }
}

#[test]
fn a_place_that_leads_nowhere_is_named() {
    let payload = json!({ "a": { "b": null } });
    for (template, named) in [
        ("{/x}", "`{/x}`"),
        ("{/a/b}", "`{/a/b}`"),
        ("{/a/b|/y}", "`{/a/b|/y}`"),
        ("{header.x-none}", "`{header.x-none}`"),
    ] {
        let error = render(template, &payload).unwrap_err();
        assert!(error.contains(named) && error.contains("leads nowhere"), "{template}: {error}");
    }
}

#[test]
fn what_is_no_template_is_refused() {
    for template in ["{", "{/a", "}", "a } b", "{}", "{ /a}", "{/a~2}", "{a b}", "{header.}", "{/a||/b}", "{?}"] {
        assert!(Template::parse(template).is_err(), "{template}");
    }
    assert_eq!(Template::parse(&"x".repeat(MAX_TEMPLATE_BYTES + 1)), Err(Error::TooLong));
    let named = Template::parse("{answer} {other}").unwrap();
    assert!(named.check_names(&["answer", "other"]).is_ok());
    assert!(matches!(named.check_names(&["answer"]), Err(Error::UnknownName(name, _)) if name == "other"));
}

#[test]
fn what_is_too_long_is_cut_between_characters() {
    let payload = json!({ "a": "é".repeat(MAX_TEXT_BYTES) });
    let text = render("x{/a}", &payload).unwrap();
    assert!(text.len() <= MAX_TEXT_BYTES && text.len() > MAX_TEXT_BYTES - 16 && text.ends_with("é\n[cut]"));
}

proptest! {
    /// Any text can be said by a template, and what a payload says is never read as one.
    #[test]
    fn a_text_with_doubled_braces_is_itself(text in "\\PC{0,40}", value in "[{}/|?a-z]{0,12}") {
        let escaped = text.replace('{', "{{").replace('}', "}}");
        let payload = json!({ "v": value });
        prop_assert_eq!(render(&format!("{escaped}{{/v}}{escaped}"), &payload), Ok(format!("{text}{value}{text}")));
    }

    #[test]
    fn any_text_is_a_template_or_refused(text in "[{}/|?a-z. ~]{0,24}") {
        if let Ok(template) = Template::parse(&text) {
            prop_assert_eq!(template.as_str(), &text);
            drop(render(&text, &json!({ "a": 1 })));
        }
    }
}
