use proptest::prelude::*;

use super::*;

fn rendered(text: &str, limit: usize) -> Vec<String> {
    split(text, limit, Measure::Characters).iter().map(Piece::render).collect()
}

#[test]
fn a_short_text_is_one_piece_and_nothing_is_none() {
    assert_eq!(rendered("hello", 100), ["hello"]);
    assert!(rendered("", 100).is_empty());
}

#[test]
fn a_text_is_cut_where_a_paragraph_ends_or_a_line_or_a_word() {
    let paragraphs = format!("{}\n\n{}", "a".repeat(60), "b".repeat(60));
    assert_eq!(rendered(&paragraphs, 100), [format!("{}\n\n", "a".repeat(60)), "b".repeat(60)]);
    let lines = format!("{}\n{}", "a".repeat(60), "b".repeat(60));
    assert_eq!(rendered(&lines, 100), [format!("{}\n", "a".repeat(60)), "b".repeat(60)]);
    let words = format!("{} {}", "a".repeat(60), "b".repeat(60));
    assert_eq!(rendered(&words, 100), [format!("{} ", "a".repeat(60)), "b".repeat(60)]);
    assert_eq!(rendered(&"a".repeat(150), 100).iter().map(String::len).sum::<usize>(), 150);
}

#[test]
fn a_block_of_code_is_closed_and_opened_again() {
    let code = (0..20).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
    let pieces = rendered(&format!("before\n\n```rust\n{code}```\nafter"), 100);
    assert!(pieces.len() > 2);
    assert!(pieces[0].starts_with("before\n\n```rust\nline 0\n") && pieces[0].ends_with("\n```"), "{}", pieces[0]);
    assert!(pieces[1].starts_with("```rust\nline ") && pieces[1].ends_with("\n```"), "{}", pieces[1]);
    assert!(pieces.last().unwrap().starts_with("```rust\n") && pieces.last().unwrap().ends_with("after"));
}

#[test]
fn a_block_that_nobody_closed_is_closed_at_the_end() {
    assert_eq!(rendered("~~~\ncode", 100), ["~~~\ncode\n~~~"]);
}

#[test]
fn what_a_service_counts_is_counted() {
    let emoji = "😀".repeat(100);
    let pieces = split(&emoji, 100, Measure::Utf16);
    assert!(pieces.len() >= 2 && pieces.iter().all(|piece| piece.render().encode_utf16().count() <= 100));
    let pieces = split("<<<<&&&&>>>>".repeat(20).leak(), 100, Measure::Escaped);
    assert!(pieces.iter().all(|piece| Measure::Escaped.text(&piece.render()) <= 100));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn nothing_is_lost_and_every_piece_fits_and_is_whole(
        parts in prop::collection::vec(prop_oneof![
            3 => "[a-z😀é ]{0,40}", 2 => Just("\n".to_owned()), 1 => Just("\n\n".to_owned()), 1 => "\n?`{1,6}[a-z]{0,4}\n?",
            1 => "\n~{3,5}[a-z <&]{0,20}\n", 1 => "[a-z]{100,300}", 1 => Just("<&>".to_owned()),
        ], 0..30),
        limit in 0_usize..400,
        measure in prop_oneof![Just(Measure::Characters), Just(Measure::Utf16), Just(Measure::Escaped)],
    ) {
        let text = parts.concat();
        let pieces = split(&text, limit, measure);
        let joined: String = pieces.iter().map(|piece| piece.text).collect();
        prop_assert_eq!(&joined, &text);
        for piece in &pieces {
            let rendered = piece.render();
            prop_assert!(measure.text(&rendered) <= limit.max(MIN_LIMIT), "{} in {rendered:?}", measure.text(&rendered));
            prop_assert!(!piece.text.is_empty());
            prop_assert_eq!(fence_after(&rendered, None).is_some(), false, "open at the end: {:?}", rendered);
        }
        // What is code in the whole is code in its piece.
        for pair in pieces.windows(2) {
            prop_assert_eq!(pair[0].closes.is_some(), pair[1].opens.is_some());
        }
    }
}
