//! Signs a browser in through a one-time link. The links and the sign-ins are kept in `access`.

use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::App;
use super::access::{COOKIE, text};
use super::extract::Query;
use super::problem::Problem;
use super::sign_ins::LONGEST;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Login {
    /// The one-time token of a sign-in link.
    token: String,
}

/// Trades a one-time token for a cookie.
pub(super) async fn login(
    State(app): State<App>,
    method: Method,
    headers: HeaderMap,
    Query(login): Query<Login>,
) -> Response {
    // A prefetch or a HEAD request does not use up the link.
    if method == Method::HEAD || is_prefetch(&headers) {
        return StatusCode::NO_CONTENT.into_response();
    }
    if !app.access.redeem(&login.token) {
        // A person stands before a browser: the page tells them what to do, or lets them in if they are signed in.
        if text(&headers, header::ACCEPT).is_some_and(|accept| accept.contains("text/html")) {
            return (StatusCode::SEE_OTHER, [(header::LOCATION, "/#/used-link")]).into_response();
        }
        let detail = "this link was used before or is too old; run `turnloom open` for a new one";
        return Problem::new(StatusCode::UNAUTHORIZED, "login_expired", detail).into_response();
    }
    let secret = app.access.sign_ins().add(text(&headers, header::USER_AGENT).unwrap_or("unknown"));
    let secure = if is_encrypted(&headers) { "; Secure" } else { "" };
    let seconds = LONGEST.as_secs();
    let cookie = format!("{COOKIE}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_owned())]).into_response()
}

fn is_prefetch(headers: &HeaderMap) -> bool {
    ["sec-purpose", "purpose"]
        .iter()
        .filter_map(|name| headers.get(*name)?.to_str().ok())
        .any(|purpose| purpose.contains("prefetch") || purpose.contains("prerender"))
}

/// Whether the connection between browser and proxy is encrypted, as the proxy reports it. A wrong report only locks its own sender out.
fn is_encrypted(headers: &HeaderMap) -> bool {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_ascii_lowercase);
    said("x-forwarded-proto").is_some_and(|proto| proto.split(',').next().is_some_and(|first| first.trim() == "https"))
        || said("forwarded").is_some_and(|forwarded| forwarded.contains("proto=https"))
}

/// A link that signs a browser in, once.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LoginLink {
    /// Relative to the daemon's address.
    path: String,
}

pub(super) async fn login_link(State(app): State<App>) -> axum::Json<LoginLink> {
    axum::Json(LoginLink { path: format!("/login?token={}", app.access.login_token()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_says_whether_the_browser_came_encrypted() {
        for (name, value, expected) in [
            ("x-forwarded-proto", "https", true),
            ("x-forwarded-proto", "HTTPS, http", true),
            ("x-forwarded-proto", "http, https", false),
            ("forwarded", "for=1.2.3.4;proto=https;host=loom.example", true),
            ("forwarded", "for=1.2.3.4", false),
        ] {
            let headers = HeaderMap::from_iter([(header::HeaderName::from_static(name), value.parse().unwrap())]);
            assert_eq!(is_encrypted(&headers), expected, "{name}: {value}");
        }
    }
}
