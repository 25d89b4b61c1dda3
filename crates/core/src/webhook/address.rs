//! Where requests may be sent. An address that somebody else chose must not lead to this machine or its network, unless the settings say so: what is
//! reachable from here only is not for everybody.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest address.
const MAX_URL_BYTES: usize = 2_048;

/// An address, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub secure: bool,
    /// A name, or an address without brackets.
    pub host: String,
    pub port: u16,
    /// The path with the query.
    pub path: String,
}

/// Why an address is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("an address begins with https:// or http://")]
    Scheme,
    #[error("an address has at most {MAX_URL_BYTES} bytes, and no spaces or control characters")]
    Text,
    #[error("an address holds no user name or password")]
    User,
    #[error("there is no host in it that could be reached")]
    Host,
    #[error("the port is a number from 1 to 65535")]
    Port,
}

impl Target {
    pub fn parse(url: &str) -> Result<Self, Error> {
        if url.len() > MAX_URL_BYTES || !url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return Err(Error::Text);
        }
        let (scheme, rest) = url.split_once("://").ok_or(Error::Scheme)?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(Error::Scheme),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(Error::User);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(inside) => {
                let (host, after) = inside.split_once(']').ok_or(Error::Host)?;
                host.parse::<Ipv6Addr>().map_err(|_| Error::Host)?;
                (host, after.strip_prefix(':').or_else(|| after.is_empty().then_some("")).ok_or(Error::Port)?)
            }
            None => authority.split_once(':').unwrap_or((authority, "")),
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_name) {
            return Err(Error::Host);
        }
        let port = match port {
            "" if secure => 443,
            "" => 80,
            port => port.parse().ok().filter(|port| *port > 0).ok_or(Error::Port)?,
        };
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { secure, host: host.to_ascii_lowercase(), port, path })
    }

    /// What the header `Host` says.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

/// Whether an address is one of the open network.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// All but what the registry of special addresses lists.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    )
}

/// Only what is given out as global; where an address of the older kind is inside, that one counts.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let inside = |high: u16, low: u16| {
        let bits = (u32::from(high) << 16) | u32::from(low);
        is_public_v4(Ipv4Addr::from_bits(bits))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => inside(high, low),
        [0x2002, high, low, ..] => inside(high, low),
        // Tunnels, tests and documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let parse = |url: &str| Target::parse(url);
        let target = parse("https://Hooks.Example/a?b=c#d").unwrap();
        assert_eq!((target.host.as_str(), target.port, target.path.as_str()), ("hooks.example", 443, "/a?b=c"));
        assert_eq!(target.authority(), "hooks.example");
        assert_eq!(parse("http://[::1]:8080").unwrap().authority(), "[::1]:8080");
        assert_eq!(parse("http://a?x").unwrap().path, "/?x");
        for (url, error) in [
            ("ftp://a", Error::Scheme),
            ("a/b", Error::Scheme),
            ("http://", Error::Host),
            ("http://a b", Error::Text),
            ("http://a\\@b", Error::Text),
            ("http://user@a", Error::User),
            ("http://a:0", Error::Port),
            ("http://a:99999", Error::Port),
            ("http://[::1", Error::Host),
            ("http://[::1]x", Error::Port),
            ("http://[fe80::1%25eth0]/", Error::Host),
            ("http://ä.example", Error::Text),
        ] {
            assert_eq!(parse(url), Err(error), "{url}");
        }
    }

    #[test]
    fn only_the_open_network_is_public() {
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:c0a8:101::",
            "3fff::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
