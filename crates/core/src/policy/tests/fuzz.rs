//! Dangerous commands in random wrappings: none may be allowed. And texts made of scraps: none may break the reader.
//!
//! `TURNLOOM_SEED=n` replays one try, `TURNLOOM_TRIES=n` makes more of them.

use base64::Engine as _;

use super::corpus::{ABSOLUTE, DANGEROUS, OPAQUE, SAFE, commands};
use super::{bash, effect};
use crate::policy::{Effect, MODES, Policy};

const TRIES: u64 = 4_000;

/// Words that must be denied everywhere, however they are wrapped.
const DESTRUCTIVE_PROGRAMS: &[&[&str]] = &[
    &["rm", "-rf", "/"],
    &["rm", "-r", "-f", "/*"],
    &["rm", "-rf", "/etc"],
    &["rm", "-rf", "/home/user"],
    &["chmod", "-R", "777", "/"],
    &["dd", "if=/dev/zero", "of=/dev/sda"],
    &["mkfs.ext4", "/dev/sda1"],
    &["shutdown", "-h", "now"],
    &["reboot"],
    &["kill", "-9", "-1"],
    &["find", "/", "-delete"],
    &["mv", "/usr", "/tmp/x"],
];

/// Words that must never be allowed where people are asked.
const DANGERS: &[&[&str]] = &[
    &["git", "push", "--force"],
    &["git", "push", "origin", "+main"],
    &["git", "reset", "--hard"],
    &["git", "-c", "core.fsmonitor=./evil", "status"],
    &["rm", "-rf", "/tmp/x"],
    &["touch", "/tmp/x"],
    &["cp", "a", "../b"],
    &["curl", "https://evil.example"],
    &["evil", "--now"],
    &["npm", "publish"],
    &["sudo", "ls"],
    &["ssh", "host"],
    &["sed", "-i", "s/a/b/", "/etc/hosts"],
    &["tar", "xf", "a.tar", "--to-command=evil"],
    &["find", ".", "-exec", "evil", ";"],
    &["cat", "/home/user/.ssh/id_rsa"],
    &["docker", "run", "x"],
    &["python3", "-c", "1"],
    &["env", "LD_PRELOAD=./evil.so", "ls"],
    &["crontab", "evil"],
];

/// Small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn double(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        if "\\\"$`".contains(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted + "\""
}

fn ansi(text: &str, dice: &mut Dice) -> String {
    let mut quoted = String::from("$'");
    for byte in text.bytes() {
        match (byte, dice.below(3)) {
            (b'\n', _) => quoted.push_str("\\n"),
            (b'\'' | b'\\', _) => quoted.extend(['\\', char::from(byte)]),
            (byte, 0) => quoted.extend(format!("\\x{byte:02x}").chars()),
            (byte, 1) => quoted.extend(format!("\\{byte:03o}").chars()),
            (byte, _) => quoted.push(char::from(byte)),
        }
    }
    quoted + "'"
}

/// A text as one word.
fn quoted(text: &str, dice: &mut Dice) -> String {
    match dice.below(5) {
        0 => single(text),
        1 => double(text),
        2 => ansi(text, dice),
        _ => {
            // Half this way, half that way.
            let middle = text.char_indices().nth(dice.below(text.chars().count())).map_or(0, |(at, _)| at);
            let (left, right) = text.split_at(middle);
            format!("{}{}", single(left), double(right))
        }
    }
}

/// A word that means the same.
fn disguised(word: &str, dice: &mut Dice) -> String {
    // Patterns must stay patterns.
    if word.contains('*') {
        return word.to_owned();
    }
    match dice.below(11) {
        0 => single(word),
        1 => double(word),
        2 => ansi(word, dice),
        3 => word.chars().flat_map(|c| ['\\', c]).collect(),
        4 => {
            let (left, right) = word.split_at(dice.below(word.len()));
            format!("{left}\"\"{}", single(right))
        }
        5 => format!("$(echo {})", single(word)),
        6 => format!("`printf %s {}`", single(word)),
        7 => format!("${{UNSET_{}:-{word}}}", dice.below(9)),
        8 => {
            let (left, right) = word.split_at(dice.below(word.len()));
            format!("{left}$(printf %s {})", single(right))
        }
        _ if word == ";" => single(word),
        _ => word.to_owned(),
    }
}

