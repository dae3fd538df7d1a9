//! What is observed of requests, and what their client may send.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::Request;
use serde_json::Value;
use svc_sdk::contract::{Operation, RetryClass, Surface};

use super::books::client_of;
use super::fault::{MockReply, ServiceReply};
use super::oracle::Oracle;
use super::tools::{McpMessage, created_id, resource_id};
use super::transport::{CALL_HEADER, Network};

/// What the recorder knows of a request.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) operation: Option<Operation>,
    /// The message, if the request goes to the MCP endpoint.
    pub(super) message: Option<McpMessage>,
    /// When its client may send it again.
    class: Option<RetryClass>,
    /// The order that it submits.
    pub(super) order: Option<String>,
    /// The idempotency key of a submit.
    pub(super) key: Option<String>,
    /// What its attempts are recorded under: the call, or the key if no later call may repeat it.
    record: Option<String>,
    /// What its waits are recorded under. Another call does not know of them.
    waits: Option<String>,
    pub(super) credential: Option<String>,
    pub(super) label: String,
}

impl Network {
    /// Records a request, and checks what its client may send.
    pub(super) fn record(&self, request: &Request<Bytes>) -> Sent {
        let world = &self.world;
        let (host, path) = (request.uri().host().unwrap_or_default(), request.uri().path());
        let surface = match host {
            "open.svc.invalid" => Some(Surface::Open),
            "developer.svc.invalid" => Some(Surface::Developer),
            _ => None,
        };
        let method = request.method().as_str();
        let is_mcp = surface == Some(Surface::Developer) && path == "/mcp";
        let message = is_mcp.then(|| McpMessage::read(request.body())).flatten();
        let operation = match is_mcp {
            true => Some(Operation::Mcp),
            false => surface
                .and_then(|surface| Operation::route(surface, method, path))
                .map(|(operation, _)| operation),
        };
        let class = match &message {
            Some(message) => Some(message.retry_class()),
            None => operation.map(Operation::retry),
        };
        let header = |name: &str| Some(request.headers().get(name)?.to_str().ok()?.to_owned());
        let credential = header("authorization").or_else(|| header("x-api-key"));
        let keys = &world.credentials[self.client];
        let own = match surface {
            Some(Surface::Open) => Some(&keys.open),
            Some(_) => Some(&keys.developer),
            None => None,
        };
        let is_own = own.map(|key| format!("Bearer {key}")) == credential;
        let is_in_text = [&keys.open, &keys.developer].iter().any(|key| {
            request.uri().to_string().contains(key.as_str())
                || String::from_utf8_lossy(request.body()).contains(key.as_str())
        });
        if (credential.is_some() && !is_own) || is_in_text {
            world.violate(Oracle::Credential, format!("a request to {host} carries an API key"));
        }
        let is_alone = !is_mcp && !self.is_beside_another.load(Ordering::Relaxed);
        if let Some(credential) = credential.as_deref().filter(|_| !is_alone) {
            // Each call of a tool has a client of its own, which does not know what others spent.
            world.taint(credential);
        }
        let call = header(CALL_HEADER);
        let key = header("idempotency-key");
        let record = call.as_deref().zip(class).map(|(call, class)| {
            let key = key.as_deref().filter(|_| class == RetryClass::Unsent);
            record_name(call, key, class, message.as_ref())
        });
        let waits = call.as_deref().map(|call| waits_name(call, message.as_ref()));
        if let (Some(call), Some(record), Some(operation)) = (&call, &record, operation) {
            let now = world.now_ms();
            let record = world.update_call(record, |_| {});
            let is_repeatable = !matches!(class, Some(RetryClass::Unsent | RetryClass::Never));
            if record.is_ambiguous && !is_repeatable {
                world.violate(
                    Oracle::Once,
                    format!("{call} ({operation}) was sent again after an ambiguous failure"),
                );
            }
            let waits = waits.as_deref().map(|name| world.update_call(name, |_| {}));
            let closed_until_ms = waits.map_or(0, |it| it.closed_until_ms);
            if now < closed_until_ms {
                let early = closed_until_ms - now;
                world.violate(
                    Oracle::RateLimit,
                    format!("{call} ({operation}) was sent again {early} ms too early"),
                );
            }
        }
        world.lock().counts.requests += 1;
        let name = match (&message, operation) {
            (Some(message), _) => format!("mcp {}", message.method),
            (None, Some(operation)) => operation.name().to_owned(),
            (None, None) => format!("{method} {host}"),
        };
        let label = match &call {
            Some(call) => format!("{name} {call}"),
            None => format!("{name} {path}"),
        };
        Sent {
            operation,
            message,
            class,
            record,
            waits,
            order: call.as_deref().and_then(order_of).map(str::to_owned),
            key,
            credential,
            label,
        }
    }

