use proptest::prelude::*;
use tokio::io::AsyncWriteExt as _;

use super::*;

/// The definition, for comparison: all bytes at once, no buffer.
fn expected(input: &[u8], limit: usize) -> Vec<Line> {
    let mut parts: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    let last = parts.pop().filter(|last| !last.is_empty());
    let complete = parts.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    complete.chain(last).map(|line| whole(line, limit)).collect()
}

fn whole(line: &[u8], limit: usize) -> Line {
    if line.len() <= limit {
        return Line::Text(Bytes::copy_from_slice(line));
    }
    let sha256 = turnloom_core::blob::BlobId::of(line).to_string();
    let head = Bytes::copy_from_slice(&line[..line.len().min(HEAD_BYTES)]);
    Line::TooLong { size: line.len() as u64, sha256, head }
}

fn framed<'a>(reads: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Vec<Line> {
    let mut framer = Framer::new(limit);
    let mut lines = Vec::new();
    for read in reads {
        framer.space().extend_from_slice(read);
        lines.extend(std::iter::from_fn(|| framer.next_line()));
    }
    lines.extend(framer.last_line());
    assert_eq!(framer.last_line(), None);
    lines
}

fn text(line: &str) -> Line {
    Line::Text(Bytes::copy_from_slice(line.as_bytes()))
}

fn check(input: &str, lines: &[&str]) {
    assert_eq!(framed([input.as_bytes()], 100), lines.iter().map(|line| text(line)).collect::<Vec<_>>(), "{input:?}");
}

#[test]
fn ends_of_lines() {
    check("", &[]);
    check("\n", &[""]);
    check("a", &["a"]);
    check("a\n", &["a"]);
    check("a\nb", &["a", "b"]);
    check("a\r\nb\r\n", &["a", "b"]);
    check("a\rb\n", &["a\rb"]);
    check("a\r\r\n", &["a\r"]);
    check("a\r", &["a\r"]);
    check("\r\n\n", &["", ""]);
}

#[test]
fn the_limit_counts_the_line_without_its_end() {
    for input in ["12345\n", "12345\r\n", "12345"] {
        assert_eq!(framed([input.as_bytes()], 5), [text("12345")], "{input:?}");
    }
    for input in ["123456\n", "123456\r\n", "123456"] {
        assert_eq!(framed([input.as_bytes()], 5), [whole(b"123456", 5)], "{input:?}");
    }
    assert_eq!(framed([b"123456\nok\n".as_slice()], 5), [whole(b"123456", 5), text("ok")]);
}

#[test]
fn a_long_line_is_not_kept() {
    const READ: &[u8] = &[b'x'; MAX_READ];
    let limit = 256 * 1024;
    let mut framer = Framer::new(limit);
    for _ in 0..100 * 1024 * 1024 / READ.len() {
        framer.space().extend_from_slice(READ);
        assert_eq!(framer.next_line(), None);
        assert!(framer.buffer.capacity() <= 2 * (limit + READ.len()), "{}", framer.buffer.capacity());
        assert!(framer.long.as_ref().is_none_or(|long| long.head.len() == HEAD_BYTES));
    }
    framer.space().extend_from_slice(b"\nnext\n");
    assert!(matches!(framer.next_line(), Some(Line::TooLong { size: 104_857_600, .. })));
    assert_eq!(framer.next_line(), Some(text("next")));
}

/// Bytes that are mostly ends of lines and their halves, so that every case comes up.
fn input() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![2 => Just(b'\n'), 2 => Just(b'\r'), 5 => any::<u8>()], 0..300)
}

proptest! {
    #[test]
    fn any_split_gives_the_same_lines(
        input in input(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        limit in 0..20_usize,
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        let reads = cuts.windows(2).map(|cut| &input[cut[0]..cut[1]]);
        prop_assert_eq!(framed(reads, limit), expected(&input, limit));
    }
}

fn pipe(limit: usize) -> (tokio::io::DuplexStream, Lines, CancellationToken) {
    let (writer, reader) = tokio::io::duplex(16 * 1024 * 1024);
    let gone = CancellationToken::new();
    (writer, Lines::new(reader, limit, gone.clone()), gone)
}

#[tokio::test]
async fn a_batch_is_all_that_is_there() {
    let (mut writer, mut lines, _gone) = pipe(100);
    let mut batch = Vec::new();
    writer.write_all(b"a\nb\nc").await.unwrap();
    assert_eq!(lines.next_batch(&mut batch).await, 2);
    writer.write_all(b"d\n").await.unwrap();
    assert_eq!(lines.next_batch(&mut batch).await, 1);
    writer.write_all(b"e").await.unwrap();
    drop(writer);
    assert_eq!(lines.next_batch(&mut batch).await, 1);
    assert_eq!(lines.next_batch(&mut batch).await, 0);
    assert_eq!(batch, ["a", "b", "cd", "e"].map(text));
}

#[tokio::test]
async fn a_batch_has_bounds() {
    let (mut writer, mut lines, _gone) = pipe(BATCH_BYTES);
    writer.write_all(&b"x\n".repeat(BATCH_LINES + 1)).await.unwrap();
    writer.write_all(format!("{}\n", "y".repeat(BATCH_BYTES)).repeat(2).as_bytes()).await.unwrap();
    drop(writer);
    let mut sizes = Vec::new();
    loop {
        match lines.next_batch(&mut Vec::new()).await {
            0 => break,
            size => sizes.push(size),
        }
    }
    assert_eq!(sizes, [BATCH_LINES, 2, 1]);
}

#[tokio::test]
async fn cancelled_reads_lose_nothing() {
    let (mut writer, mut lines, _gone) = pipe(100);
    let mut batch = Vec::new();
    for part in ["a", "b", "\nc", "d\r", "\n"] {
        writer.write_all(part.as_bytes()).await.unwrap();
        let _cancelled = lines.next_batch(&mut batch).now_or_never();
    }
    assert_eq!(batch, ["ab", "cd"].map(text));
}

#[tokio::test]
async fn ends_when_the_agent_is_gone_although_somebody_holds_the_pipe() {
    let (mut writer, mut lines, gone) = pipe(100);
    let mut batch = Vec::new();
    writer.write_all(b"last\nwords").await.unwrap();
    gone.cancel();
    while lines.next_batch(&mut batch).await > 0 {}
    assert_eq!(batch, ["last", "words"].map(text));
}
