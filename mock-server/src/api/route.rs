//! Routing: from the host, method and path of a request to what handles it.

use http::Method;
use svc_sdk::contract::{Auth, Operation, RateLimitBucket, Surface};

use crate::engine::{FaultTarget, Host, HostRequest, Hosts, State};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// An operation, with the values of the parameters in its path.
    Operation(Operation, Vec<String>),
    /// A path that does not support the method of the request.
    OtherMethod {
        allow: &'static str,
        /// Whether the path can be requested without a key.
        public: bool,
    },
    /// A file of the media host, by the part of the path after `/artifacts/`.
    Artifact(String),
    /// A checkout page of the media host, by its token.
    Checkout(String),
    Unknown,
}

/// Returns whether a request is for one of the creates that the service hides. The mock does not have
/// them.
fn is_hidden_create(method: &str, path: &str) -> bool {
    method == "POST" && matches!(path, "/v1/avatars" | "/v1/avatar-videos")
}

impl Route {
    pub(super) fn resolve(call: &HostRequest, hosts: &Hosts) -> Self {
        let path = call.request.uri().path();
        match call.host {
            Host::Developer if hosts.is_mcp(path) => match *call.request.method() {
                Method::POST => Self::Operation(Operation::Mcp, Vec::new()),
                _ => Self::OtherMethod { allow: "POST", public: false },
            },
            host => match hosts.path_below(host, path) {
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
        let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
        if let Some((operation, segments)) = Operation::route(surface, method, path) {
            return Self::Operation(operation, segments);
        }
        if is_hidden_create(method, path) {
            return Self::Unknown;
        }
        let read = Operation::route(surface, "GET", path);
        let write = Operation::route(surface, "POST", path);
        let allow = match (&read, &write) {
            (None, None) => return Self::Unknown,
            (Some(_), None) => "GET, HEAD",
            (None, Some(_)) => "POST",
            (Some(_), Some(_)) => "GET, HEAD, POST",
        };
        let public =
            [read, write].iter().flatten().any(|(operation, _)| operation.auth() == Auth::Public);
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

    /// Returns the workspace that a file or a checkout page belongs to.
    pub(super) fn owner<'s>(&self, state: &'s State) -> Option<&'s str> {
        match self {
            Self::Artifact(file) => {
                let token = file.split('.').next()?;
                let run = state.runs.by_token(token).map(|(run, _)| run.config.workspace.as_str());
                run.or_else(|| state.jobs.by_token(token).map(|(job, _)| &*job.workspace))
            }
            Self::Checkout(token) => Some(&state.top_ups.by_token(token)?.workspace),
            _ => None,
        }
    }

    /// Returns what fault rules call the route.
    pub(super) fn fault_target(&self) -> Option<FaultTarget> {
        match self {
            Self::Operation(operation, _) => Some(FaultTarget::Operation(*operation)),
            Self::Artifact(_) => Some(FaultTarget::Artifact),
            Self::Checkout(_) => Some(FaultTarget::Checkout),
            Self::OtherMethod { .. } | Self::Unknown => None,
        }
    }

    /// Returns the name of the route in the request log.
    pub(super) fn name(&self) -> Option<&'static str> {
        self.fault_target().map(FaultTarget::name)
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

    pub(super) fn rate_limit_bucket(&self, method: &Method) -> RateLimitBucket {
        match self {
            Self::Operation(operation, _) => operation.rate_limit_bucket(),
            _ if *method == Method::GET || *method == Method::HEAD => RateLimitBucket::Read,
            _ => RateLimitBucket::Write,
        }
    }
}
