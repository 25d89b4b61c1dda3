//! The Socket.IO gateway, by hand: who may take how much of it before a token was shown. The real client is in `tests/clients`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Message, connect};

use crate::support::{Client, Daemon, PATIENCE};
use crate::websocket::Socket;

/// A device that is connected over a WebSocket.
pub(crate) struct Device {
    id: String,
    socket: Socket,
}

impl Device {
    pub(crate) fn connect(client: &Client, id: &str, headers: &[(&'static str, &str)]) -> Self {
        let query = format!("EIO=4&transport=websocket&deviceId={id}&deviceType=client");
        let mut device = Self { id: id.to_owned(), socket: open(client, &query, headers) };
        assert!(device.hear().unwrap().starts_with("0{"), "the transport is open");
        device.begin();
        device
    }

    fn begin(&mut self) {
        self.send("40");
        while !self.hear().expect("it is registered").contains("\"registered\"") {}
    }

    /// A transport that was opened with requests goes on as a WebSocket.
    fn upgrade(client: &Client, id: &str, session: &str) -> Self {
        let query = format!("EIO=4&transport=websocket&sid={session}");
        let mut device = Self { id: id.to_owned(), socket: open(client, &query, &[]) };
        device.send("2probe");
        assert_eq!(device.hear().unwrap(), "3probe");
        device.send("5");
        device.begin();
        device
    }

    fn send(&mut self, packet: &str) {
        self.socket.send(Message::Text(packet.to_owned().into())).unwrap();
    }

    /// The next packet; nothing when the device was disconnected.
    fn hear(&mut self) -> Option<String> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) if text.as_str() == "2" => self.send("3"),
                Ok(Message::Text(text)) => {
                    return Some(text.as_str().to_owned()).filter(|text| !text.starts_with("41"));
                }
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    pub(crate) fn ends_disconnected(mut self) -> bool {
        while self.hear().is_some() {}
        true
    }

    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        let payload = json!({ "requestId": "r", "method": method, "params": params });
        let message = json!({ "id": "m", "uid": null, "from": self.id, "to": "turnloom", "action": "request", "payload": payload });
        self.send(&format!("42{}", json!(["send", message])));
        loop {
            let packet = self.hear().expect("it is connected");
            let told: Value = serde_json::from_str(packet.strip_prefix("42").unwrap_or("null")).unwrap();
            if told[0] == "receive" && told[1]["action"] == "response" {
                return told[1]["payload"].clone();
            }
        }
    }

    pub(crate) fn verify(&mut self, client: &Client) {
        let verified = self.call("verify", &json!({ "token": client.token }));
        assert_eq!(verified["payload"]["hubId"], "turnloom", "{verified}");
    }
}

fn open(client: &Client, query: &str, headers: &[(&'static str, &str)]) -> Socket {
    let mut request = format!("ws://{}/ws/?{query}", client.address).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    connect(request).expect("a socket").0
}

const HANDSHAKE: &str = "/ws/?EIO=4&transport=polling&deviceId=d&deviceType=client";

#[test]
fn a_device_that_has_shown_its_token_is_no_stranger() {
    let daemon = Daemon::start_with("max_strangers = 4", &[]);
    let client = &daemon.client;
    client.mock("s");
    let mut device = Device::connect(client, "one", &[]);
    device.verify(client);
    // Its first connection is not its last.
    let stranger = Client::new(&client.address, None);
    let opened = stranger.get(&HANDSHAKE.replace("deviceId=d", "deviceId=two"));
    let opened: Value = serde_json::from_str(opened.body.strip_prefix('0').unwrap()).unwrap();
    let mut upgraded = Device::upgrade(client, "two", opened["sid"].as_str().unwrap());
    upgraded.verify(client);
    let strangers: Vec<TcpStream> = (0..12)
        .map(|_| {
            let mut stream = TcpStream::connect(&client.address).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.write_all(b"GET /ws").unwrap();
            stream
        })
        .collect();
    for mut stranger in strangers.into_iter().take(8) {
        // Closed by now, or soon.
        drop(stranger.read_to_end(&mut Vec::new()));
    }
    for mut device in [device, upgraded] {
        assert!(device.call("getHubInfo", &json!({}))["payload"].is_object());
    }
}

#[test]
fn one_connection_opens_no_end_of_sessions_without_a_token() {
    let daemon = Daemon::start_with("max_strangers = 4", &[]);
    let client = &daemon.client;
    client.mock("s");
    let mut stream = BufReader::new(TcpStream::connect(&client.address).unwrap());
    stream.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    let mut ask = |more: &str| {
        let request = format!("GET {HANDSHAKE} HTTP/1.1\r\nhost: {}\r\n{more}\r\n", client.address);
        stream.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut line, mut status, mut length) = (String::new(), None, 0);
        while line != "\r\n" {
            line.clear();
            assert!(stream.read_line(&mut line).unwrap() > 0, "it goes on");
            status = status.or_else(|| line.split(' ').nth(1).map(str::to_owned));
            if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        stream.read_exact(&mut vec![0; length]).unwrap();
        status.unwrap()
    };
    let answers: Vec<String> = (0..1000).map(|_| ask("")).collect();
    let opened = answers.iter().filter(|status| *status == "200").count();
    assert!((1..=4).contains(&opened) && answers.iter().filter(|status| *status == "429").count() == 1000 - opened);
    // Whoever shows a token needs no place.
    assert_eq!(ask(&format!("authorization: Bearer {}\r\n", client.token.as_deref().unwrap())), "200");
}