    /// Records what the SDK is given.
    pub(super) fn observe(&self, sent: &Sent, reply: &ServiceReply) {
        let (Some(record), Some(waits)) = (&sent.record, &sent.waits) else { return };
        let (is_ambiguous, wait_ms) = match reply {
            Err(error) => (error.may_have_been_sent(), 0),
            Ok(reply) => {
                let is_conclusive = match reply.status.as_u16() {
                    502 | 503 if sent.class == Some(RetryClass::Never) => false,
                    200..300 | 429 | 502 | 503 => reply.is_envelope(),
                    500.. => false,
                    _ => true,
                };
                // A pause that is longer than the SDK would wait ends the call.
                (!is_conclusive, reply.retry_after_ms().unwrap_or_default())
            }
        };
        let closed_until_ms = self.world.now_ms() + wait_ms;
        self.world.update_call(record, |record| record.is_ambiguous |= is_ambiguous);
        self.world.update_call(waits, |record| {
            record.closed_until_ms = record.closed_until_ms.max(closed_until_ms);
        });
    }

    /// Records what the service did.
    pub(super) fn inspect(&self, sent: &Sent, answer: &MockReply) {
        let world = &self.world;
        let body = || serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
        if answer.status == 429 && body()["error"]["code"] == "rate_limited" {
            let credential = sent.credential.as_deref().unwrap_or_default();
            if !world.is_tainted(credential) {
                world.violate(
                    Oracle::RateLimit,
                    format!("{} met a 429 that it could have foreseen", sent.label),
                );
            }
        }
        let Some(operation) = sent.operation else { return };
        let order = sent.order.as_deref();
        if let Some(message) = &sent.message {
            // A tool that rejects its call names nothing.
            if message.is_paid()
                && let Some(id) = created_id(&body())
            {
                world.note_receipt(operation, order, &id);
            }
        } else if operation.retry().sends_idempotency_key() && answer.status.is_success() {
            if let Some(key) = &sent.key {
                world.note_accepted_key(operation, key);
            }
            match resource_id(&body()) {
                Some(id) => world.note_receipt(operation, order, &id),
                None => world.violate(
                    Oracle::NothingLost,
                    format!("{} has a receipt without an id", sent.label),
                ),
            }
        }
    }
}

/// Returns the order of a call, which is named `<order>#<call>`.
fn order_of(call: &str) -> Option<&str> {
    let order = call.split('#').next()?;
    client_of(order).map(|_| order)
}

/// Returns what the attempts of a call are recorded under.
///
/// The service does not promise to recognize the key of an operation of class `unsent`, nor of a tool
/// that is not documented to, so that not even another call may send them again.
fn record_name(
    call: &str,
    unsent_key: Option<&str>,
    class: RetryClass,
    message: Option<&McpMessage>,
) -> String {
    match (unsent_key, message) {
        (Some(key), _) => key.to_owned(),
        (None, Some(message)) if message.is_paid() && class != RetryClass::Key => {
            order_of(call).unwrap_or(call).to_owned()
        }
        (None, message) => waits_name(call, message),
    }
}

/// Returns what the waits of a call are recorded under.
fn waits_name(call: &str, message: Option<&McpMessage>) -> String {
    match message {
        // The messages of a handshake bear the name of the call that they precede.
        Some(message) => format!("{call} {}", message.method),
        None => call.to_owned(),
    }
}

/// Notes that the SDK gave up on a request whose outcome it does not know.
pub(super) struct Abandoned<'a> {
    pub(super) network: &'a Network,
    pub(super) sent: &'a Sent,
    pub(super) is_armed: bool,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if self.is_armed {
            self.network.taint(self.sent);
            if let Some(record) = &self.sent.record {
                self.network.world.update_call(record, |record| record.is_ambiguous = true);
            }
        }
    }
}
