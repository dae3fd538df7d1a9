//! Routes that deliver webhooks of a public origin to a local server.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};
use url::{Host, Url};

/// A route for webhooks from a public origin to a local one, such as
/// `https://hooks.example=http://127.0.0.1:9000`.
///
/// The service accepts only public HTTPS destinations. A route delivers what is sent to such an
/// origin to a server on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookRoute {
    from: Url,
    to: Url,
}

impl WebhookRoute {
    /// Creates a route between two origins. The local one is on this machine, or one of `hosts`.
    pub(crate) fn new(from: &str, to: &str, hosts: &[String]) -> Result<Self, InvalidRoute> {
        let from = origin(
            from,
            "https",
            "the public origin is not an https origin",
            "the public origin has more than a scheme, a host and a port",
        )?;
        let to = origin(
            to,
            "http",
            "the local origin is not an http origin",
            "the local origin has more than a scheme, a host and a port",
        )?;
        let is_allowed = |host: &str| hosts.iter().any(|name| name.eq_ignore_ascii_case(host));
        if !is_loopback(&to) && !to.host_str().is_some_and(is_allowed) {
            return Err(InvalidRoute(
                "the local origin is not a loopback address (--allow-host NAME allows another host)",
            ));
        }
        Ok(Self { from, to })
    }

    /// Returns the public origin, such as `https://hooks.example`.
    #[must_use]
    pub fn from(&self) -> String {
        self.from.origin().ascii_serialization()
    }

    /// Returns the local origin that webhooks are delivered to.
    #[must_use]
    pub fn to(&self) -> String {
        self.to.origin().ascii_serialization()
    }
}

/// The connection and request target of a webhook that has a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The value of the `Host` header: the public host, with its port unless that is the default.
    pub(crate) public_host: String,
    pub(crate) path: String,
}

impl WebhookRoute {
    /// Returns the target of `url`, or `None` if the URL has another origin.
    pub(crate) fn target(&self, url: &str) -> Option<Target> {
        let url = Url::parse(url).ok()?;
        if url.origin() != self.from.origin() {
            return None;
        }
        let host = self.to.host_str()?;
        let public_host = match (url.host_str()?, url.port()) {
            (host, Some(port)) => format!("{host}:{port}"),
            (host, None) => host.to_owned(),
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Some(Target {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: self.to.port_or_known_default()?,
            public_host,
            path,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ActiveRoute {
    pub(crate) id: String,
    /// The workspace whose webhooks it delivers; `None` for all that have no route of their own.
    pub(crate) workspace: Option<String>,
    pub(crate) route: WebhookRoute,
}

impl ActiveRoute {
    pub(crate) fn view(&self) -> Value {
        json!({
            "id": self.id,
            "origin": self.route.from(),
            "to": self.route.to(),
            "workspace": self.workspace,
        })
    }

    /// Returns the workspace and the origin whose webhooks the route delivers.
    pub(crate) fn routed_origin(&self) -> (Option<String>, url::Origin) {
        (self.workspace.clone(), self.route.from.origin())
    }
}

impl fmt::Display for WebhookRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.from(), self.to())
    }
}

impl FromStr for WebhookRoute {
    type Err = InvalidRoute;

    fn from_str(text: &str) -> Result<Self, InvalidRoute> {
        let (from, to) = text.split_once('=').ok_or(InvalidRoute("missing `=`"))?;
        Self::new(from, to, &[])
    }
}

/// Parses an origin. The messages are for another scheme, and for a URL with a path or the like.
fn origin(
    text: &str,
    scheme: &str,
    other_scheme: &'static str,
    not_bare: &'static str,
) -> Result<Url, InvalidRoute> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == scheme);
    let url = url.ok_or(InvalidRoute(other_scheme))?;
    let is_bare = url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if is_bare { Ok(url) } else { Err(InvalidRoute(not_bare)) }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The error returned when a text is not a valid [`WebhookRoute`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidRoute(&'static str);

impl fmt::Display for InvalidRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(message) = self;
        write!(
            f,
            "{message}: expected a route such as https://hooks.example.com=http://127.0.0.1:9000"
        )
    }
}

impl std::error::Error for InvalidRoute {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_routes_from_an_https_origin_to_a_loopback_origin() {
        for text in [
            "https://hooks.example.com=http://127.0.0.1:9000",
            "https://hooks.example.com:8443=http://localhost:9000",
            "https://hooks.example.com=http://[::1]:9000",
        ] {
            let route: WebhookRoute = text.parse().unwrap();
            assert_eq!(route.to_string(), text);
        }
        let slashes = "https://Hooks.example.com/=http://127.0.0.1:80/";
        let route: WebhookRoute = slashes.parse().unwrap();
        assert_eq!(route.from(), "https://hooks.example.com");
        assert_eq!(route.to(), "http://127.0.0.1");
    }

    #[test]
    fn a_target_keeps_the_path_query_and_host_of_the_url() {
        let route: WebhookRoute =
            "https://hooks.example.com:8443=http://[::1]:9000".parse().unwrap();
        let target = route.target("https://HOOKS.example.com:8443/in%20to?a=b#c");
        let expected = Target {
            host: "::1".to_owned(),
            port: 9000,
            public_host: "hooks.example.com:8443".to_owned(),
            path: "/in%20to?a=b".to_owned(),
        };
        assert_eq!(target, Some(expected));
        for other in [
            "https://hooks.example.com/",
            "http://hooks.example.com:8443/",
            "https://example.com:8443/",
            "hooks",
        ] {
            assert_eq!(route.target(other), None, "{other}");
        }
        let default_port: WebhookRoute = "https://a.example=http://127.0.0.1".parse().unwrap();
        let target = default_port.target("https://a.example").unwrap();
        assert_eq!((target.port, target.path.as_str()), (80, "/"));
        assert_eq!(target.public_host, "a.example");
    }

    #[test]
    fn rejects_invalid_routes_with_a_reason() {
        let rows = [
            ("https://hooks.example.com", "missing `=`"),
            ("http://hooks.example.com=http://127.0.0.1", "public origin"),
            ("hooks.example.com=http://127.0.0.1", "public origin"),
            ("https://u:p@hooks.example.com=http://127.0.0.1", "public origin has more than"),
            ("https://hooks.example.com/in=http://127.0.0.1", "public origin has more than"),
            ("https://hooks.example.com?a=http://127.0.0.1", "public origin has more than"),
            ("https://hooks.example.com=https://127.0.0.1", "local origin is not an http origin"),
            ("https://hooks.example.com=http://127.0.0.1/in", "local origin has more than"),
            ("https://hooks.example.com=9000", "local origin"),
            ("https://hooks.example.com=http://192.168.1.2:9000", "loopback"),
            ("https://hooks.example.com=http://example.com", "loopback"),
        ];
        for (text, expected) in rows {
            let error = text.parse::<WebhookRoute>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
