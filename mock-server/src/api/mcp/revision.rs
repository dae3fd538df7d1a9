//! What the protocol requires of HTTP requests: the `Origin` and `Accept` headers, and the revision of
//! the protocol. In the current revision, every request names its revision; in the previous one, client
//! and server agree on it in `initialize`.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use http::{HeaderMap, header};
use serde_json::{Map, Value};
use url::{Host, Url};

use super::message::{RpcError, RpcRequest};
use crate::engine::Hosts;

pub(super) const CURRENT: &str = "2026-07-28";
/// The revisions that client and server agree on in `initialize`, newest first.
pub(super) const HANDSHAKE: [&str; 3] = [PREVIOUS, "2025-06-18", "2025-03-26"];
const PREVIOUS: &str = "2025-11-25";
/// The supported revisions, newest first.
pub(super) const SUPPORTED: [&str; 4] = [CURRENT, PREVIOUS, "2025-06-18", "2025-03-26"];

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Revision {
    /// Every request names its revision in `_meta`, and repeats parts of the message in headers.
    Stateless,
    /// The revision is agreed on in `initialize`, and named in a header afterwards.
    Handshake,
}

impl Revision {
    /// Returns the style of a request. A request without any revision has the older style, because
    /// its clients do not send the header with `initialize`.
    pub(super) fn detect(rpc_request: &RpcRequest, headers: &HeaderMap) -> Result<Self, RpcError> {
        let meta = rpc_request.params.get("_meta").and_then(Value::as_object);
        let requested = meta.and_then(|meta| meta.get(VERSION));
        let header = single(headers, "mcp-protocol-version")?;
        match (requested, header) {
            (None, None) => Ok(Self::Handshake),
            (None, Some(header)) if HANDSHAKE.contains(&header) => Ok(Self::Handshake),
            (None, Some(CURRENT)) => {
                let message = format!("`params._meta` must have `{VERSION}` and `{CAPABILITIES}`");
                Err(RpcError::invalid_params(message))
            }
            (None, Some(other)) => Err(RpcError::unsupported_version(other, &SUPPORTED)),
            (Some(requested), header) => {
                check_stateless(rpc_request, meta, requested, header, headers)?;
                Ok(Self::Stateless)
            }
        }
    }
}

/// Checks the headers and the `_meta` field of a request in the stateless style.
fn check_stateless(
    rpc_request: &RpcRequest,
    meta: Option<&Map<String, Value>>,
    requested: &Value,
    header: Option<&str>,
    headers: &HeaderMap,
) -> Result<(), RpcError> {
    if header.is_none() || header != requested.as_str() {
        let message = "header MCP-Protocol-Version must match the revision in `params._meta`";
        return Err(RpcError::header_mismatch(message));
    }
    if single(headers, "mcp-method")? != Some(rpc_request.method.as_str()) {
        let message = "header Mcp-Method must match the method of the message";
        return Err(RpcError::header_mismatch(message));
    }
    if rpc_request.method == "tools/call"
        && let Some(name) = rpc_request.params.get("name").and_then(Value::as_str)
    {
        let header = single(headers, "mcp-name")?;
        // The name may also be encoded in Base64.
        let encoded = || format!("=?base64?{}?=", BASE64_STANDARD.encode(name));
        if header != Some(name) && header != Some(encoded().as_str()) {
            let message = "header Mcp-Name must match the name of the tool";
            return Err(RpcError::header_mismatch(message));
        }
    }
    match requested.as_str() {
        Some(CURRENT) => {}
        other => {
            let requested = other.unwrap_or_default();
            return Err(RpcError::unsupported_version(requested, &SUPPORTED));
        }
    }
    let capabilities = meta.and_then(|meta| meta.get(CAPABILITIES));
    match capabilities {
        Some(Value::Object(_)) => Ok(()),
        _ => {
            let message = format!("`{CAPABILITIES}` in `params._meta` must be an object");
            Err(RpcError::invalid_params(message))
        }
    }
}

/// Returns the value of a header, which must not be repeated.
fn single<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| {
            RpcError::header_mismatch(format!("header {name} has invalid characters"))
        }),
        (Some(_), Some(_)) => {
            let message = format!("header {name} must not be repeated");
            Err(RpcError::header_mismatch(message))
        }
    }
}

/// Checks the `Origin` and `Accept` headers. Returns the status and the error of a rejection.
pub(super) fn check_transport(headers: &HeaderMap, hosts: &Hosts) -> Result<(), (u16, RpcError)> {
    let rejected = |status, message: &str| Err((status, RpcError::invalid_request(message)));
    if !headers
        .get_all(header::ORIGIN)
        .iter()
        .all(|origin| is_allowed_origin(origin.as_bytes(), hosts))
    {
        return rejected(403, "Origin must be local or that of the endpoint");
    }
    if !accepts(headers, "application", "json") {
        return rejected(406, "Accept must list application/json");
    }
    Ok(())
}

/// Returns whether a web page may call the endpoint: only pages from this machine or from the
/// endpoint's own origin. This prevents DNS rebinding attacks.
fn is_allowed_origin(origin: &[u8], hosts: &Hosts) -> bool {
    let url = std::str::from_utf8(origin).ok().and_then(|origin| Url::parse(origin).ok());
    let Some(url) = url else { return false };
    let local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    local || Url::parse(&hosts.mcp).is_ok_and(|own| own.origin() == url.origin())
}

/// Returns whether a media type is acceptable. Without the header, every type is.
fn accepts(headers: &HeaderMap, kind: &str, subtype: &str) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().peekable();
    if accepted.peek().is_none() {
        return true;
    }
    accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|range| range.split(';').next())
        .any(|range| {
            let range = range.trim().to_ascii_lowercase();
            range
                .split_once('/')
                .is_some_and(|(k, s)| (k == kind && (s == subtype || s == "*")) || range == "*/*")
        })
}