fn command(words: &[&str], dice: &mut Dice) -> String {
    let mut before = String::new();
    let mut said: Vec<String> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let plain = if *word == ";" { "\\;".to_owned() } else { (*word).to_owned() };
        // A variable of its own for each word, so that none is in another's way.
        let word = if dice.below(5) == 0 && !word.contains('*') {
            before.extend([format!("V{index}="), single(word), "; ".to_owned()]);
            format!("${{V{index}}}")
        } else if dice.below(2) == 0 {
            disguised(word, dice)
        } else {
            plain
        };
        said.push(word);
    }
    if before.is_empty()
        && said.len() > 1
        && dice.below(12) == 0
        && words.iter().all(|word| !word.contains([',', '*', '{', ';']))
    {
        return format!("{{{}}}", words.join(","));
    }
    before + &said.join(" ")
}

/// A script that runs another one.
fn wrapped(script: &str, dice: &mut Dice) -> String {
    let code = quoted(script, dice);
    let packed = base64::engine::general_purpose::STANDARD.encode(script);
    let number = dice.below(1000);
    match dice.below(44) {
        0 => format!("sh -c {code}"),
        1 => format!("bash -lc {code}"),
        2 => format!("eval {code}"),
        3 => format!("env X=1 bash -c {code}"),
        4 => format!("sudo -u root sh -c {code}"),
        5 => format!("timeout 5 sh -c {code}"),
        6 => format!("nohup bash -c {code} &"),
        7 => format!("echo {} | sh", single(script)),
        8 => format!("printf '%s\\n' {code} | bash"),
        9 => format!("bash <<< {code}"),
        10 => format!("sh <<'EOF{number}'\n{script}\nEOF{number}"),
        11 => format!("cat <<'EOF{number}' | bash\n{script}\nEOF{number}"),
        12 => format!("bash <(echo {})", single(script)),
        13 => format!("echo $({script}\n)"),
        14 => format!("echo \"$({script}\n)\""),
        15 => format!("( {script}\n)"),
        16 => format!("{{ {script}\n}}"),
        17 => format!("if true; then\n{script}\nfi"),
        18 => format!("for i in 1 2; do\n{script}\ndone"),
        19 => format!("while true; do\n{script}\ndone"),
        20 => format!("f{number}() {{ {script}\n}}; f{number}"),
        21 => format!("S{number}={code}; eval \"$S{number}\""),
        22 => format!("S{number}={code}; bash -c \"$S{number}\""),
        23 => format!("true && {{ {script}\n}}"),
        24 => format!("ls; {script}"),
        25 => format!("ls | {{ {script}\n}}"),
        26 => format!("case x in x)\n{script}\n;; esac"),
        27 => format!("trap {code} EXIT"),
        28 => format!("find . -maxdepth 0 -exec sh -c {code} \\;"),
        29 => format!("echo {packed} | base64 -d | sh"),
        30 => format!("cat <<< \"$({script}\n)\""),
        31 => format!("diff <({script}\n) x"),
        32 => format!("echo ${{NOT_{number}:-$({script}\n)}}"),
        33 => format!("[[ $({script}\n) ]]"),
        34 => format!("x=$({script}\n)"),
        35 => format!("xargs -I@{number} sh -c {code} < list"),
        36 => format!("command env -i bash -c {code}"),
        37 => format!("exec setsid nice -n 5 sh -c {code}"),
        38 => format!("function g{number} {{ {script}\n}}; g{number} a b"),
        39 => format!("source <(printf '%s' {code})"),
        40 => format!("git -c alias.z={} z", quoted(&format!("!{script}"), dice)),
        41 => format!("busybox sh -c {code}"),
        42 if !script.contains(['`', '\\', '\n']) => format!("echo `{script}`"),
        43 => format!("ls || false && {{ {script}\n}}"),
        _ => format!("echo hello\n{script}\n"),
    }
}

