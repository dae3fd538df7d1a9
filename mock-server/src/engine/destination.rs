//! Validation of URLs that callers provide.
//!
//! An address literal is checked by its range. A host name is checked as text, and by the address
//! that was set for it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use svc_sdk::contract::limits::MAX_WEBHOOK_URL_LENGTH;
use url::{Host, Origin, Url};

use super::State;
use super::host_addresses::HostAddresses;

/// The origins whose webhooks a mock routes to a local server, each for one workspace or for all.
/// They count as public.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoutedOrigins(pub(crate) Vec<(Option<String>, Origin)>);

impl RoutedOrigins {
    fn includes(&self, workspace: &str, url: &Url) -> bool {
        let origin = url.origin();
        self.0.iter().any(|(owner, routed)| {
            *routed == origin && owner.as_ref().is_none_or(|owner| owner == workspace)
        })
    }
}

pub(crate) fn parse_public_https(
    text: &str,
    addresses: &HostAddresses,
) -> Result<Url, &'static str> {
    let url = parse_https(text)?;
    let authority = authority(text);
    if authority.contains('@') || !url.username().is_empty() || url.password().is_some() {
        return Err("must not contain credentials");
    }
    let public = match url.host() {
        None => false,
        Some(Host::Domain(name)) => {
            !is_local_name(name) && addresses.get(name).is_none_or(is_public)
        }
        // The parser also accepts octal, hexadecimal and shortened notations of IPv4 addresses,
        // which serve mostly to disguise an address. Only the dotted-decimal form is accepted.
        Some(Host::Ipv4(address)) => {
            is_public_v4(address) && host_of(authority) == address.to_string()
        }
        Some(Host::Ipv6(address)) => is_public_v6(address),
    };
    if public { Ok(url) } else { Err("must be on a public host") }
}

impl State {
    /// Checks that a webhook URL of a workspace is public HTTPS or has a route, and that it is not
    /// too long.
    pub(crate) fn check_webhook_url(&self, workspace: &str, text: &str) -> Result<(), String> {
        if text.chars().count() > MAX_WEBHOOK_URL_LENGTH {
            return Err(format!("must have at most {MAX_WEBHOOK_URL_LENGTH} characters"));
        }
        let Err(problem) = parse_public_https(text, &self.host_addresses) else { return Ok(()) };
        // A name whose address was set is judged by it, whether or not it has a route.
        let is_routed = |url: &Url| {
            self.routed_origins.includes(workspace, url)
                && url.host_str().is_none_or(|host| self.host_addresses.get(host).is_none())
        };
        let is_allowed = parse_https(text).is_ok_and(|url| is_routed(&url));
        if is_allowed { Ok(()) } else { Err(problem.to_owned()) }
    }
}

/// Parses an HTTPS URL on any host.
pub(crate) fn parse_https(text: &str) -> Result<Url, &'static str> {
    // The WHATWG parser drops whitespace and control characters and treats backslashes as
    // slashes. Other parsers do not, so such URLs are rejected.
    let is_unsafe = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if text.contains(is_unsafe) {
        return Err("must be a URL without whitespace, control characters or backslashes");
    }
    let has_scheme = text.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"));
    if !has_scheme {
        return Err("must be an https URL");
    }
    let url = Url::parse(text).map_err(|_| "must be a valid URL")?;
    if url.host_str().is_none_or(str::is_empty) || authority(text).is_empty() {
        return Err("must have a host");
    }
    Ok(url)
}

/// Returns the authority of an HTTPS URL: the text between the scheme and the path.
fn authority(text: &str) -> &str {
    let rest = text.get(8..).unwrap_or_default();
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Returns the host of an authority as it is written, without the port.
fn host_of(authority: &str) -> &str {
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

/// Returns whether a name is one of this machine or of a private network: one without a dot, or one
/// below a domain that no public name is below.
fn is_local_name(name: &str) -> bool {
    const PRIVATE: [&str; 5] = [".localhost", ".local", ".internal", ".lan", ".home.arpa"];
    let name = name.strip_suffix('.').unwrap_or(name);
    !name.contains('.') || PRIVATE.iter().any(|domain| name.ends_with(domain))
}

/// The IPv4 special-purpose and multicast blocks: first address and prefix length.
const SPECIAL_V4: [([u8; 4], u32); 18] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 31, 196, 0], 24),
    ([192, 52, 193, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([192, 175, 48, 0], 24),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// The IPv6 special-purpose blocks within global unicast (`2000::/3`).
///
/// Addresses outside of global unicast are never public. That covers loopback, IPv4-mapped,
/// IPv4-compatible, NAT64, discard-only, unique local, link-local, site-local and multicast
/// addresses.
const SPECIAL_V6: [([u16; 8], u32); 5] = [
    // IETF protocol assignments: Teredo, benchmarking, AMT, ORCHID and others.
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
    // Documentation.
    ([0x2001, 0x0db8, 0, 0, 0, 0, 0, 0], 32),
    // 6to4.
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16),
    // AS112.
    ([0x2620, 0x004f, 0x8000, 0, 0, 0, 0, 0], 48),
    // Documentation.
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
];

/// Returns `true` if nothing can be fetched from the host of a URL: a name below `.invalid`.
pub(crate) fn is_unreachable(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_suffix('.').unwrap_or(host);
    host == "invalid" || host.ends_with(".invalid")
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !SPECIAL_V4.iter().any(|(first, length)| {
        let first = Ipv4Addr::from(*first).to_bits();
        (bits ^ first).checked_shr(32 - length).unwrap_or(0) == 0
    })
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let bits = address.to_bits();
    let within = |first: Ipv6Addr, length: u32| (bits ^ first.to_bits()) >> (128 - length) == 0;
    within(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3)
        && !SPECIAL_V6.iter().any(|(first, length)| within(Ipv6Addr::from(*first), *length))
}
