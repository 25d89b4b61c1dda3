use serde_json::{Value, json};

use super::{Error, MAX_BYTES, difference, patched};

type Expected = fn(&Error) -> bool;

#[test]
fn a_patch_fits_whole_or_not_at_all() {
    let state = json!({ "rows": 1, "colours": ["indigo"] });
    let fits =
        json!([{ "op": "test", "path": "/rows", "value": 1 }, { "op": "add", "path": "/colours/-", "value": "weld" }]);
    assert_eq!(patched(&state, &fits), Ok(json!({ "rows": 1, "colours": ["indigo", "weld"] })));
    let cases: [(Value, Expected); 7] = [
        (json!([{ "op": "remove", "path": "/rows" }, { "op": "test", "path": "/rows", "value": 1 }]), |error| {
            *error == Error::TestFailed { at: 2 }
        }),
        (json!([{ "op": "test", "path": "/rows", "value": 2 }]), |error| *error == Error::TestFailed { at: 1 }),
        (json!([{ "op": "remove", "path": "/warp" }]), |error| matches!(error, Error::DoesNotFit { at: 1, .. })),
        (json!([{ "op": "add", "path": "/colours/7", "value": 1 }]), |error| matches!(error, Error::DoesNotFit { .. })),
        (json!([{ "op": "weave", "path": "/rows" }]), |error| matches!(error, Error::Malformed(_))),
        (json!([{ "op": "add", "path": "rows", "value": 1 }]), |error| matches!(error, Error::Malformed(_))),
        (json!({ "rows": 2 }), |error| matches!(error, Error::Malformed(_))),
    ];
    for (patch, expected) in cases {
        let error = patched(&state, &patch).expect_err(&patch.to_string());
        assert!(expected(&error), "{patch}: {error:?}");
    }
}

#[test]
fn what_nobody_has_set_is_an_empty_document() {
    let patch = json!([{ "op": "add", "path": "/rows", "value": 1 }]);
    assert_eq!(patched(&Value::Null, &patch), Ok(json!({ "rows": 1 })));
}

#[test]
fn a_document_cannot_be_doubled_without_end() {
    let state = json!({ "thread": "x".repeat(1000) });
    let copy = |n: usize| json!({ "op": "copy", "from": "", "path": format!("/c{n}") });
    let patch = Value::Array((0..64).map(copy).collect());
    assert_eq!(patched(&state, &patch), Err(Error::TooLarge));
    let large = json!([{ "op": "add", "path": "/large", "value": "x".repeat(MAX_BYTES) }]);
    assert_eq!(patched(&state, &large), Err(Error::TooLarge));
}

#[test]
fn the_difference_leads_from_one_document_to_the_other() {
    let (from, to) = (json!({ "rows": 1, "colours": ["indigo"] }), json!({ "rows": 2, "warp": [1], "colours": [] }));
    assert_eq!(patched(&from, &difference(&from, &to)), Ok(to.clone()));
    assert_eq!(difference(&to, &to), json!([]));
}
