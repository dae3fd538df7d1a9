//! Checks of responses against the service's OpenAPI document.

use std::sync::LazyLock;

use serde_json::Value;
use svc_openapi::{Servers, document, error_codes};
use svc_sdk::contract::{Operation, Surface};

use crate::frontend::Host;
use crate::response::Response;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| document(&Servers::default()));

/// Asserts that the document lists the response's status and error code for the operation.
///
/// Errors that a `[mock:refuse=…]` directive requests are exempt: it accepts any code.
#[track_caller]
pub(crate) fn check(host: Host, method: &str, path: &str, body: &[u8], response: &Response) {
    let surface = match host {
        Host::Open => Surface::Open,
        Host::Developer => Surface::Developer,
        Host::Media | Host::Control => return,
    };
    let path = path.split('?').next().unwrap_or_default();
    let Some((operation, _)) = Operation::route(surface, method, path) else {
        return;
    };
    if operation.is_hidden() || !response.is_json() || has_refuse_directive(body) {
        return;
    }
    let documented = &DOCUMENT["paths"][operation.path()][method.to_ascii_lowercase()]["responses"];
    let status = response.status();
    assert!(
        documented.get(status.to_string()).is_some(),
        "the document of {operation} does not list {status}:\n{response:?}"
    );
    if status >= 300 {
        let code = response.code();
        assert!(
            error_codes(operation)
                .iter()
                .any(|known| known.as_str() == code),
            "the document of {operation} does not list {code}:\n{response:?}"
        );
    }
}

fn has_refuse_directive(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    ["[mock:refuse=", "%5Bmock:refuse=", "%5Bmock%3Arefuse"]
        .iter()
        .any(|directive| text.contains(directive))
}
