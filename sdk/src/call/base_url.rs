//! The only origin that requests with a credential are sent to: the configured one.

use std::net::IpAddr;

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use url::{Host, Url};

use crate::error::{Error, Result};

/// The configured base URL of a surface. A path prefix is kept.
#[derive(Clone, Debug)]
pub(crate) struct BaseUrl {
    text: String,
    scheme: Scheme,
    authority: Authority,
    host: String,
    port: u16,
    path: String,
}

impl BaseUrl {
    pub(crate) fn parse(text: &str, http_hosts: &HttpHosts) -> Result<Self> {
        // The text is not shown before it is known to hold no credential: it may even be a key that
        // was set in the wrong place.
        let url = Url::parse(text).map_err(|error| {
            let why = format!("invalid base URL: {error}; expected one that begins with https://");
            Error::configuration(why)
        })?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Error::configuration(
                "invalid base URL: it must not contain a user name or a password",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(Error::configuration(
                "invalid base URL: it must not contain a query or a fragment",
            ));
        }
        if !http_hosts.permits(&url) {
            return Err(Error::configuration(format!(
                "invalid base URL `{text}`: expected https:// (http:// is accepted for loopback hosts only)"
            )));
        }
        let invalid = |error| Error::configuration(format!("invalid base URL `{text}`: {error}"));
        Ok(Self {
            text: url.as_str().trim_end_matches('/').to_owned(),
            scheme: Scheme::try_from(url.scheme()).map_err(invalid)?,
            authority: Authority::try_from(url.authority()).map_err(invalid)?,
            host: url.host_str().unwrap_or_default().to_owned(),
            port: url.port_or_known_default().unwrap_or_default(),
            path: url.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Returns the URL of a path that begins with a slash, with or without a query. The empty path is
    /// the base URL itself.
    pub(crate) fn join(&self, path: &str) -> Result<Uri, http::Error> {
        let mut target = String::with_capacity(self.path.len() + path.len());
        target.push_str(&self.path);
        target.push_str(path);
        if target.is_empty() {
            target.push('/');
        }
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(PathAndQuery::try_from(target)?);
        Ok(Uri::from_parts(parts)?)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the path prefix, without a slash at its end.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

/// The hosts that plain http is allowed to, beside loopback hosts.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpHosts(Vec<Host>);

impl HttpHosts {
    pub(crate) fn parse(names: &[String]) -> Result<Self> {
        let invalid = |name: &str| {
            Error::configuration(format!(
                "invalid host `{name}` of allow_http(): expected a host without scheme and port, such as `mock`"
            ))
        };
        let hosts = names.iter().map(|name| match Host::parse(name) {
            // A URL may contain this character too, which would not stand for other hosts.
            Ok(Host::Domain(host)) if !host.contains('*') => {
                Ok(Host::Domain(host.trim_end_matches('.').to_owned()))
            }
            Ok(host @ (Host::Ipv4(_) | Host::Ipv6(_))) => Ok(host),
            _ => Err(invalid(name)),
        });
        Ok(Self(hosts.collect::<Result<_>>()?))
    }

    /// Returns whether requests may be sent to that URL: by https, or by http to a loopback host or
    /// one that was allowed.
    pub(crate) fn permits(&self, url: &Url) -> bool {
        match url.scheme() {
            "https" => url.has_host(),
            "http" => is_loopback(url) || self.contains(url),
            _ => false,
        }
    }

    fn contains(&self, url: &Url) -> bool {
        let host = match url.host() {
            Some(Host::Domain(name)) => Host::Domain(name.trim_end_matches('.')),
            Some(host) => host,
            None => return false,
        };
        self.0.iter().any(|allowed| *allowed == host)
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn parse(text: &str) -> Result<BaseUrl> {
        BaseUrl::parse(text, &HttpHosts::default())
    }

    fn http_hosts(names: &[&str]) -> Result<HttpHosts> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        HttpHosts::parse(&names)
    }

    #[test]
    fn plain_http_is_accepted_for_loopback_hosts_only() {
        for valid in [
            "https://api.example",
            "http://127.0.0.1:4010",
            "http://localhost/x/",
            "http://[::1]:1",
            "http://a.localhost",
        ] {
            assert!(parse(valid).is_ok(), "{valid}");
        }
        for invalid in [
            "http://api.example",
            "http://10.0.0.1",
            "ftp://localhost",
            "api.example",
            "",
            "https://u:p@a.example",
            "https://a.example/?x",
            "http://127.0.0.1.evil.example",
        ] {
            assert!(parse(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn the_empty_path_is_the_base_url() {
        for (base, expected) in [
            ("https://mcp.example", "https://mcp.example/"),
            ("https://api.example/mcp", "https://api.example/mcp"),
        ] {
            let url = parse(base).unwrap().join("").unwrap();
            assert_eq!(url.to_string(), expected);
        }
    }

    #[test]
    fn a_path_prefix_is_kept() {
        let base = parse("https://api.example/prefix/").unwrap();
        let url = base.join("/v1/jobs?limit=5").unwrap();
        assert_eq!(url, "https://api.example/prefix/v1/jobs?limit=5");
    }

    #[test]
    fn a_credential_in_the_url_is_not_shown() {
        for text in [
            "https://user:canary@a.example",
            "https://user:canary@a.example:99999",
            "https://a.example/?key=canary",
            "https://a.example/#canary",
            "svc_open_canary",
        ] {
            let error = parse(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"), "{text}");
        }
    }

    #[test]
    fn plain_http_is_accepted_for_named_hosts() {
        let hosts = http_hosts(&["Mock", "svc.default.svc.cluster.local.", "10.0.0.5"]).unwrap();
        for valid in [
            "http://mock:4010/prefix",
            "http://MOCK.:4010",
            "http://svc.default.svc.cluster.local",
            "http://10.0.0.5:80",
            "http://127.0.0.1",
            "https://api.example",
        ] {
            assert!(BaseUrl::parse(valid, &hosts).is_ok(), "{valid}");
        }
        for invalid in [
            "http://a.mock",
            "http://mock.example",
            "http://mock@api.example",
            "http://10.0.0.6",
            "http://api.example",
            "ftp://mock",
        ] {
            assert!(BaseUrl::parse(invalid, &hosts).is_err(), "{invalid}");
        }
    }

    #[test]
    fn an_allowed_host_is_a_host_alone() {
        for invalid in ["", "mock:4010", "http://mock", "mock/x", "*", "*.example", "a b"] {
            let error = http_hosts(&[invalid]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{invalid}: {error}");
        }
    }
}
