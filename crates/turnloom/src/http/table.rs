//! The table of routes. A route cannot exist without its entry, so the `OpenAPI` document cannot forget one.

use std::collections::{BTreeMap, HashMap};

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::App;
use super::document::{self, SchemaOf};
use super::problem::Document;
use crate::scoped_tokens::Need;

/// One route and what the document says of it.
pub(super) struct Route {
    method: &'static str,
    path: &'static str,
    id: String,
    summary: &'static str,
    tag: &'static str,
    open: bool,
    need: NeedOf,
    query: Option<SchemaOf>,
    body: Option<Content>,
    example: Option<Value>,
    answers: Vec<(u16, &'static str, Content)>,
    problems: Vec<Content>,
    router: MethodRouter<App>,
}

/// What a route asks of a scoped token, given the session in its path.
pub(super) type NeedOf = for<'a> fn(Option<&'a str>) -> Need<'a>;

/// What a body is.
#[derive(Clone, Copy)]
pub(super) enum Content {
    Nothing,
    Json(SchemaOf),
    Problem(SchemaOf),
    /// Text of this type.
    Text(&'static str),
    /// Bytes of this type.
    Bytes(&'static str),
}

/// What the document needs to know of a route.
pub(super) struct Described<'a> {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) id: &'a str,
    pub(super) summary: &'static str,
    pub(super) tag: &'static str,
    pub(super) open: bool,
    pub(super) query: Option<SchemaOf>,
    pub(super) body: Option<Content>,
    pub(super) example: Option<&'a Value>,
    pub(super) answers: &'a [(u16, &'static str, Content)],
    pub(super) problems: &'a [Content],
}

pub(super) fn get<H: Handler<T, App>, T: 'static>(path: &'static str, summary: &'static str, handler: H) -> Route {
    Route::new::<H>("get", path, summary, on(MethodFilter::GET, handler))
}

pub(super) fn post<H: Handler<T, App>, T: 'static>(path: &'static str, summary: &'static str, handler: H) -> Route {
    Route::new::<H>("post", path, summary, on(MethodFilter::POST, handler))
}

pub(super) fn put<H: Handler<T, App>, T: 'static>(path: &'static str, summary: &'static str, handler: H) -> Route {
    Route::new::<H>("put", path, summary, on(MethodFilter::PUT, handler))
}

pub(super) fn patch<H: Handler<T, App>, T: 'static>(path: &'static str, summary: &'static str, handler: H) -> Route {
    Route::new::<H>("patch", path, summary, on(MethodFilter::PATCH, handler))
}

pub(super) fn delete<H: Handler<T, App>, T: 'static>(path: &'static str, summary: &'static str, handler: H) -> Route {
    Route::new::<H>("delete", path, summary, on(MethodFilter::DELETE, handler))
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

