//! Predicts the output of simple programs, to guess what a pipe into a shell would run. The guess can only lead to a denial.

use base64::Engine as _;

use super::word::Word;
use super::{Input, Reader};

/// Text that is passed on from command to command.
const MAX_TEXT_BYTES: usize = 16 * 1024;

impl Reader<'_> {
    pub(super) fn output(&mut self, name: &str, words: &[Word], input: &Input) -> Option<String> {
        let plain: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let has = |options: &[&str]| plain.iter().any(|word| options.contains(word));
        let operand = plain.iter().any(|word| !word.starts_with('-'));
        let given = || input.text.clone();
        let said = match name {
            "echo" => Some(echo(&plain)),
            "cat" | "tee" | "tail" | "head" | "sort" | "uniq" if !operand || name == "tee" => given(),
            "base64" if has(&["-d", "-D", "--decode"]) => decode(&given()?),
            "base64" => Some(base64::engine::general_purpose::STANDARD.encode(given()?)),
            "rev" => Some(given()?.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect()),
            "xxd" if has(&["-r", "-p", "-rp", "-pr"]) => hex(&given()?),
            "tr" => translate(&plain, &given()?),
            "true" | ":" => Some(String::new()),
            "basename" => Some(plain.first()?.rsplit('/').next()?.to_owned()),
            "seq" | "yes" => plain.last().map(|text| format!("{text}\n")),
            "which" => plain.first().map(|program| format!("/usr/bin/{program}\n")),
            "pwd" => self.lookup("PWD").first().map(|word| word.text.clone()),
            _ => None,
        };
        said.filter(|said| said.len() <= MAX_TEXT_BYTES)
    }
}

fn echo(words: &[&str]) -> String {
    let is_option = |word: &&&str| {
        word.len() > 1 && word.starts_with('-') && word.bytes().skip(1).all(|byte| b"neE".contains(&byte))
    };
    let options = words.iter().take_while(is_option).count();
    let escapes = words.iter().take(options).any(|word| word.contains('e'));
    let text = words.get(options..).unwrap_or_default().join(" ");
    // What a line break hides is better seen once too often.
    let text = if escapes { unescape(&text) } else { text };
    format!("{text}\n")
}

/// `printf` with its format, again and again until no words are left.
pub(super) fn printf(words: &[Word]) -> Option<String> {
    let (format, values) = words.split_first()?;
    let format = unescape(&format.text);
    let mut values = values.iter().map(|word| word.text.as_str()).peekable();
    let mut said = String::new();
    for _ in 0..64 {
        let mut rest = format.chars();
        let mut took = false;
        while let Some(c) = rest.next() {
            if c != '%' {
                said.push(c);
                continue;
            }
            let kind = rest.by_ref().find(|c| c.is_ascii_alphabetic() || *c == '%');
            match kind {
                Some('%') => said.push('%'),
                Some('b') => said.push_str(&unescape(values.next().unwrap_or_default())),
                Some('c') => said.extend(values.next().unwrap_or_default().chars().next()),
                _ => said.push_str(values.next().unwrap_or_default()),
            }
            took = true;
        }
        if !took || values.peek().is_none() || said.len() > MAX_TEXT_BYTES {
            break;
        }
    }
    Some(said)
}

fn unescape(text: &str) -> String {
    let mut bytes: Vec<u8> = Vec::new();
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let code = rest.next();
        let mut digits = |most: usize, radix: u32, first: u32| {
            let mut value = first;
            for _ in 0..most {
                let Some(digit) = rest.peek().and_then(|byte| char::from(*byte).to_digit(radix)) else { break };
                value = value.saturating_mul(radix).saturating_add(digit);
                rest.next();
            }
            u8::try_from(value & 0xff).unwrap_or(0)
        };
        match code {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'\\') | None => bytes.push(b'\\'),
            Some(b'"') => bytes.push(b'"'),
            Some(b'x') => bytes.push(digits(2, 16, 0)),
            Some(code @ b'0'..=b'7') => bytes.push(digits(if code == b'0' { 3 } else { 2 }, 8, u32::from(code - b'0'))),
            Some(other) => bytes.extend([b'\\', other]),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn decode(text: &str) -> Option<String> {
    let packed: String = text.split_whitespace().collect();
    let packed = packed.trim_end_matches('=');
    let bytes = base64::engine::general_purpose::STANDARD_NO_PAD.decode(packed).ok()?;
    String::from_utf8(bytes).ok()
}

fn hex(text: &str) -> Option<String> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    let byte = |pair: &[u32]| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    };
    String::from_utf8(digits.chunks(2).filter_map(byte).collect()).ok()
}

/// `tr a-z b-za`, `tr -d x`.
fn translate(words: &[&str], text: &str) -> Option<String> {
    let set = |set: &str| {
        let mut letters: Vec<char> = Vec::new();
        let chars: Vec<char> = unescape(set).chars().collect();
        let mut rest = chars.as_slice();
        while let Some((first, after)) = rest.split_first() {
            match after {
                ['-', last, more @ ..] if first <= last && letters.len() < 512 => {
                    letters.extend(*first..=*last);
                    rest = more;
                }
                _ => {
                    letters.push(*first);
                    rest = after;
                }
            }
        }
        letters
    };
    match words {
        ["-d", from] => {
            let from = set(from);
            Some(text.chars().filter(|c| !from.contains(c)).collect())
        }
        [from, to] if !from.starts_with('-') => {
            let (from, to) = (set(from), set(to));
            let change = |c: char| match from.iter().position(|other| *other == c) {
                Some(at) => to.get(at).or(to.last()).copied().unwrap_or(c),
                None => c,
            };
            Some(text.chars().map(change).collect())
        }
        _ => None,
    }
}
