//! Where webhooks to a public origin go instead, on this machine.

use std::fmt;
use std::str::FromStr;

use url::{Host, Url};

/// Webhooks to one origin are delivered to another: `https://hooks.example=http://127.0.0.1:9000`.
///
/// The service takes public HTTPS destinations only. A route brings what is sent there to a
/// program that listens here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookRoute {
    from: Url,
    to: Url,
}

impl WebhookRoute {
    /// The public origin, as `https://hooks.example`.
    #[must_use]
    pub fn from(&self) -> String {
        self.from.origin().ascii_serialization()
    }

    /// The origin that its webhooks are delivered to.
    #[must_use]
    pub fn to(&self) -> String {
        self.to.origin().ascii_serialization()
    }
}

/// Where a webhook is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The public host, with its port where that is not the usual one.
    pub(crate) public_host: String,
    /// With its query.
    pub(crate) path: String,
}

impl WebhookRoute {
    /// Where a URL is delivered; nowhere, if it is of another origin.
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

impl fmt::Display for WebhookRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.from(), self.to())
    }
}

impl FromStr for WebhookRoute {
    type Err = InvalidRoute;

    fn from_str(text: &str) -> Result<Self, InvalidRoute> {
        let (from, to) = text
            .split_once('=')
            .ok_or(InvalidRoute("there is no = in it"))?;
        let from = origin(from, "https", "the part before the = is no https origin")?;
        let to = origin(to, "http", "the part after the = is no http origin")?;
        if !is_loopback(&to) {
            return Err(InvalidRoute("the part after the = is not on this machine"));
        }
        Ok(Self { from, to })
    }
}

fn origin(text: &str, scheme: &str, otherwise: &'static str) -> Result<Url, InvalidRoute> {
    let url = Url::parse(text).map_err(|_| InvalidRoute(otherwise))?;
    let bare = url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if bare && url.scheme() == scheme {
        Ok(url)
    } else {
        Err(InvalidRoute(otherwise))
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A text that is no route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidRoute(&'static str);

impl fmt::Display for InvalidRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(what) = self;
        write!(
            f,
            "{what}; a route is https://hooks.example.com=http://127.0.0.1:9000"
        )
    }
}

impl std::error::Error for InvalidRoute {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_goes_from_a_public_https_origin_to_one_here() {
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
    fn a_url_of_the_origin_keeps_its_path_its_query_and_its_host() {
        let route: WebhookRoute = "https://hooks.example.com:8443=http://[::1]:9000"
            .parse()
            .unwrap();
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
        let usual: WebhookRoute = "https://a.example=http://127.0.0.1".parse().unwrap();
        let target = usual.target("https://a.example").unwrap();
        assert_eq!((target.port, target.path.as_str()), (80, "/"));
        assert_eq!(target.public_host, "a.example");
    }

    #[test]
    fn anything_else_is_refused_and_says_what_is_wrong() {
        let rows = [
            ("https://hooks.example.com", "no ="),
            ("http://hooks.example.com=http://127.0.0.1", "before"),
            ("hooks.example.com=http://127.0.0.1", "before"),
            ("https://u:p@hooks.example.com=http://127.0.0.1", "before"),
            ("https://hooks.example.com/in=http://127.0.0.1", "before"),
            ("https://hooks.example.com?a=http://127.0.0.1", "before"),
            ("https://hooks.example.com=https://127.0.0.1", "after"),
            ("https://hooks.example.com=http://127.0.0.1/in", "after"),
            ("https://hooks.example.com=9000", "after"),
            (
                "https://hooks.example.com=http://192.168.1.2:9000",
                "this machine",
            ),
            (
                "https://hooks.example.com=http://example.com",
                "this machine",
            ),
        ];
        for (text, why) in rows {
            let refused = text.parse::<WebhookRoute>().unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