fn attempt(seed: u64) -> (String, &'static [&'static str]) {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let (words, modes): (_, &[&str]) =
        if dice.below(2) == 0 { (*dice.of(DESTRUCTIVE_PROGRAMS), MODES) } else { (*dice.of(DANGERS), &MODES[..3]) };
    let mut script = command(words, &mut dice);
    for _ in 0..dice.below(6) {
        let more = wrapped(&script, &mut dice);
        if more.len() > 3_000 {
            break;
        }
        script = more;
    }
    (script, modes)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

fn seeds() -> std::ops::Range<u64> {
    match number("TURNLOOM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("TURNLOOM_TRIES").unwrap_or(TRIES),
    }
}

#[test]
fn no_wrapping_makes_danger_allowed() {
    let policy = Policy::shipped();
    let mut wrong = Vec::new();
    for seed in seeds() {
        let (script, modes) = attempt(seed);
        let mode = modes[usize::try_from(seed).unwrap() % modes.len()];
        let found = effect(&policy, mode, &script);
        // What is absolute is denied, also where nobody is asked.
        let expected = if modes.len() == MODES.len() { found == Effect::Deny } else { found != Effect::Allow };
        if !expected {
            wrong.push(format!("seed {seed}, {mode}: {}\n{script}", found.as_str()));
            if wrong.len() > 20 {
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} tries\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Scraps of the language, and of nothing.
const SCRAPS: &[&str] = &[
    "$(",
    ")",
    "`",
    "\"",
    "'",
    "${",
    "}",
    "{",
    "((",
    "))",
    "[[",
    "]]",
    "[",
    "]",
    "<<EOF\n",
    "EOF\n",
    "<<",
    "<",
    ">",
    ">>",
    "|",
    "&",
    "&&",
    "||",
    ";",
    ";;",
    "\n",
    "\\",
    "\\\n",
    "#",
    " ",
    "\t",
    "$",
    "$'",
    "$\"",
    "*",
    "?",
    "~",
    "=",
    "x=",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "case x in ",
    "esac",
    "function ",
    "() {",
    "rm -rf /",
    "ls",
    "eval ",
    "sh -c ",
    "é",
    "\u{0}",
    "\r",
    "\u{1f600}",
    "!",
    "time ",
    "coproc ",
    "<(",
    ">(",
    "<<<",
    "{a,b}",
    "{1..9}",
    "${x:-",
    "$((",
    "1",
];

#[test]
fn no_text_breaks_the_reader() {
    let policy = Policy::shipped();
    let mut dice = Dice(7);
    for _ in 0..seeds().end.min(200_000) {
        let text: String = (0..dice.below(24)).map(|_| *dice.of(SCRAPS)).collect();
        let decision = bash(&policy, "implement", &text);
        assert!(!decision.reason.is_empty());
    }
    // Labelled commands, cut anywhere.
    for command in [SAFE, DANGEROUS, ABSOLUTE, OPAQUE].into_iter().flat_map(commands) {
        let at = dice.below(command.len());
        if let Some(cut) = command.get(..at) {
            bash(&policy, "implement", cut);
        }
    }
}

#[test]
fn what_exceeds_the_bounds_is_denied() {
    let policy = Policy::shipped();
    let cases = [
        "$(".repeat(20_000),
        "(".repeat(20_000),
        "{ ".repeat(5_000),
        "`".repeat(9_999),
        "ls;".repeat(30_000),
        "ls;".repeat(12_000),
        "$((".repeat(5_000),
        "\"$(".repeat(3_000),
        "if ls; then ".repeat(3_000),
        format!("echo {}", "{a,b}".repeat(40)),
        "x".repeat(70_000),
        "eval ".repeat(3_000) + "ls",
        "echo ".to_owned() + &"$x".repeat(40_000),
        "cat <<A\n".repeat(2_000),
    ];
    for script in cases {
        let decision = bash(&policy, "bypass", &script);
        let start: String = script.chars().take(20).collect();
        assert!(decision.opaque || decision.effect == Effect::Deny, "{start} {:?}", decision.rule);
        assert_ne!(bash(&policy, "implement", &script).effect, Effect::Allow, "{start}");
    }
    // In full sight, and still too much.
    for script in ["ls;".repeat(30_000), "ls;".repeat(12_000)] {
        assert_eq!(effect(&policy, "bypass", &script), Effect::Deny);
    }
}
