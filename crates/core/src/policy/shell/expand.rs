//! Expands the pieces of a word into the words that a shell makes of it: braces, variables, splitting.

use super::lex::Piece;
use super::word::{Doubt, Word};

/// Words that one word may become. What becomes more is not looked at one by one.
const MAX_WORDS: usize = 64;

/// More words than anybody looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMany;

/// All words that a word becomes.
pub(super) fn fields(pieces: Vec<Piece>) -> Result<Vec<Word>, TooMany> {
    let mut words = Vec::new();
    for pieces in braces(pieces)? {
        let variants = variants(pieces)?;
        let one_of = variants.len() > 1;
        for variant in variants {
            words.extend(split(variant).into_iter().map(|word| Word { one_of: word.one_of | one_of, ..word }));
        }
        if words.len() > MAX_WORDS {
            return Err(TooMany);
        }
    }
    Ok(words)
}

/// One word that is not split: the right side of an assignment, a here-document. Each value that it may have.
pub(super) fn values(pieces: Vec<Piece>) -> Result<Vec<Word>, TooMany> {
    let quoted = |piece| match piece {
        Piece::Value { words, .. } => Piece::Value { words, quoted: true },
        Piece::Text { text, .. } => Piece::Text { text, quoted: true },
        Piece::Glob(c) | Piece::Brace(c) => Piece::Text { text: c.to_string(), quoted: true },
    };
    let variants = variants(pieces.into_iter().map(quoted).collect())?;
    Ok(variants
        .into_iter()
        .map(|variant| split(variant).into_iter().next().unwrap_or_default())
        .map(|word| Word { quoted: false, ..word })
        .collect())
}

/// One piece list for each choice of values.
fn variants(pieces: Vec<Piece>) -> Result<Vec<Vec<Piece>>, TooMany> {
    let mut variants: Vec<Vec<Piece>> = vec![Vec::new()];
    for piece in pieces {
        match piece {
            Piece::Value { words, quoted } if words.len() != 1 => {
                let mut more = Vec::new();
                for variant in &variants {
                    for word in &words {
                        let mut variant = variant.clone();
                        variant.push(Piece::Value { words: vec![word.clone()], quoted });
                        more.push(variant);
                    }
                }
                // A list that is empty leaves nothing.
                if !words.is_empty() {
                    variants = more;
                }
                if variants.len() > MAX_WORDS {
                    return Err(TooMany);
                }
            }
            piece => variants.iter_mut().for_each(|variant| variant.push(piece.clone())),
        }
    }
    Ok(variants)
}

/// Brace expansion comes before everything else.
fn braces(pieces: Vec<Piece>) -> Result<Vec<Vec<Piece>>, TooMany> {
    let mut done = Vec::new();
    let mut waiting = vec![pieces];
    while let Some(mut pieces) = waiting.pop() {
        match alternatives(&pieces) {
            Some((open, close, choices)) => {
                let tail = pieces.split_off((close + 1).min(pieces.len()));
                pieces.truncate(open);
                for choice in choices.into_iter().rev() {
                    waiting.push([pieces.clone(), choice, tail.clone()].concat());
                }
            }
            None => done.push(pieces),
        }
        if done.len() + waiting.len() > MAX_WORDS {
            return Err(TooMany);
        }
    }
    Ok(done)
}

