use serde_json::{Value, json};

use super::{Error, MAX_BYTES, MAX_OPERATIONS, difference, patched};
use crate::nesting::{self, MAX_DEPTH};

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
    assert_eq!(patched(&state, &patch), Err(Error::TooMuch));
    let large = json!([{ "op": "add", "path": "/large", "value": "x".repeat(MAX_BYTES) }]);
    assert_eq!(patched(&state, &large), Err(Error::TooLarge));
}

#[test]
fn the_difference_leads_from_one_document_to_the_other() {
    let (from, to) = (json!({ "rows": 1, "colours": ["indigo"] }), json!({ "rows": 2, "warp": [1], "colours": [] }));
    assert_eq!(patched(&from, &difference(&from, &to)), Ok(to.clone()));
    assert_eq!(difference(&to, &to), json!([]));
}

#[test]
fn a_document_cannot_be_nested_without_end() {
    // Twelve copies of the whole into itself would make 4,096 levels.
    let mut state = json!({ "a": {} });
    let mut refused = 0;
    for _ in 0..12 {
        let innermost: String =
            std::iter::successors(Some(&state), |value| value.get("a")).skip(1).map(|_| "/a").collect();
        match patched(&state, &json!([{ "op": "copy", "from": "", "path": innermost }])) {
            Ok(deeper) => state = deeper,
            Err(error) => refused += usize::from(error == Error::TooDeep),
        }
    }
    assert!(nesting::fits(&state, MAX_DEPTH), "{state}");
    assert!(refused >= 6, "{refused} were refused");
    let deep = (0..MAX_DEPTH).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(patched(&json!({}), &json!([{ "op": "add", "path": "/a", "value": deep }])), Err(Error::TooDeep));
    assert!(patched(&json!({}), &json!([{ "op": "replace", "path": "", "value": deep }])).is_ok());
    // Nor by moving what stands side by side into each other.
    let flat: Value = (0..200).map(|n| (format!("k{n}"), json!({}))).collect::<serde_json::Map<_, _>>().into();
    let into = |n: usize| {
        let path = (0..=n).fold(String::new(), |path, n| path + "/k" + &n.to_string());
        json!({ "op": "move", "from": format!("/k{n}"), "path": path })
    };
    assert_eq!(patched(&flat, &(1..200).map(into).collect()), Err(Error::TooDeep));
}

#[test]
fn a_patch_is_not_work_without_end() {
    let state = json!({ "thread": "x".repeat(500_000) });
    let there_and_back =
        [json!({ "op": "copy", "from": "/thread", "path": "/copy" }), json!({ "op": "remove", "path": "/copy" })];
    let patch: Value = there_and_back.iter().cycle().take(2_000).cloned().collect();
    assert_eq!(patched(&state, &patch), Err(Error::TooMuch));
    let many: Value = (0..=MAX_OPERATIONS).map(|_| json!({ "op": "add", "path": "/x", "value": 1 })).collect();
    assert_eq!(patched(&state, &many), Err(Error::TooMuch));
    // What differs in more places than that is sent whole.
    let (from, to): (Value, Value) = ((0..5_000).collect(), (1..=5_000).map(|n| n * 2).collect());
    let (from, to) = (json!({ "rows": from }), json!({ "rows": to }));
    assert_eq!(patched(&from, &difference(&from, &to)), Ok(to));
}
