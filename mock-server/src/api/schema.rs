//! The public OpenAPI document of both surfaces: `GET /v1/openapi.json` and `GET /reference/json`.

use std::sync::Mutex;

use svc_openapi::{Servers, document};

use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::Hosts;

/// The document for the most recent hosts. A running mock has the same hosts all the time, so the
/// document is only built once.
static LAST: Mutex<Option<(Servers, ApiResponse)>> = Mutex::new(None);

/// Responds with the document itself, without an envelope.
pub(super) fn get(request: &mut Request<'_>) -> ApiResult {
    Ok(cached_document(request.hosts))
}

fn cached_document(hosts: &Hosts) -> ApiResponse {
    let servers = Servers::new(&hosts.open, &hosts.developer, &hosts.mcp);
    // The value is replaced as a whole, so it is valid even if a thread panicked.
    let mut last = LAST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match &*last {
        Some((cached, document)) if *cached == servers => document.clone(),
        _ => {
            let document = ApiResponse::body(200, &document(&servers));
            *last = Some((servers, document.clone()));
            document
        }
    }
}
