//! Serves the pages of people's own components, each for a frame that may do nothing but draw. The files hold no secret, so they need no token: a
//! frame without an origin could not show one. What a page may ask of the workbench is the workbench's matter.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::App;
use super::access::{RESOURCE_POLICY, text};
use super::problem::Problem;
use crate::component_folders::{FolderProblem, PageEntry};

/// Where the files are. Requests from a frame have no origin that could be named, and these paths take them.
pub(super) const PREFIX: &str = "/views/c/";

/// What no page in a frame gets, whatever it is allowed to load.
const PERMISSIONS: &str = "camera=(), microphone=(), geolocation=(), clipboard-write=(), display-capture=()";

/// The address has the hash of the content in it.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

pub(super) async fn file(
    State(app): State<App>,
    Path((name, hash, path)): Path<(String, String, String)>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let folder = app.component_folders.find(&name, &hash);
    let content = folder.as_ref().and_then(|folder| folder.file(&path));
    let (Some(folder), Some(content)) = (folder.as_ref(), content) else {
        let detail = format!("no component {name:?} has this file now; GET /api/components names the pages there are");
        return Err(Problem::new(StatusCode::NOT_FOUND, "not_found", detail));
    };
    // The name was checked before anything else: it is one of ours.
    let host = text(&headers, header::HOST).or_else(|| uri.authority().map(axum::http::uri::Authority::as_str));
    let policy = folder.content_security_policy(host.unwrap_or_default());
    let policy = HeaderValue::from_str(&policy).map_err(|_| Problem::unexpected("a policy"))?;
    let mut response = content.clone().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    for (name, value) in [
        (header::CONTENT_TYPE.as_str(), media_type(&path)),
        (header::CACHE_CONTROL.as_str(), FOR_EVER),
        ("permissions-policy", PERMISSIONS),
        (header::X_CONTENT_TYPE_OPTIONS.as_str(), "nosniff"),
        (header::REFERRER_POLICY.as_str(), "no-referrer"),
        // A frame without an origin is a stranger to its own files.
        (header::ACCESS_CONTROL_ALLOW_ORIGIN.as_str(), "*"),
        (RESOURCE_POLICY, "cross-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ComponentsReloaded")]
pub(super) struct Reloaded {
    /// The components of folders that are served now.
    components: Vec<PageEntry>,
    /// Folders that were left out, and why.
    problems: Vec<FolderProblem>,
}

pub(super) async fn reload(State(app): State<App>) -> Result<Json<Reloaded>, Problem> {
    let shared = app.clone();
    let read = move || shared.component_folders.reload();
    tokio::task::spawn_blocking(read).await.map_err(|_| Problem::unexpected("reading the components"))?;
    let folders = &app.component_folders;
    app.sessions.set_folder_components(folders.registered());
    Ok(Json(Reloaded { components: folders.entries(), problems: folders.problems() }))
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "txt" | "md" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "ico" => "image/x-icon",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    }
}