impl Route {
    fn new<H>(method: &'static str, path: &'static str, summary: &'static str, router: MethodRouter<App>) -> Self {
        Self {
            method,
            path,
            id: operation_id(std::any::type_name::<H>()),
            summary,
            tag: "",
            open: false,
            need: |_| Need::Full,
            query: None,
            body: None,
            example: None,
            answers: Vec::new(),
            problems: vec![Content::Problem(schema_of::<Document<'_>>)],
            router,
        }
    }

    /// Another id than the name of the handler, where that serves several routes or says too little.
    pub(super) fn named(mut self, id: &str) -> Self {
        id.clone_into(&mut self.id);
        self
    }

    /// Needs no token. The document says so; that it is so is decided in `access`, and the tests compare the two.
    pub(super) fn open(mut self) -> Self {
        self.open = true;
        self
    }

    /// Which scopes open it. Only `full`, if nothing is said here: a new route is closed to all others.
    pub(super) fn needs(mut self, need: NeedOf) -> Self {
        self.need = need;
        self
    }

    /// For those who may read the session in its path; all sessions, if there is none.
    #[expect(clippy::redundant_closure, reason = "the constructor is for one lifetime, a closure for all")]
    pub(super) fn reads(self) -> Self {
        self.needs(|session| Need::Read(session))
    }

    /// For those who may send messages to the session in its path, and answer.
    #[expect(clippy::redundant_closure, reason = "the constructor is for one lifetime, a closure for all")]
    pub(super) fn uses(self) -> Self {
        self.needs(|session| Need::Use(session))
    }

    pub(super) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(schema_of::<T>);
        self
    }

    pub(super) fn body<T: JsonSchema>(mut self) -> Self {
        self.body = Some(Content::Json(schema_of::<T>));
        self
    }

    /// A body that is not JSON.
    pub(super) fn body_as(mut self, media_type: &'static str) -> Self {
        self.body = Some(Content::Bytes(media_type));
        self
    }

    /// A body that one could send.
    pub(super) fn example(mut self, body: Value) -> Self {
        self.example = Some(body);
        self
    }

    pub(super) fn answers<T: JsonSchema>(mut self, status: u16, what: &'static str) -> Self {
        self.answers.push((status, what, Content::Json(schema_of::<T>)));
        self
    }

    /// An answer that is not JSON but text, or a stream of it.
    pub(super) fn answers_as(mut self, status: u16, what: &'static str, media_type: &'static str) -> Self {
        self.answers.push((status, what, Content::Text(media_type)));
        self
    }

    pub(super) fn answers_bytes(mut self, status: u16, what: &'static str, media_type: &'static str) -> Self {
        self.answers.push((status, what, Content::Bytes(media_type)));
        self
    }

    pub(super) fn answers_empty(mut self, status: u16, what: &'static str) -> Self {
        self.answers.push((status, what, Content::Nothing));
        self
    }

    /// Refuses with a text, for clients that show whatever the body is.
    pub(super) fn refuses_in_text(mut self) -> Self {
        self.problems = vec![Content::Text("text/plain")];
        self
    }

    /// Refuses in a form of its own, or with a text where the request did not come so far.
    pub(super) fn refuses_with<T: JsonSchema>(mut self) -> Self {
        self.problems = vec![Content::Json(schema_of::<T>), Content::Text("text/plain")];
        self
    }

    fn described(&self) -> Described<'_> {
        Described {
            method: self.method,
            path: self.path,
            id: &self.id,
            summary: self.summary,
            tag: self.tag,
            open: self.open,
            query: self.query,
            body: self.body,
            example: self.example.as_ref(),
            answers: &self.answers,
            problems: &self.problems,
        }
    }
}

/// `turnloom::http::sessions::create` becomes `sessions_create`, `turnloom::http::wire::wire` becomes `wire`.
fn operation_id(handler: &str) -> String {
    let mut words: Vec<&str> = handler.split("::").skip(2).filter(|word| *word != "dialect").collect();
    words.dedup();
    words.join("_")
}

/// All routes, in groups.
#[derive(Default)]
pub(super) struct Table(Vec<Route>);

impl Table {
    pub(super) fn group(mut self, tag: &'static str, routes: impl IntoIterator<Item = Route>) -> Self {
        self.0.extend(routes.into_iter().map(|route| Route { tag, ..route }));
        self
    }

    pub(super) fn router(self) -> Router<App> {
        let mut paths: BTreeMap<&'static str, MethodRouter<App>> = BTreeMap::new();
        for route in self.0 {
            let methods = paths.remove(route.path).unwrap_or_default();
            paths.insert(route.path, methods.merge(route.router));
        }
        paths.into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods))
    }

    /// What each route asks of a scoped token.
    pub(super) fn needs(&self) -> Needs {
        Needs(
            self.0
                .iter()
                .map(|route| ((route.method, route.path), if route.open { open_to_all as NeedOf } else { route.need }))
                .collect(),
        )
    }

    pub(super) fn openapi(&self) -> Value {
        document::openapi(self.0.iter().map(Route::described))
    }
}

fn open_to_all(_: Option<&str>) -> Need<'_> {
    Need::Nothing
}

/// What each route asks of a scoped token.
#[derive(Debug)]
pub(super) struct Needs(HashMap<(&'static str, &'static str), NeedOf>);

impl Needs {
    /// What a request asks for, by the route that it came to. What is in no table is for nobody with a scoped token.
    pub(super) fn of<'a>(&self, method: &Method, route: Option<&str>, path: &'a str) -> Need<'a> {
        let method = if method == Method::HEAD { "get".to_owned() } else { method.as_str().to_ascii_lowercase() };
        let found = route.and_then(|route| self.0.get(&(method.as_str(), route)));
        found.map_or(Need::Full, |need| need(session_in(path)))
    }
}

/// The session that a path of ours names, as it is written. One that is written with escapes is no session that a scope could name.
fn session_in(path: &str) -> Option<&str> {
    path.strip_prefix("/api/sessions/")?.split('/').next().filter(|id| !id.is_empty())
}
