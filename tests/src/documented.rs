//! Whether an answer is one that the service's document has.

use std::sync::LazyLock;

use serde_json::Value;
use svc_openapi::{Servers, document, error_codes};
use svc_sdk::contract::{Operation, Surface};

use crate::answer::Answer;
use crate::face::Host;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| document(&Servers::default()));

/// Asserts that the document has the answer's status at the operation that the request addresses,
/// and the code with that status. What a magic word asked to be refused with is anybody's.
#[track_caller]
pub(crate) fn check(host: Host, method: &str, path: &str, body: &[u8], answer: &Answer) {
    let surface = match host {
        Host::Open => Surface::Open,
        Host::Developer => Surface::Developer,
        Host::Media | Host::Control => return,
    };
    let path = path.split('?').next().unwrap_or_default();
    let Some((operation, _)) = Operation::route(surface, method, path) else {
        return;
    };
    if operation.is_hidden() || !answer.is_json() || asks_for_a_refusal(body) {
        return;
    }
    let described = &DOCUMENT["paths"][operation.path()][method.to_ascii_lowercase()]["responses"];
    let status = answer.status();
    assert!(
        described.get(status.to_string()).is_some(),
        "{operation} answers {status}, which its document lacks:\n{answer:?}"
    );
    if status >= 300 {
        let code = answer.code();
        assert!(
            error_codes(operation)
                .iter()
                .any(|known| known.as_str() == code),
            "{operation} answers {code}, which its document lacks:\n{answer:?}"
        );
    }
}

fn asks_for_a_refusal(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    text.contains("[mock:refuse=")
        || text.contains("%5Bmock:refuse=")
        || text.contains("%5Bmock%3Arefuse")
}
