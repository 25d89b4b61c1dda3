//! What a page in a frame may load, and from where.

use serde::Deserialize;

/// What a folder says its page wants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Domains {
    /// What it connects to.
    pub(super) connect_domains: Vec<String>,
    /// What it loads scripts, styles, pictures, fonts and media from.
    pub(super) resource_domains: Vec<String>,
}

impl Domains {
    /// The first that is none.
    pub(super) fn bad(&self) -> Option<&str> {
        self.connect_domains.iter().chain(&self.resource_domains).map(String::as_str).find(|name| !is_domain(name))
    }

    /// Only what the person who runs the daemon allows as well.
    pub(super) fn retain(&mut self, allowed: &[String]) {
        self.connect_domains.retain(|name| allowed.contains(name));
        self.resource_domains.retain(|name| allowed.contains(name));
    }

    /// The policy of a page whose own files are below `base`.
    pub(super) fn policy(&self, base: &str) -> String {
        let resources: String = self.resource_domains.iter().flat_map(|name| [" ", name.as_str()]).collect();
        let connect =
            if self.connect_domains.is_empty() { "'none'".to_owned() } else { self.connect_domains.join(" ") };
        [
            "sandbox allow-scripts allow-forms".to_owned(),
            "default-src 'none'".to_owned(),
            format!("script-src 'unsafe-inline' {base}{resources}"),
            format!("style-src 'unsafe-inline' {base}{resources}"),
            format!("img-src data: blob: {base}{resources}"),
            format!("font-src data: {base}{resources}"),
            format!("media-src data: blob: {base}{resources}"),
            format!("connect-src {connect}"),
            "frame-src 'none'".to_owned(),
            "base-uri 'none'".to_owned(),
            "form-action 'none'".to_owned(),
            "frame-ancestors 'self'".to_owned(),
        ]
        .join("; ")
    }
}

/// `https://api.example`, `wss://api.example:8443`, `https://*.example`: nothing that could be another part of a policy.
pub(crate) fn is_domain(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let host = host.strip_prefix("*.").unwrap_or(host);
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    matches!(scheme, "https" | "http" | "wss" | "ws") && !host.is_empty() && host.bytes().all(is_part)
}
