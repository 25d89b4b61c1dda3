//! A server on loopback in the place of somebody else's: it keeps what it is sent and answers as it is told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

#[derive(Debug, Clone)]
pub struct Received {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What a receiver does with a request.
#[derive(Debug, Clone)]
pub enum Act {
    Answer(u16, &'static str),
    /// With one more header.
    AnswerWith(u16, String),
    /// Never answers, and keeps the connection.
    Silence,
    /// Closes the connection without a word.
    Close,
}

type Decide = dyn Fn(&Received) -> Act + Send + Sync;

pub struct Receiver {
    pub url: String,
    received: Arc<Mutex<Vec<Received>>>,
    ended: Arc<AtomicBool>,
    address: std::net::SocketAddr,
}

impl Receiver {
    pub fn start(decide: impl Fn(&Received) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let ended = Arc::new(AtomicBool::new(false));
        let decide: Arc<Decide> = Arc::new(decide);
        let (kept, over) = (Arc::clone(&received), Arc::clone(&ended));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::Acquire) {
                    return;
                }
                let (kept, decide) = (Arc::clone(&kept), Arc::clone(&decide));
                std::thread::spawn(move || drop(serve(&stream, &kept, &decide)));
            }
        });
        Self { url: format!("http://{address}"), received, ended, address }
    }

    /// One that takes everything.
    pub fn taking() -> Self {
        Self::start(|_| Act::Answer(200, r#"{"ok":true}"#))
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().expect("a lock").clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        drop(TcpStream::connect(self.address));
    }
}

fn serve(stream: &TcpStream, kept: &Mutex<Vec<Received>>, decide: &Arc<Decide>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
                None => break,
            }
        }
        let length =
            headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let received = Received { path, headers, body };
        let act = decide(&received);
        kept.lock().expect("a lock").push(received);
        let mut out = stream;
        match act {
            Act::Close => return Ok(()),
            Act::Silence => {
                let mut rest = Vec::new();
                reader.read_to_end(&mut rest)?;
                return Ok(());
            }
            Act::Answer(status, body) => {
                write!(out, "HTTP/1.1 {status} x\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
            }
            Act::AnswerWith(status, header) => {
                write!(out, "HTTP/1.1 {status} x\r\ncontent-length: 0\r\n{header}\r\n\r\n")?;
            }
        }
    }
}
