//! Children whose parent the server does not say at once.

use serde_json::{Value, json};

use super::Slow;

/// What a server says of a thread whose file it has not written yet.
fn refuse_until_it_waits(slow: &mut Slow, thread: &str) {
    while !slow.router.has_retries() {
        let read = slow.asked("thread/read", thread).unwrap();
        slow.refuses(&read);
    }
}

#[test]
fn a_child_is_not_lost_while_its_file_is_being_written() {
    let mut slow = Slow::default();
    let client = slow.client();
    slow.thread(client, "t");
    let started = json!({ "method": "turn/started", "params": { "threadId": "child", "turn": { "id": "u" } } });
    slow.server_says(&started);
    for _ in 0..100 {
        refuse_until_it_waits(&mut slow, "child");
        slow.router.retry_refused(&mut slow.out);
        assert!(!slow.router.has_retries(), "it is asked");
    }
    // Somebody else who comes changes nothing.
    refuse_until_it_waits(&mut slow, "child");
    slow.thread(client, "another");
    slow.router.retry_refused(&mut slow.out);
    let read = slow.asked("thread/read", "child").unwrap();
    slow.answers(&read, &json!({ "thread": { "id": "child", "parentThreadId": "t" } }));
    assert_eq!(slow.heard(client), [started]);
}

#[test]
fn a_child_that_its_parent_tells_of_is_known_although_the_server_never_says_whose_it_is() {
    let told = |child: &str| {
        json!({ "method": "item/completed", "params": { "threadId": "t", "turnId": "u0", "item":
        { "type": "collabAgentToolCall", "id": "c", "tool": "spawnAgent", "receiverThreadIds": [child] } } })
    };
    let started =
        |child: &str| json!({ "method": "turn/started", "params": { "threadId": child, "turn": { "id": "u" } } });
    let completed =
        |child: &str| json!({ "method": "turn/completed", "params": { "threadId": child, "turn": { "id": "u" } } });
    let mut slow = Slow::default();
    let client = slow.client();
    slow.thread(client, "t");
    let refuse_for_good = |slow: &mut Slow, child: &str| {
        let mut last = Value::Null;
        while let Some(read) = slow.asked("thread/read", child).filter(|read| *read != last) {
            slow.refuses(&read);
            slow.router.retry_refused(&mut slow.out);
            last = read;
        }
    };
    // It is told of while nobody knows whose it is.
    slow.server_says(&started("early"));
    slow.server_says(&told("early"));
    refuse_for_good(&mut slow, "early");
    slow.server_says(&completed("early"));
    assert_eq!(slow.heard(client), [told("early"), started("early"), completed("early")]);
    // It is told of before it says anything.
    slow.server_says(&told("next"));
    slow.server_says(&started("next"));
    refuse_for_good(&mut slow, "next");
    assert_eq!(slow.heard(client), [told("next"), started("next")]);
    // It was given up already: what it says from here on is heard.
    slow.server_says(&started("late"));
    refuse_for_good(&mut slow, "late");
    slow.server_says(&told("late"));
    slow.server_says(&completed("late"));
    assert_eq!(slow.heard(client), [told("late"), completed("late")]);
    // Nobody takes another's thread by naming it.
    let other = slow.client();
    slow.thread(other, "theirs");
    slow.server_says(&told("theirs"));
    slow.server_says(&started("theirs"));
    assert_eq!(slow.heard(other), [started("theirs")]);
}
