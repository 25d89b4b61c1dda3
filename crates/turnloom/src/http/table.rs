//! The table of routes. A route cannot exist without its entry, so the `OpenAPI` document cannot forget one.

use std::collections::BTreeMap;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::App;
use super::document::{self, SchemaOf};
use super::problem::Document;

/// One route and what the document says of it.
pub(super) struct Route {
    method: &'static str,
    path: &'static str,
    id: String,
    summary: &'static str,
    tag: &'static str,
    open: bool,
    query: Option<SchemaOf>,
    body: Option<Content>,
    example: Option<Value>,
    answers: Vec<(u16, &'static str, Content)>,
    problems: Vec<Content>,
    router: MethodRouter<App>,
}

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

    pub(super) fn openapi(&self) -> Value {
        document::openapi(self.0.iter().map(Route::described))
    }
}
