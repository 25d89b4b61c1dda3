//! Masks secrets in summaries, which people see over shoulders and in screenshots. The log keeps the original text.

/// What stands for a secret.
const MASK: &str = "••••";

/// Words whose value is not for everybody.
const SECRET_WORDS: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "authorization",
    "private_key",
    "credential",
];

/// How keys of well-known services begin.
const KEY_STARTS: &[&str] = &[
    "sk-",
    "pk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "AIza",
    "npm_",
    "hf_",
    "eyJ",
];

/// A key is not shorter than this; a word that only begins like one is.
const MIN_KEY: usize = 16;

/// The text with what looks like a secret replaced.
pub fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    // Whether the next word is the value of a secret, as in `--password hunter2` or `Bearer abc`.
    let mut value_follows = false;
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let space = piece.get(word.len()..).unwrap_or_default();
        if value_follows && !word.is_empty() && !is_marker(word) {
            masked.push_str(MASK);
            value_follows = false;
        } else {
            masked.push_str(&mask_word(word));
            value_follows = is_marker(word) || (value_follows && word.is_empty());
        }
        masked.push_str(space);
    }
    masked
}

/// A word that announces a secret and does not hold it.
fn is_marker(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| c == '"' || c == '\'' || c == ',').trim_end_matches([':', '=']);
    let bare = bare.trim_matches(|c: char| c == '"' || c == '\'');
    let flag = bare.starts_with('-') && names_a_secret(bare);
    let announces = word.trim_end_matches(['"', '\'']).ends_with([':', '=']) && names_a_secret(bare);
    flag || announces || bare.eq_ignore_ascii_case("bearer")
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

fn mask_word(word: &str) -> String {
    // NAME=value, NAME:value, --flag=value
    if let Some((name, value)) = word.split_once(['=', ':'])
        && names_a_secret(name)
        && !value.trim_matches(['"', '\'', ',']).is_empty()
    {
        return format!("{name}{}{MASK}", word.get(name.len()..=name.len()).unwrap_or("="));
    }
    // scheme://user:password@host
    if let Some((scheme, rest)) = word.split_once("://")
        && let Some((user, host)) = rest.split_once('@')
        && let Some((user, _)) = user.split_once(':')
    {
        return format!("{scheme}://{user}:{MASK}@{host}");
    }
    let bare = word.trim_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
    if bare.len() >= MIN_KEY && KEY_STARTS.iter().any(|start| bare.starts_with(start)) {
        return word.replace(bare, MASK);
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn secrets_are_masked_and_the_rest_is_not() {
        for (text, masked) in [
            ("ls -la src", "ls -la src"),
            ("curl -H 'Authorization: Bearer abc.def.ghi' x", "curl -H 'Authorization: Bearer •••• x"),
            ("export API_KEY=12345 && run", "export API_KEY=•••• && run"),
            ("login --password hunter2 --user ann", "login --password •••• --user ann"),
            ("login --token=hunter2", "login --token=••••"),
            ("echo sk-abcdefghijklmnop", "echo ••••"),
            ("echo sk-8", "echo sk-8"),
            ("psql postgres://ann:hunter2@db/x", "psql postgres://ann:••••@db/x"),
            ("{\"token\": \"hunter2\"}", "{\"token\": ••••"),
            ("the tokenizer counts tokens", "the tokenizer counts tokens"),
            ("", ""),
        ] {
            assert_eq!(mask(text), masked, "{text}");
        }
    }
}
