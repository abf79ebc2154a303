//! One call to the sandbox.

use std::sync::{Arc, PoisonError};

use aws_smithy_async::rt::sleep::AsyncSleep as _;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode};
use hookbox_core::limits::MAX_BODY_BYTES;
use serde_json::{Value, json};

use super::Sandbox;
use super::behaviour::Behaviour;
use super::cuttable::Cut;

pub(super) async fn handle(
    State(sandbox): State<Arc<Sandbox>>,
    ConnectInfo(cut): ConnectInfo<Cut>,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    if parts.method == Method::GET {
        return sandbox.look(parts.uri.path());
    }
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        return sandbox.refuse(&parts, 413, "the body is too large or did not arrive");
    };
    sandbox.call(&parts, &body, &cut).await
}

impl Sandbox {
    fn look(&self, path: &str) -> Response<Body> {
        let book = self.book();
        match path.strip_prefix("/effects") {
            Some("") => answer(200, &json!(book)),
            // The worker asks percent-encoded; of a job key only the colons are.
            Some(key) => match book
                .entry(&key.trim_start_matches('/').replace("%3A", ":").replace("%3a", ":"))
                .filter(|entry| entry.effects > 0)
            {
                Some(entry) => answer(200, &json!(entry)),
                None => answer(404, &json!({"reason": "no effect happened under this key"})),
            },
            None => answer(404, &json!({"reason": "there is GET /effects and GET /effects/KEY"})),
        }
    }

    async fn call(&self, parts: &Parts, body: &[u8], cut: &Cut) -> Response<Body> {
        if parts.method != Method::POST {
            return self.refuse(parts, 405, "calls are made with POST");
        }
        let behaviour = match Behaviour::of_path(parts.uri.path()) {
            Ok(behaviour) => behaviour,
            Err(reason) => return self.refuse(parts, 404, &reason),
        };
        if let Some(verifier) = &self.verifier
            && let Err(reason) = verifier.verify(parts, body, self.clock.now())
        {
            return self.refuse(parts, 401, &reason);
        }
        let Some(key) = header(parts, "idempotency-key").filter(|key| !key.is_empty()) else {
            return self.refuse(parts, 400, "the Idempotency-Key is missing");
        };
        let event_id = header(parts, "hookbox-event-id");
        let reply = self.book.lock().unwrap_or_else(PoisonError::into_inner).call(key, event_id, behaviour);
        self.sleep.sleep(reply.wait).await;
        let shown = reply.status.map_or_else(|| "cut".to_owned(), |status| status.to_string());
        let event = event_id.unwrap_or("-");
        let effect = reply.effect.as_str();
        self.tell(&format!("{shown}  {}  call {}  {effect}  {event}  {key}", parts.uri.path(), reply.call));
        match reply.status {
            Some(status) => answer(status, &json!({"effect": reply.effect, "call": reply.call})),
            None => {
                cut.now();
                answer(200, &Value::Null)
            }
        }
    }

    fn refuse(&self, parts: &Parts, status: u16, reason: &str) -> Response<Body> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner).refuse();
        self.tell(&format!("{status}  {} {}  {reason}", parts.method, parts.uri.path()));
        answer(status, &json!({ "reason": reason }))
    }

    fn tell(&self, line: &str) {
        let mut terminal = self.terminal.lock().unwrap_or_else(PoisonError::into_inner);
        let at = terminal.time(self.clock.now());
        // Nobody may be reading: the call is answered all the same.
        let _ = terminal.note(format_args!("{at}  {line}"));
    }
}

fn header<'a>(parts: &'a Parts, name: &str) -> Option<&'a str> {
    parts.headers.get(name).and_then(|value| value.to_str().ok())
}

fn answer(status: u16, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{body}\n")));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
