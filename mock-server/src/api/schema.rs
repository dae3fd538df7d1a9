//! The document of both surfaces, for anybody to read: `GET /v1/openapi.json` and
//! `GET /reference/json`. Nothing is around it.

use std::sync::Mutex;

use serde_json::Value;
use svc_openapi::{Servers, document};

use super::request::Request;
use super::response::{ApiResponse, ApiResult};
use crate::engine::Hosts;

/// The document of the hosts that were asked last: it is made once for a mock that runs.
static LAST: Mutex<Option<(Servers, Value)>> = Mutex::new(None);

/// The document as it is.
pub(super) fn get(request: &mut Request<'_>) -> ApiResult {
    Ok(ApiResponse {
        status: 200,
        body: of(request.hosts),
        wait: None,
    })
}

fn of(hosts: &Hosts) -> Value {
    let servers = Servers::new(&hosts.open, &hosts.developer, &hosts.mcp);
    // What a thread that panicked left there is a whole document all the same.
    let mut last = LAST
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    match &*last {
        Some((of, document)) if *of == servers => document.clone(),
        _ => {
            let document = document(&servers);
            *last = Some((servers, document.clone()));
            document
        }
    }
}
