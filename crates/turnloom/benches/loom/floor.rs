//! What the machine can do with the same bytes and none of our code.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::{mpsc, oneshot};

use super::loom::{EVENT_BYTES, directory, runtime};

/// Writes batches to the end of a growing file, each synced before the next.
pub(crate) fn synced_appends(batches: usize, batch: usize) -> Duration {
    let directory = directory();
    let mut file = File::create(directory.path().join("floor")).expect("a file");
    let bytes = vec![b'x'; batch * EVENT_BYTES];
    let started = Instant::now();
    for _ in 0..batches {
        file.write_all(&bytes).expect("a write");
        file.sync_data().expect("a sync");
    }
    started.elapsed()
}

/// Tasks that each wait for their own append; one thread writes what has gathered and syncs it once.
pub(crate) fn grouped_appends(tasks: usize, batches: usize, batch: usize) -> Duration {
    let directory = directory();
    let mut file = File::create(directory.path().join("floor")).expect("a file");
    let (sender, mut receiver) = mpsc::channel::<(Vec<u8>, oneshot::Sender<()>)>(1024);
    let writer = std::thread::spawn(move || {
        let (mut group, mut bytes) = (Vec::new(), Vec::new());
        while receiver.blocking_recv_many(&mut group, 1024) > 0 {
            bytes.clear();
            for (body, _) in &group {
                bytes.extend_from_slice(body);
            }
            file.write_all(&bytes).expect("a write");
            file.sync_data().expect("a sync");
            group.drain(..).for_each(|(_, answer)| answer.send(()).expect("somebody waits"));
        }
    });
    let runtime = runtime();
    let started = Instant::now();
    let running: Vec<_> = (0..tasks)
        .map(|_| {
            let sender = sender.clone();
            runtime.spawn(async move {
                for _ in 0..batches {
                    let (answer, wait) = oneshot::channel();
                    sender.send((vec![b'x'; batch * EVENT_BYTES], answer)).await.expect("the writer lives");
                    wait.await.expect("an answer");
                }
            })
        })
        .collect();
    for task in running {
        runtime.block_on(task).expect("a task");
    }
    let took = started.elapsed();
    drop(sender);
    writer.join().expect("the writer");
    took
}

/// One write and sync at a time, this far apart: how long each takes, in milliseconds.
pub(crate) fn paced_syncs(count: usize, apart: Duration) -> Vec<f64> {
    let directory = directory();
    let mut file = File::create(directory.path().join("floor")).expect("a file");
    (0..count)
        .map(|_| {
            std::thread::sleep(apart);
            let started = Instant::now();
            file.write_all(&[b'x'; EVENT_BYTES]).expect("a write");
            file.sync_data().expect("a sync");
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect()
}

/// One write at a time to a bare socket, this far apart: how long until each is read, in milliseconds.
pub(crate) fn paced_sends(count: usize, apart: Duration) -> Vec<f64> {
    let (mut from, mut to) = socket_pair();
    let reader = std::thread::spawn(move || {
        let mut frame = [0; EVENT_BYTES];
        (0..count)
            .map(|_| {
                to.read_exact(&mut frame).expect("a frame");
                let sent = u64::from_le_bytes(frame[..8].try_into().expect("eight bytes"));
                (nanos() - sent) as f64 / 1e6
            })
            .collect()
    });
    for _ in 0..count {
        std::thread::sleep(apart);
        let mut frame = [b'x'; EVENT_BYTES];
        frame[..8].copy_from_slice(&nanos().to_le_bytes());
        from.write_all(&frame).expect("a frame");
    }
    reader.join().expect("the reader")
}

/// Two ends of a connection over loopback.
pub(crate) fn socket_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let from = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (to, _) = listener.accept().expect("a connection");
    from.set_nodelay(true).expect("no delay");
    (from, to)
}

/// The clock that all processes of this machine share.
pub(crate) fn nanos() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}
