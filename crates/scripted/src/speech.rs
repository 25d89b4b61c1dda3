//! Text: how it is cut into pieces, and where long text comes from. Not here: how fast it is said.

/// Enough different words that a long text is not one word, and few enough to see at once that nobody wrote it.
const WORDS: &[&str] = &[
    "a", "thread", "goes", "over", "one", "and", "under", "the", "next", "until", "cloth", "is", "made", "of",
    "nothing", "but", "turns",
];
const WORDS_IN_SENTENCE: usize = 11;
const WORDS_IN_PARAGRAPH: usize = 66;

/// What is streamed at once of a call's input, unless told otherwise.
const INPUT_PIECE: usize = 48;

/// So many words, the same ones each time.
pub(crate) fn words(count: usize) -> String {
    let mut text = String::new();
    for (index, word) in WORDS.iter().cycle().take(count).enumerate() {
        let first = index % WORDS_IN_SENTENCE == 0;
        if index > 0 && index % WORDS_IN_PARAGRAPH == 0 {
            text.push_str(".\n\n");
        } else if index > 0 {
            text.push_str(if first { ". " } else { " " });
        }
        if first {
            text.extend(word.chars().take(1).flat_map(char::to_uppercase));
            text.extend(word.chars().skip(1));
        } else {
            text.push_str(word);
        }
    }
    if count > 0 {
        text.push('.');
    }
    text
}

/// In words, each with the space behind it; the space before the first one is the first one's.
pub(crate) fn by_words(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for part in text.split_inclusive(char::is_whitespace) {
        if !part.trim().is_empty() && !piece.trim().is_empty() {
            pieces.push(std::mem::take(&mut piece));
        }
        piece.push_str(part);
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// Into so many pieces of about the same length; fewer when there are fewer characters.
pub(crate) fn by_count(text: &str, count: usize) -> Vec<String> {
    let characters = text.chars().count();
    by_length(text, characters.div_ceil(count.max(1)))
}

/// The input of a call, which has few spaces.
pub(crate) fn by_input(text: &str) -> Vec<String> {
    by_length(text, INPUT_PIECE)
}

fn by_length(text: &str, length: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(length.max(1)).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::{by_count, by_input, by_words, words};

    #[test]
    fn no_way_of_cutting_loses_anything() {
        for text in ["", " ", "one", "one two\n\nthree ", "\u{e4}\u{1f9f5}x"] {
            assert_eq!(by_words(text).concat(), text);
            assert_eq!(by_input(text).concat(), text);
            for count in 0..9 {
                assert_eq!(by_count(text, count).concat(), text);
            }
        }
        assert_eq!(by_count("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(by_words(" one  two\n\nthree"), [" one  ", "two\n\n", "three"]);
    }

    #[test]
    fn generated_text_has_the_words_asked_for() {
        assert_eq!(words(0), "");
        assert_eq!(words(3), "A thread goes.");
        assert_eq!(words(2000).split_whitespace().count(), 2000);
    }
}
