//! One function per route. Each reads, lets the pure half decide, and hands the frames on.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::{Seen, Shared, Stage, play};
use crate::frame::Frame;
use crate::plan::{Break, Pause, Plan};
use crate::request::{Api, Delivery, Malformed, ModelRequest};
use crate::script::Refusal;
use crate::{choose, plan};

type App = State<Arc<Shared>>;
type Received = Result<Bytes, BytesRejection>;

/// Claude Code looks whether anybody is there.
pub(super) async fn alive(State(shared): App, method: Method) -> Response {
    shared.seen.add(Seen::new(method.as_str(), "/", 200));
    "A scripted model.\n".into_response()
}

pub(super) async fn messages(State(shared): App, uri: Uri, headers: HeaderMap, body: Received) -> Response {
    converse(&shared, Api::Anthropic, uri.path(), &headers, body).await
}

pub(super) async fn responses(State(shared): App, uri: Uri, headers: HeaderMap, body: Received) -> Response {
    converse(&shared, Api::Openai, uri.path(), &headers, body).await
}

pub(super) async fn count_tokens(State(shared): App, uri: Uri, body: Received) -> Response {
    let counted = received(body).and_then(|body| {
        serde_json::from_slice::<Value>(&body).map_err(|error| bad(&Malformed(error.to_string())))?;
        Ok(plan::tokens(&body))
    });
    match counted {
        Ok(tokens) => {
            shared.seen.add(Seen { api: Some(Api::Anthropic), ..Seen::new("POST", uri.path(), 200) });
            Json(json!({"input_tokens": tokens})).into_response()
        }
        Err(refusal) => refuse_unread(&shared, Api::Anthropic, uri.path(), &refusal),
    }
}

pub(super) async fn models(State(shared): App, uri: Uri, headers: HeaderMap) -> Response {
    let api = api_of(uri.path(), &headers);
    shared.seen.add(Seen { api: Some(api), ..Seen::new("GET", uri.path(), 200) });
    Json(api.models()).into_response()
}

pub(super) async fn requests(State(shared): App) -> Response {
    Json(shared.seen.list()).into_response()
}

pub(super) async fn gates(State(shared): App) -> Response {
    Json(shared.gates.list()).into_response()
}

pub(super) async fn release(State(shared): App, Path(name): Path<String>) -> Response {
    if shared.gates.release(&name) {
        return StatusCode::NO_CONTENT.into_response();
    }
    (StatusCode::NOT_FOUND, Json(json!({"error": format!("no step of the script waits for {name:?}")}))).into_response()
}

/// A path neither API has here.
pub(super) async fn unknown(State(shared): App, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    shared.seen.add(Seen::new(method.as_str(), uri.path(), 404));
    let message = format!("The scripted model has no {method} {}", uri.path());
    refuse(api_of(uri.path(), &headers), &Refusal { status: 404, message, code: None, retry_after: None })
}

/// Paths that both APIs have, or none, are told apart by a header only one of them has.
fn api_of(path: &str, headers: &HeaderMap) -> Api {
    let anthropic = headers.contains_key("anthropic-version") || path.starts_with("/v1/messages");
    if anthropic { Api::Anthropic } else { Api::Openai }
}

async fn converse(shared: &Arc<Shared>, api: Api, path: &str, headers: &HeaderMap, body: Received) -> Response {
    let asked = received(body).and_then(|body| api.read(&body, headers).map_err(|malformed| bad(&malformed)));
    let asked = match asked {
        Ok(asked) => asked,
        Err(refusal) => return refuse_unread(shared, api, path, &refusal),
    };
    let (seen, answer) = shared.with_stage(|stage| decide(stage, &asked, path));
    shared.seen.add(seen);
    let frames = |pauses: Vec<Pause>| pauses.into_iter().map(Frame::from).collect();
    let (first, whole) = match answer {
        Answer::Stream(frames) => {
            let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
            return (headers, play::body(frames, Arc::clone(shared))).into_response();
        }
        Answer::Refuse { first, refusal } => (first, Err(refusal)),
        Answer::Whole { first, body } => (first, Ok(body)),
        Answer::Cut { first } => {
            let frames: Vec<Frame> = first.into_iter().map(Frame::from).chain([Frame::Cut]).collect();
            return Response::new(play::body(frames, Arc::clone(shared)));
        }
    };
    if play::wait(frames(first), shared).await.is_err() {
        return Response::new(Body::empty());
    }
    match whole {
        Ok(body) => Json(body).into_response(),
        Err(refusal) => refuse(api, &refusal),
    }
}

enum Answer {
    Stream(Vec<Frame>),
    Whole { first: Vec<Pause>, body: Value },
    Refuse { first: Vec<Pause>, refusal: Refusal },
    Cut { first: Vec<Pause> },
}

fn decide(stage: &mut Stage, asked: &ModelRequest, path: &str) -> (Seen, Answer) {
    let chosen = stage.playing.choose(asked);
    let name = chosen.map(|reply| reply.name.clone());
    let plan = chosen.map_or_else(|| plan::plan(&choose::nothing(asked.kind), asked), |reply| plan::plan(reply, asked));
    let answer = match plan {
        Plan::Refuse { first, refusal } => Answer::Refuse { first, refusal },
        Plan::Speak(speech) => match asked.delivery {
            Delivery::Stream => Answer::Stream(asked.api.frames(&speech, asked, &mut stage.ids)),
            Delivery::Whole => match asked.api.whole(&speech, asked, &mut stage.ids) {
                (first, Ok(body)) => Answer::Whole { first, body },
                (first, Err(Break::Cut)) => Answer::Cut { first },
                // There is no middle in a whole answer, so the error is the answer.
                (first, Err(Break::Fail(error))) => {
                    let refusal = Refusal { status: 500, message: error.message, code: error.code, retry_after: None };
                    Answer::Refuse { first, refusal }
                }
            },
        },
    };
    let status = if let Answer::Refuse { refusal, .. } = &answer { refusal.status } else { 200 };
    (Seen::of(path, status, asked, name), answer)
}

fn received(body: Received) -> Result<Bytes, Refusal> {
    body.map_err(|rejection| Refusal {
        status: rejection.status().as_u16(),
        message: rejection.body_text(),
        code: None,
        retry_after: None,
    })
}

fn bad(Malformed(message): &Malformed) -> Refusal {
    Refusal { status: 400, message: message.clone(), code: None, retry_after: None }
}

fn refuse_unread(shared: &Shared, api: Api, path: &str, refusal: &Refusal) -> Response {
    shared.seen.add(Seen { api: Some(api), ..Seen::new("POST", path, refusal.status) });
    refuse(api, refusal)
}

fn refuse(api: Api, refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(api.error(refusal))).into_response();
    if let Some(seconds) = refusal.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}
