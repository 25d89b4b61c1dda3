//! Asks that end by themselves: after how long, and how. What cannot be judged is never allowed by the passing of time.

use serde::Serialize;

use super::rules::Effect;

/// A rule that waits longer should not wait at all.
const MAX_SECONDS: i64 = 30 * 24 * 3600;

const UNITS: [(char, i64); 4] = [('d', 24 * 3600), ('h', 3600), ('m', 60), ('s', 1)];

/// When an ask ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Expiry {
    pub seconds: i64,
    /// Whether the call runs then.
    pub allows: bool,
}

impl Expiry {
    /// Reads `expires` and `default` of a rule.
    pub(super) fn read(effect: Effect, expires: Option<&str>, default: Option<Effect>) -> Result<Option<Self>, String> {
        let allows = match default {
            Some(Effect::Ask) => return Err("`default` is `deny` or `allow`".to_owned()),
            Some(Effect::Allow) => true,
            Some(Effect::Deny) | None => false,
        };
        match (expires, default) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err("`default` goes with `expires`".to_owned()),
            (Some(_), _) if effect != Effect::Ask => Err("`expires` goes with `effect = \"ask\"`".to_owned()),
            (Some(text), _) => Ok(Some(Self { seconds: seconds(text)?, allows })),
        }
    }

    /// As a rule has it: the largest unit that fits.
    pub(super) fn written(self) -> String {
        let unit = UNITS.iter().find(|(_, seconds)| self.seconds % seconds == 0);
        let (name, seconds) = unit.copied().unwrap_or(('s', 1));
        format!("{}{name}", self.seconds / seconds)
    }
}

fn seconds(text: &str) -> Result<i64, String> {
    let wrong = || format!("`expires` is a number with s, m, h or d behind it, up to 30d, not {text:?}");
    let unit = UNITS.iter().find(|(name, _)| text.ends_with(*name)).ok_or_else(wrong)?;
    let number = text.strip_suffix(unit.0).and_then(|number| number.parse::<u32>().ok()).ok_or_else(wrong)?;
    let seconds = i64::from(number) * unit.1;
    (1..=MAX_SECONDS).contains(&seconds).then_some(seconds).ok_or_else(wrong)
}

/// When a call that asks for several reasons ends by itself. Denied when the first of them is denied; allowed when the last of them is allowed, and not
/// at all where one of them waits for a person however long it takes.
pub(super) fn combined(asking: &[Option<Expiry>], opaque: bool) -> Option<Expiry> {
    let ending = || asking.iter().flatten();
    let denied = ending().filter(|expiry| !expiry.allows || opaque).map(|expiry| expiry.seconds).min();
    if let Some(seconds) = denied {
        return Some(Expiry { seconds, allows: false });
    }
    let all = !asking.is_empty() && asking.iter().all(Option::is_some);
    let seconds = ending().map(|expiry| expiry.seconds).max().filter(|_| all)?;
    Some(Expiry { seconds, allows: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(expires: Option<&str>, default: Option<Effect>) -> Result<Option<Expiry>, String> {
        Expiry::read(Effect::Ask, expires, default)
    }

    #[test]
    fn a_rule_says_when_and_how() {
        let of = |text| read(Some(text), None).map(|expiry| expiry.map(|expiry| (expiry.seconds, expiry.written())));
        assert_eq!(of("10m"), Ok(Some((600, "10m".to_owned()))));
        assert_eq!(of("7200s"), Ok(Some((7200, "2h".to_owned()))));
        assert_eq!(of("30d"), Ok(Some((30 * 86_400, "30d".to_owned()))));
        for wrong in ["", "10", "m", "-1m", "0s", "31d", "1w", "99999999999s", "1.5h"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        assert_eq!(read(None, None), Ok(None));
        assert!(read(None, Some(Effect::Deny)).is_err(), "never is not when");
        assert!(read(Some("1m"), Some(Effect::Ask)).is_err());
        assert!(Expiry::read(Effect::Deny, Some("1m"), None).is_err());
        assert!(read(Some("1m"), Some(Effect::Allow)).unwrap().unwrap().allows);
    }

    #[test]
    fn time_allows_only_what_every_rule_lets_it_allow() {
        let (deny, allow) =
            (|seconds| Some(Expiry { seconds, allows: false }), |seconds| Some(Expiry { seconds, allows: true }));
        assert_eq!(combined(&[], false), None);
        assert_eq!(combined(&[None], false), None);
        assert_eq!(combined(&[allow(5)], false), allow(5));
        assert_eq!(combined(&[allow(5), allow(9)], false), allow(9));
        assert_eq!(combined(&[allow(5), None], false), None);
        assert_eq!(combined(&[deny(5), None], false), deny(5));
        assert_eq!(combined(&[deny(7), allow(5), deny(6)], false), deny(6));
        assert_eq!(combined(&[allow(5)], true), deny(5), "what is opaque is not allowed by waiting");
    }
}
