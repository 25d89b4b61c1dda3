use futures_util::FutureExt as _;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::*;
use crate::process::{Error, Line};

async fn all_lines(output: &mut Lines) -> Vec<Line> {
    let mut lines = Vec::new();
    while output.next_batch(&mut lines).await > 0 {}
    lines
}

fn exit(code: i32) -> Exit {
    Exit { code: Some(code), ..Exit::default() }
}

fn killed() -> Exit {
    Exit { signal: Some(rustix::process::Signal::KILL.as_raw()), ..Exit::default() }
}

#[tokio::test]
async fn looks_like_a_program() {
    let tracker = TaskTracker::new();
    let mut agent = Agent::in_process(&tracker, 100, |mut seat| async move {
        let mut lines = BufReader::new(&mut seat.input).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            seat.output.write_all(format!("{line}!\n").as_bytes()).await.unwrap();
        }
        3
    });
    assert_eq!(agent.handle.pid(), None);
    agent.input.write_all(b"a\nb\n").await.unwrap();
    agent.input.close();
    assert_eq!(all_lines(&mut agent.output).await, ["a!", "b!"].map(|text| Line::Text(text.into())));
    assert_eq!(agent.handle.wait().await, exit(3));
}

#[tokio::test]
async fn is_ended_like_a_program() {
    let tracker = TaskTracker::new();
    let polite = Agent::in_process(&tracker, 100, |seat| async move {
        seat.terminated.cancelled().await;
        0
    });
    polite.handle.terminate();
    assert_eq!(polite.handle.wait().await, exit(0));

    let mut rude = Agent::in_process(&tracker, 100, |_seat| std::future::pending());
    rude.handle.terminate();
    assert!(rude.handle.wait().now_or_never().is_none());
    rude.handle.kill();
    assert_eq!(rude.handle.wait().await, killed());
    assert!(all_lines(&mut rude.output).await.is_empty());

    drop(Agent::in_process(&tracker, 100, |_seat| std::future::pending()));
    tracker.close();
    tracker.wait().await;
}

#[tokio::test]
async fn what_waits_for_an_agent_that_does_not_read_is_bounded() {
    let tracker = TaskTracker::new();
    let mut agent = Agent::in_process(&tracker, 100, |seat| async move {
        let _unread = seat;
        std::future::pending().await
    });
    let message = vec![b'x'; 20 * 1024 * 1024];
    agent.input.queue(&message).unwrap();
    assert!(agent.input.flush().now_or_never().is_none());
    let full = agent.input.queue(&message).unwrap_err();
    assert!(matches!(full, Error::InputFull { waiting } if waiting > 0 && waiting < message.len()), "{full}");
}
