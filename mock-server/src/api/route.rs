//! Routing: from the host, method and path of a request to what handles it.

use http::Method;
use svc_sdk::contract::{Auth, Operation, RateLimitBucket, Surface};

use crate::engine::fault_rules::{ARTIFACT, CHECKOUT};
use crate::engine::{Call, Host, Hosts};

/// The target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// An operation, with the values of the parameters in its path.
    Operation(Operation, Vec<String>),
    /// A path that does not support the method of the request.
    OtherMethod {
        /// The value of `Allow`.
        allow: &'static str,
        /// Whether the path can be requested without a key.
        public: bool,
    },
    /// A file of the media host, by the part of the path after `/artifacts/`.
    Artifact(String),
    /// A checkout page of the media host, by its token.
    Checkout(String),
    /// An unknown path.
    Unknown,
}

impl Route {
    /// Returns the route of a request.
    pub(super) fn resolve(call: &Call, hosts: &Hosts) -> Self {
        let path = call.request.uri().path();
        match call.host {
            Host::Developer if hosts.is_mcp(path) => match *call.request.method() {
                Method::POST => Self::Operation(Operation::Mcp, Vec::new()),
                _ => Self::OtherMethod {
                    allow: "POST",
                    public: false,
                },
            },
            host => match hosts.below(host, path) {
                None => Self::Unknown,
                Some(path) => match host {
                    Host::Open => Self::resolve_surface(Surface::Open, call.request.method(), path),
                    Host::Developer => {
                        Self::resolve_surface(Surface::Developer, call.request.method(), path)
                    }
                    Host::Media => Self::resolve_media(path),
                    Host::Control => Self::Unknown,
                },
            },
        }
    }

    fn resolve_surface(surface: Surface, method: &Method, path: &str) -> Self {
        let method = if *method == Method::HEAD {
            "GET"
        } else {
            method.as_str()
        };
        if let Some((operation, segments)) = Operation::route(surface, method, path) {
            return Self::Operation(operation, segments);
        }
        let read = Operation::route(surface, "GET", path);
        let write = Operation::route(surface, "POST", path);
        let allow = match (&read, &write) {
            (None, None) => return Self::Unknown,
            (Some(_), None) => "GET, HEAD",
            (None, Some(_)) => "POST",
            (Some(_), Some(_)) => "GET, HEAD, POST",
        };
        let public = [read, write]
            .iter()
            .flatten()
            .any(|(operation, _)| operation.auth() == Auth::Public);
        Self::OtherMethod { allow, public }
    }

    fn resolve_media(path: &str) -> Self {
        let mut segments = path.trim_start_matches('/').split('/');
        match (segments.next(), segments.next(), segments.next()) {
            (Some("artifacts"), Some(file), None) if !file.is_empty() => {
                Self::Artifact(file.to_owned())
            }
            (Some("checkout"), Some(token), None) if !token.is_empty() => {
                Self::Checkout(token.to_owned())
            }
            _ => Self::Unknown,
        }
    }

    /// Returns the name of the route in the journal and in fault rules.
    pub(super) fn name(&self) -> Option<&'static str> {
        match self {
            Self::Operation(operation, _) => Some(operation.name()),
            Self::Artifact(_) => Some(ARTIFACT),
            Self::Checkout(_) => Some(CHECKOUT),
            Self::OtherMethod { .. } | Self::Unknown => None,
        }
    }

    /// Returns the operation of a surface; `None` for the media host and unknown paths.
    pub(super) fn operation(&self) -> Option<Operation> {
        match self {
            Self::Operation(operation, _) => Some(*operation),
            _ => None,
        }
    }

    pub(super) fn is_public(&self) -> bool {
        match self {
            Self::Operation(operation, _) => operation.auth() == Auth::Public,
            Self::OtherMethod { public, .. } => *public,
            Self::Artifact(_) | Self::Checkout(_) => true,
            Self::Unknown => false,
        }
    }

    /// Returns the rate limit bucket that the request is counted in.
    pub(super) fn rate_limit_bucket(&self, method: &Method) -> RateLimitBucket {
        match self {
            Self::Operation(operation, _) => operation.rate_limit_bucket(),
            _ if *method == Method::GET || *method == Method::HEAD => RateLimitBucket::Read,
            _ => RateLimitBucket::Write,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn route(host: Host, method: &str, uri: &str) -> Route {
        let request = http::Request::builder()
            .method(method)
            .uri(uri)
            .body(Bytes::new())
            .unwrap();
        let call = Call {
            host,
            peer: [127, 0, 0, 1].into(),
            request,
        };
        Route::resolve(&call, &Hosts::default())
    }

    #[test]
    fn requests_are_routed_to_operations() {
        let status = Route::Operation(Operation::JobsStatus, vec!["job_1".to_owned()]);
        for host in [Host::Open, Host::Developer] {
            assert_eq!(route(host, "GET", "/v1/jobs/job_1/status?x=y"), status);
            assert_eq!(route(host, "HEAD", "/v1/jobs/job_1/status"), status);
        }
        assert_eq!(
            route(Host::Developer, "POST", "/mcp"),
            Route::Operation(Operation::Mcp, vec![])
        );
        assert_eq!(route(Host::Open, "POST", "/mcp"), Route::Unknown);
        assert_eq!(route(Host::Control, "GET", "/v1/jobs"), Route::Unknown);
    }

    #[test]
    fn known_paths_list_their_methods() {
        for (method, path, allow, public) in [
            ("PUT", "/v1/jobs", "GET, HEAD", false),
            ("DELETE", "/v1/jobs/job_1/cancel", "POST", false),
            (
                "PATCH",
                "/v1/formats/fmt_demo/runs",
                "GET, HEAD, POST",
                false,
            ),
            ("POST", "/v1/health", "GET, HEAD", true),
            ("GET", "/mcp", "POST", false),
        ] {
            assert_eq!(
                route(Host::Developer, method, path),
                Route::OtherMethod { allow, public },
                "{path}"
            );
        }
        for path in ["/", "/v1", "/v1/jobs/", "/v2/jobs", "//v1/jobs"] {
            assert_eq!(route(Host::Open, "GET", path), Route::Unknown, "{path}");
        }
    }

    #[test]
    fn the_media_host_serves_files_and_checkouts() {
        assert_eq!(
            route(Host::Media, "GET", "/artifacts/x.png"),
            Route::Artifact("x.png".to_owned())
        );
        assert_eq!(
            route(Host::Media, "POST", "/checkout/t"),
            Route::Checkout("t".to_owned())
        );
        for path in [
            "/",
            "/artifacts",
            "/artifacts/",
            "/artifacts/x/y",
            "/v1/jobs",
        ] {
            assert_eq!(route(Host::Media, "GET", path), Route::Unknown, "{path}");
        }
    }
}
