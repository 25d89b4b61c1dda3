//! A daemon behind a proxy that encrypts, as the command line reaches it.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::home::Home;

/// Takes what comes encrypted and passes it on in the open, until the test ends.
fn proxy(listener: TcpListener, to: String, certified: &rcgen::CertifiedKey<rcgen::KeyPair>) {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, to) = (acceptor.clone(), to.clone());
                connections.spawn(async move {
                    let Ok(mut inside) = acceptor.accept(stream).await else { return };
                    let mut outside = tokio::net::TcpStream::connect(to).await.unwrap();
                    drop(tokio::io::copy_bidirectional(&mut inside, &mut outside).await);
                });
            }
        });
    });
}

#[test]
fn a_daemon_behind_a_proxy_is_reached_if_its_certificate_is_trusted() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = format!("localhost:{}", listener.local_addr().unwrap().port());
    fs::write(home.0.path().join("config.toml"), format!("hosts = [\"{host}\"]")).unwrap();
    let up = home.up(&["--no-sample"]);
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    proxy(listener, up.url.strip_prefix("http://").unwrap().to_owned(), &certified);
    let trusted = home.0.path().join("trusted.pem");
    fs::write(&trusted, certified.cert.pem()).unwrap();
    let token = fs::read_to_string(home.0.path().join("token")).unwrap();
    let url = format!("https://{host}");
    let run = |args: &[&str], certificates: &std::path::Path| {
        let mut command = home.command(&[&["--url", &url, "--token", token.trim()], args].concat());
        command.env("SSL_CERT_FILE", certificates);
        home.end(command)
    };
    assert_eq!(run(&["run", "echo through the tunnel"], &trusted).code(0).out(), "through the tunnel\n");
    assert!(run(&["sessions"], &trusted).code(0).out().contains("mock"));
    assert!(run(&["open", "--no-open"], &trusted).code(0).out().starts_with(&format!("{url}/login?token=")));

    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(home.0.path().join("other.pem"), other.cert.pem()).unwrap();
    run(&["sessions"], &home.0.path().join("other.pem")).code(1).says("certificate");
}
