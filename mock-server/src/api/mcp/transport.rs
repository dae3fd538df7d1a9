//! Requirements of the protocol for HTTP requests: the `Origin` and `Accept` headers.

use http::{HeaderMap, header};
use url::{Host, Url};

use super::message::RpcError;
use crate::engine::Hosts;

/// Checks the `Origin` and `Accept` headers. Returns the status and the error of a rejection.
pub(super) fn check(headers: &HeaderMap, hosts: &Hosts) -> Result<(), (u16, RpcError)> {
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