/// The first `{a,b}` or `{1..3}`: where it is, and what it stands for.
fn alternatives(pieces: &[Piece]) -> Option<(usize, usize, Vec<Vec<Piece>>)> {
    let opens = pieces.iter().enumerate().filter(|(_, piece)| matches!(piece, Piece::Brace('{')));
    for (open, _) in opens {
        let mut depth = 0_usize;
        let mut choices: Vec<Vec<Piece>> = vec![Vec::new()];
        for (at, piece) in pieces.iter().enumerate().skip(open) {
            match piece {
                Piece::Brace('{') => {
                    depth += 1;
                    if depth == 1 {
                        continue;
                    }
                }
                Piece::Brace('}') => {
                    depth -= 1;
                    if depth == 0 {
                        let range = match choices.as_slice() {
                            [one] => range(one),
                            _ => None,
                        };
                        if let Some(range) = range {
                            return Some((open, at, range));
                        }
                        if choices.len() > 1 {
                            return Some((open, at, choices));
                        }
                        break;
                    }
                }
                Piece::Brace(',') if depth == 1 => {
                    choices.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            if let Some(last) = choices.last_mut() {
                last.push(piece.clone());
            }
        }
    }
    None
}

/// `1..9`, `a..e`.
fn range(pieces: &[Piece]) -> Option<Vec<Vec<Piece>>> {
    let [Piece::Text { text, quoted: false }] = pieces else { return None };
    let mut ends = text.split("..");
    let (from, to, step) = (ends.next()?, ends.next()?, ends.next());
    let step: i64 = step.map_or(Some(1), |step| step.parse().ok())?;
    let step = step.unsigned_abs().max(1);
    let letter = |text: &str| match text.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(i64::from(*byte)),
        _ => None,
    };
    let letters = letter(from).zip(letter(to));
    let numbers = from.parse::<i64>().ok().zip(to.parse::<i64>().ok());
    let (low, high) = numbers.or(letters)?;
    let count = usize::try_from(low.abs_diff(high) / step).ok()?;
    // More than that fails as too many later; one more says so.
    let steps = (0..=count.min(MAX_WORDS)).map(|index| {
        let by = i64::try_from(u64::try_from(index).unwrap_or(0).saturating_mul(step)).unwrap_or(0);
        if low <= high { low.saturating_add(by) } else { low.saturating_sub(by) }
    });
    let text = |value: i64| match numbers {
        Some(_) => value.to_string(),
        None => u8::try_from(value).map_or_else(|_| String::new(), |byte| char::from(byte).to_string()),
    };
    Some(steps.map(|value| vec![Piece::Text { text: text(value), quoted: false }]).collect())
}

/// Puts pieces together, and splits what was not quoted where the shell does.
fn split(pieces: Vec<Piece>) -> Vec<Word> {
    let mut words = Vec::new();
    let mut current: Option<Word> = None;
    for piece in pieces {
        match piece {
            Piece::Text { text, quoted } => {
                let word = current.get_or_insert_default();
                word.text.push_str(&text);
                word.quoted |= quoted;
            }
            Piece::Glob(c) => {
                let word = current.get_or_insert_default();
                word.text.push(c);
                word.glob = true;
            }
            Piece::Brace(c) => current.get_or_insert_default().text.push(c),
            Piece::Value { words: values, quoted: true } => {
                let word = current.get_or_insert_default();
                for value in values {
                    if value.pipe.is_some() {
                        word.pipe.clone_from(&value.pipe);
                    }
                    word.absorb(&value, false);
                }
            }
            Piece::Value { words: values, quoted: false } => {
                for value in values {
                    append_split(&value, &mut current, &mut words);
                }
            }
        }
    }
    words.extend(current);
    words
}

fn append_split(value: &Word, current: &mut Option<Word>, words: &mut Vec<Word>) {
    if value.text.starts_with(char::is_whitespace) {
        words.extend(current.take());
    }
    let mut first = true;
    for text in value.text.split_whitespace() {
        if !first {
            words.extend(current.take());
        }
        first = false;
        let glob = text.contains(['*', '?', '[']);
        let word = current.get_or_insert_default();
        word.absorb(&Word { text: text.to_owned(), ..value.clone() }, true);
        word.glob |= glob;
    }
    if first && value.doubt > Doubt::None {
        current.get_or_insert_default().absorb(value, true);
    }
    if value.text.ends_with(char::is_whitespace) && !first {
        words.extend(current.take());
    }
}
