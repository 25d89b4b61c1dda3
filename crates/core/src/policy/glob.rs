//! Wildcards: `*` and `?` within a name, `**` across names, `[abc]` one character.

/// Whether a text is what a pattern says. For paths: `*` stops at `/`, `**` does not.
pub(crate) fn path_matches(pattern: &str, path: &str) -> bool {
    matches(pattern.as_bytes(), path.as_bytes(), Slash::Stops, &mut BUDGET.clone())
}

/// Whether a text is what a pattern says. `*` is anything.
pub(crate) fn text_matches(pattern: &str, text: &str) -> bool {
    matches(pattern.as_bytes(), text.as_bytes(), Slash::IsNothing, &mut BUDGET.clone())
}

/// How many steps one comparison may take. Beyond that the pattern counts as matching, which is the safe side.
const BUDGET: u32 = 20_000;

#[derive(Clone, Copy, PartialEq)]
enum Slash {
    Stops,
    IsNothing,
}

fn matches(pattern: &[u8], text: &[u8], slash: Slash, budget: &mut u32) -> bool {
    *budget = budget.saturating_sub(1);
    if *budget == 0 {
        return true;
    }
    let Some((first, rest)) = pattern.split_first() else { return text.is_empty() };
    match first {
        b'*' if slash == Slash::Stops && rest.first() == Some(&b'*') => {
            let after = rest.get(1..).unwrap_or_default();
            // `**/x` is also `x`.
            let nothing = after.strip_prefix(b"/").is_some_and(|after| matches(after, text, slash, budget));
            nothing || tails(text, |_| true).any(|tail| matches(after, tail, slash, budget))
        }
        b'*' => {
            let stops = |byte: u8| slash == Slash::IsNothing || byte != b'/';
            tails(text, stops).any(|tail| matches(rest, tail, slash, budget))
        }
        b'?' => match text.split_first() {
            Some((byte, tail)) => (slash == Slash::IsNothing || *byte != b'/') && matches(rest, tail, slash, budget),
            None => false,
        },
        b'[' => match set(rest) {
            Some((members, negated, after)) => text
                .split_first()
                .is_some_and(|(byte, tail)| holds(members, *byte) != negated && matches(after, tail, slash, budget)),
            None => literal(b'[', rest, text, slash, budget),
        },
        byte => literal(*byte, rest, text, slash, budget),
    }
}

fn literal(byte: u8, rest: &[u8], text: &[u8], slash: Slash, budget: &mut u32) -> bool {
    text.split_first().is_some_and(|(first, tail)| *first == byte && matches(rest, tail, slash, budget))
}

/// The text, and what is left of it after each byte that may be passed over.
fn tails(text: &[u8], passes: impl Fn(u8) -> bool) -> impl Iterator<Item = &[u8]> {
    let reach = text.iter().take_while(|byte| passes(**byte)).count();
    (0..=reach).filter_map(move |from| text.get(from..))
}

/// The members of `[...]`, whether they are the ones left out, and what follows.
fn set(pattern: &[u8]) -> Option<(&[u8], bool, &[u8])> {
    let negated = matches!(pattern.first(), Some(b'!' | b'^'));
    let members = pattern.get(usize::from(negated)..)?;
    // A bracket that comes first is a member.
    let end = members.iter().skip(1).position(|byte| *byte == b']')? + 1;
    Some((members.get(..end)?, negated, members.get(end + 1..)?))
}

fn holds(members: &[u8], byte: u8) -> bool {
    members.contains(&byte)
        || members.windows(3).any(|range| matches!(range, [low, b'-', high] if (*low..=*high).contains(&byte)))
}

#[cfg(test)]
mod tests {
    use super::{path_matches, text_matches};

    #[test]
    fn patterns() {
        for (pattern, path, expected) in [
            ("/etc/*", "/etc/passwd", true),
            ("/etc/*", "/etc/ssh/key", false),
            ("/etc/**", "/etc/ssh/key", true),
            ("**/.env", "/a/b/.env", true),
            ("**/.env", ".env", true),
            ("**/.env*", "/a/.env.local", true),
            ("/e?c", "/etc", true),
            ("/[a-f]tc", "/etc", true),
            ("/[!a-f]tc", "/etc", false),
            ("/[", "/[", true),
            ("", "", true),
            ("/", "/", true),
        ] {
            assert_eq!(path_matches(pattern, path), expected, "{pattern} {path}");
        }
        assert!(text_matches("git push *", "git push origin a/b"));
        assert!(!text_matches("git push *", "git pull"));
    }

    #[test]
    fn a_pattern_made_to_be_slow_is_not() {
        assert!(text_matches(&"*a".repeat(60), &"a".repeat(400).replace("aaaa", "aaab")));
    }
}
