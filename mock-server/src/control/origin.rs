//! The protection of the control port from web pages of other origins.
//!
//! A web page can make its visitor's browser send requests to a local port. Such requests have the
//! page's `Origin`, or, if the page's own name was made to resolve to this machine, its `Host`.

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderValue, Request, StatusCode, Uri};

use super::error::ControlApiError;

const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Checks that a request names this mock as its host, and that no other origin has sent it.
pub(super) fn check<B>(request: &Request<B>, names: &[String]) -> Result<(), ControlApiError> {
    let headers = request.headers();
    if headers.get_all(HOST).iter().nth(1).is_some() {
        return Err(ControlApiError::several_hosts());
    }
    let host =
        match (request.uri().authority(), headers.get(HOST)) {
            (Some(authority), _) => Some(authority.clone()),
            (None, Some(host)) => Some(authority(host).ok_or_else(|| {
                foreign_host(&String::from_utf8_lossy(host.as_bytes()), names, "")
            })?),
            // Browsers always send the host.
            (None, None) => None,
        };
    if let Some(host) = &host
        && !is_accepted(host, names)
    {
        let advice = format!(" (start the mock with --allow-host {} to accept it)", host.host());
        return Err(foreign_host(host.as_str(), names, &advice));
    }
    for origin in headers.get_all(ORIGIN) {
        let sender = origin.to_str().ok().and_then(|text| text.parse::<Uri>().ok());
        let sender = sender.as_ref().and_then(Uri::authority);
        if !sender.is_some_and(|sender| is_accepted(sender, names)) {
            return Err(foreign_origin(origin));
        }
    }
    Ok(())
}

fn authority(host: &HeaderValue) -> Option<Authority> {
    host.to_str().ok()?.parse().ok()
}

/// Returns whether a name is one of the loopback interface or of the configured names. The port is
/// not compared, because it may be forwarded.
fn is_accepted(authority: &Authority, names: &[String]) -> bool {
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        || names.iter().any(|name| name.eq_ignore_ascii_case(host))
}

fn foreign_host(host: &str, names: &[String], advice: &str) -> ControlApiError {
    let names = names.iter().map(String::as_str);
    let others = names.filter(|name| !LOOPBACK.contains(name));
    let accepted: Vec<_> = LOOPBACK.into_iter().chain(others).collect();
    let message = format!("invalid host {host:?}: expected {}{advice}", accepted.join(", "));
    ControlApiError::new(StatusCode::MISDIRECTED_REQUEST, "foreign_host", message)
}

fn foreign_origin(origin: &HeaderValue) -> ControlApiError {
    let origin = String::from_utf8_lossy(origin.as_bytes());
    let message = format!(
        "requests from the origin {origin:?} are not accepted: \
         only the mock's own pages and programs may use the control API"
    );
    ControlApiError::new(StatusCode::FORBIDDEN, "foreign_origin", message)
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    /// Returns the status and message that a request is refused with.
    fn refusal(headers: &[(HeaderName, &str)], names: &[String]) -> Option<(u16, String)> {
        let mut request = Request::post("/reset");
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let checked = check(&request.body(()).unwrap(), names);
        checked.err().map(|error| (error.status.as_u16(), error.message))
    }

    #[test]
    fn only_this_machine_and_configured_hosts_are_accepted() {
        let names = ["mock".to_owned()];
        let status = |headers: &[(HeaderName, &str)]| refusal(headers, &names).map(|it| it.0);
        for host in ["127.0.0.1:4013", "localhost:4013", "LOCALHOST", "[::1]:4013", "mock:4013"] {
            let origin = format!("http://{host}");
            for headers in [
                &[(HOST, host)][..],
                &[(HOST, host), (ORIGIN, &origin)],
                &[(HOST, "127.0.0.1:4013"), (ORIGIN, &origin)],
            ] {
                assert_eq!(status(headers), None, "{headers:?}");
            }
        }
        assert_eq!(status(&[]), None);
        assert_eq!(status(&[(HOST, "localhost"), (HOST, "localhost")]), Some(400));
        for host in [
            "evil.example",
            "evil.example:4013",
            "127.0.0.1.evil.example:4013",
            "localhost.evil.example",
            "10.0.0.1:4013",
            "mock.evil.example",
            "a b",
            "",
        ] {
            assert_eq!(status(&[(HOST, host)]), Some(421), "{host}");
            let origin = format!("https://{host}");
            assert_eq!(status(&[(HOST, "localhost"), (ORIGIN, &origin)]), Some(403), "{origin}");
        }
        for origin in ["null", "", "file://"] {
            assert_eq!(status(&[(HOST, "localhost"), (ORIGIN, origin)]), Some(403), "{origin}");
        }
    }

    #[test]
    fn the_message_says_how_to_accept_a_host() {
        for names in [vec![], vec!["127.0.0.1".to_owned()]] {
            let (_, message) = refusal(&[(HOST, "mock:4013")], &names).unwrap();
            assert_eq!(
                message,
                "invalid host \"mock:4013\": expected 127.0.0.1, localhost, [::1] \
                 (start the mock with --allow-host mock to accept it)"
            );
        }
    }
}
