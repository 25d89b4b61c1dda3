//! The workbench: built files that are part of the program. They hold no secret, so they need no token; what they show does.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::problem::Problem;

/// Scripts are our own files only, and text becomes a page only through the framework; nothing is asked of anybody else.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html turnloom-worker turnloom-notices";

#[derive(RustEmbed)]
#[folder = "assets/"]
struct Assets;

pub(super) async fn index() -> Response {
    match Assets::get("index.html") {
        Some(file) => {
            let mut response = respond("index.html", file, "no-cache");
            let policy = header::HeaderValue::from_static(POLICY);
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
            response
        }
        None => missing(),
    }
}

/// Files whose names change with their content.
pub(super) async fn hashed(Path(name): Path<String>) -> Response {
    let path = format!("static/{name}");
    Assets::get(&path).map_or_else(missing, |file| respond(&path, file, "public, max-age=31536000, immutable"))
}

pub(super) async fn icon() -> Response {
    plain("favicon.svg")
}

pub(super) async fn service_worker() -> Response {
    plain("sw.js")
}

pub(super) async fn manifest() -> Response {
    plain("app.webmanifest")
}

pub(super) async fn app_icon(Path(name): Path<String>) -> Response {
    plain(&format!("icons/{name}"))
}

/// Runs before the first paint, so that a chosen theme never flashes.
pub(super) async fn theme() -> Response {
    plain("theme.js")
}

/// A file whose name stays.
fn plain(path: &str) -> Response {
    Assets::get(path).map_or_else(missing, |file| respond(path, file, "no-cache"))
}

fn respond(path: &str, file: EmbeddedFile, cache: &'static str) -> Response {
    let media_type = match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("webmanifest") => "application/manifest+json",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    };
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, cache),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, file.data.into_owned()).into_response()
}

fn missing() -> Response {
    Problem::new(StatusCode::NOT_FOUND, "not_found", "there is no such file in the workbench").into_response()
}
