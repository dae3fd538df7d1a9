//! The dashboard: pages on the control port that show what clients did and what the service made of
//! it.
//!
//! Each view has a file of its own, and each of its URLs is a complete page. The scripts fetch the
//! page again when the event stream reports a change, and write through the control API. Rows that
//! are newer than those that a list shows (`seen` in its URL) are counted until they are asked for.

mod advice;
mod clock;
mod code;
mod events;
mod faults;
mod files;
mod job_details;
mod jobs;
mod json_text;
mod keys;
mod limits;
mod logged_exchanges;
mod money;
mod page;
mod parts;
mod request_details;
mod requests;
mod search;
mod state;
mod timeline;
mod values;
mod view;
mod webhooks;

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, Request, Response};
use axum::routing::{get, post};
use tower_service::Service as _;

use crate::addresses::Addresses;
use crate::service::Service;

/// Nothing is loaded from elsewhere, no script or style is inline, and no other page can embed the
/// dashboard.
const CONTENT_POLICY: &str = "default-src 'self'; object-src 'none'; base-uri 'none'; \
    form-action 'self'; frame-ancestors 'none'";

/// The dashboard of a running mock.
#[derive(Clone)]
pub(crate) struct Dashboard {
    service: Service,
    router: Router<Service>,
}

impl Dashboard {
    pub(crate) fn new(service: Service) -> Self {
        let router = Router::new()
            .route("/", get(requests::view))
            .route("/events", get(events::stream))
            .route("/dashboard/requests", get(requests::view))
            .route("/dashboard/requests/{seq}", get(requests::view))
            .route("/dashboard/requests/{seq}/replay", post(requests::replay))
            .route("/dashboard/jobs", get(jobs::view))
            .route("/dashboard/jobs/{id}", get(jobs::view))
            .route("/dashboard/money", get(money::view))
            .route("/dashboard/webhooks", get(webhooks::view))
            .route("/dashboard/webhooks/{id}", get(webhooks::view))
            .route("/dashboard/limits", get(limits::view))
            .route("/dashboard/clock", get(clock::view))
            .route("/dashboard/faults", get(faults::view))
            .route("/dashboard/keys", get(keys::view))
            .route("/dashboard", get(requests::view))
            .route("/dashboard/state", get(state::view))
            .route("/dashboard/media/{file}", get(files::artifact))
            .route("/dashboard/thumbnails/{file}", get(files::thumbnail))
            .route("/dashboard/assets/{name}", get(files::asset))
            .fallback(page::not_found);
        Self { service, router }
    }

    /// Returns whether a request to the control port is for the dashboard or the event stream.
    ///
    /// `/` is a page for browsers, and the list of endpoints for programs.
    pub(crate) fn is_for<B>(request: &Request<B>) -> bool {
        let path = request.uri().path();
        let is_page = path == "/events"
            || path == "/dashboard"
            || path.starts_with("/dashboard/")
            || path == "/" && accepts_html(request);
        match *request.method() {
            Method::GET | Method::HEAD => is_page,
            Method::POST => path.starts_with("/dashboard/requests/"),
            _ => false,
        }
    }

    /// Handles a request for which [`is_for`](Self::is_for) is `true`.
    pub(crate) async fn respond(&self, request: Request<()>) -> Response<Body> {
        if let Some(refusal) = self.service.refuse_foreign(&request) {
            return refusal.map(Body::from);
        }
        // The addresses of `--urls-from-host`.
        let addresses = request.extensions().get::<Addresses>().cloned();
        let mut router = self.router.clone().with_state(self.service.showing(addresses));
        let request = request.map(|()| Body::empty());
        // The router is always ready and never fails.
        let mut response = match router.call(request).await {
            Ok(response) => response,
            Err(error) => match error {},
        };
        let headers = response.headers_mut();
        for (name, value) in [
            (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
            (VARY, "accept"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        response
    }
}

fn accepts_html<B>(request: &Request<B>) -> bool {
    let accepted = request.headers().get_all(ACCEPT).into_iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains("text/html"))
}

#[cfg(test)]
mod tests;
