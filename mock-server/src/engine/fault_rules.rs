//! Fault injection rules, which make matching requests fail.

use serde::{Deserialize, Serialize, Serializer};
use svc_openapi::error_codes;
use svc_sdk::contract::{ErrorCode, Operation, Surface};

use super::directives::nearest;
use super::{ControlError, Host, PublicSurface};
use crate::rng::Rng;

/// The requests that a rule applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// Requests of an operation.
    Operation(Operation),
    /// Downloads from the media host.
    Artifact,
    /// Requests for checkout pages, which the media host has.
    Checkout,
}

impl FaultTarget {
    /// Returns the name in the control API and in the request log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Operation(operation) => operation.name(),
            Self::Artifact => "artifact",
            Self::Checkout => "checkout",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let media = [Self::Artifact, Self::Checkout];
        let target = media.into_iter().find(|it| it.name() == name);
        target.or_else(|| Operation::from_name(name).map(Self::Operation))
    }

    /// Returns the name that is most like an unknown one.
    pub(crate) fn nearest(name: &str) -> &'static str {
        let operations = Operation::ALL.iter().map(|operation| operation.name());
        let media = [Self::Artifact, Self::Checkout].map(Self::name);
        nearest(name, operations.chain(media))
    }
}

impl Serialize for FaultTarget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A rule that makes requests fail.
///
/// Rules are tried in the order in which they were added. The first one that matches a request is
/// applied.
///
/// ```
/// use svc_mock_server::engine::{Fault, FaultKind, FaultTarget};
/// use svc_sdk::contract::Operation;
///
/// let fault = Fault::new(FaultKind::Status503).operation(Operation::VideoGenerate).times(2);
/// assert_eq!(fault.target, Some(FaultTarget::Operation(Operation::VideoGenerate)));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FaultInput")]
pub struct Fault {
    /// The host. The default is any host except the control API. In JSON, `mcp` stands for the MCP
    /// endpoint of the developer host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface: Option<Host>,
    /// The requests that it applies to. The default is any request. In JSON, `operation` is the name
    /// of an operation, or `artifact` or `checkout` for the media host.
    #[serde(rename = "operation", skip_serializing_if = "Option::is_none")]
    pub target: Option<FaultTarget>,
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The error code of the kind `error`, which the operation must be able to respond with. A rule
    /// without an operation applies to all operations that can respond with the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// The workspace whose requests, files and checkout pages the rule applies to. The default is
    /// any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The id of the key whose requests the rule applies to. The default is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// A text that the body of the request must contain.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub body_text: Option<String>,
    /// The number of times that the rule applies. The default is once, or unlimited if there is a
    /// probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// The probability that a matching request fails, from 0 to 1. The default is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// The value of `retry-after` and `retry_after_seconds`, in seconds that are sent as they are,
    /// regardless of the speed of the clock. The default is 1 for retryable errors. Only the
    /// kinds `error`, `status_503` and `status_429` have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
    /// The real time before the response, in milliseconds. The default is 1000 for `delay` and 0
    /// for other kinds. For `stall` it is the time between the halves of the body, and the default
    /// is 300000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

/// The JSON form of a rule, which also has the surface `mcp`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultInput {
    surface: Option<PublicSurface>,
    operation: Option<String>,
    kind: FaultKind,
    code: Option<ErrorCode>,
    workspace: Option<String>,
    key: Option<String>,
    r#match: Option<String>,
    times: Option<u64>,
    probability: Option<f64>,
    retry_after_seconds: Option<u64>,
    delay_ms: Option<u64>,
}

impl TryFrom<FaultInput> for Fault {
    type Error = String;

    fn try_from(input: FaultInput) -> Result<Self, String> {
        let named = |name: String| {
            let unknown = || {
                let nearest = FaultTarget::nearest(&name);
                format!("operation: unknown operation {name:?}: did you mean {nearest}?")
            };
            FaultTarget::from_name(&name).ok_or_else(unknown)
        };
        let mcp = FaultTarget::Operation(Operation::Mcp);
        let target = input.operation.map(named).transpose()?;
        let (surface, target) = match (input.surface, target) {
            // MCP is one operation of the developer host.
            (Some(PublicSurface::Mcp), None) => (Some(Host::Developer), Some(mcp)),
            (Some(PublicSurface::Mcp), Some(target)) if target != mcp => {
                return Err(format!(
                    "operation: unknown operation {:?} of the surface mcp",
                    target.name()
                ));
            }
            (surface, target) => (surface.map(PublicSurface::host), target),
        };
        Ok(Self {
            surface,
            target,
            kind: input.kind,
            code: input.code,
            workspace: input.workspace,
            key: input.key,
            body_text: input.r#match,
            times: input.times,
            probability: input.probability,
            retry_after_seconds: input.retry_after_seconds,
            delay_ms: input.delay_ms,
        })
    }
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// Responds `503 database_busy` without processing the request.
    #[serde(rename = "status_503")]
    Status503,
    /// Responds `429 rate_limited` without processing the request.
    #[serde(rename = "status_429")]
    Status429,
    /// Responds with the error of `code` without processing the request.
    Error,
    /// Responds with a proxy's HTML page and the status 502, without processing the request.
    #[serde(rename = "status_502_html")]
    Status502Html,
    /// Closes the connection without processing the request.
    DropBefore,
    /// Processes the request, then closes the connection without a response.
    DropAfter,
    /// Processes the request, then closes the connection after half of the response body.
    Truncate,
    /// Processes the request, then responds `200` with a body that is not JSON.
    Garbage,
    /// Processes the request and delays the response.
    Delay,
    /// Processes the request, then pauses after half of the response body. The connection stays
    /// open.
    Stall,
    /// Responds `403` to a download.
    #[serde(rename = "status_403")]
    Status403,
    /// Responds `404` to a download.
    #[serde(rename = "status_404")]
    Status404,
    /// Responds `416` to a download, whether or not it requests a range.
    #[serde(rename = "status_416")]
    Status416,
    /// Responds to a download with half of the bytes. `Content-Length` is their number, so that
    /// the response is complete, but the length differs from that of the file or of the range.
    WrongLength,
    /// Responds to a download as if the file had another entity tag: a range that depends on the
    /// original tag is answered with the whole file.
    ChangedEtag,
}

impl FaultKind {
    /// Returns whether the kind applies only to downloads from the media host.
    fn is_download_fault(self) -> bool {
        matches!(
            self,
            Self::Status403
                | Self::Status404
                | Self::Status416
                | Self::WrongLength
                | Self::ChangedEtag
        )
    }
}

/// A rule with its id and what is left of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FaultRule {
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) fault: Fault,
    /// The number of times that the rule still applies; `None` without limit.
    pub(crate) remaining: Option<u64>,
    /// The number of requests that the rule was applied to.
    pub(crate) hits: u64,
}

/// What rules compare of a request, beside its host and operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FaultScope<'r> {
    pub(crate) workspace: Option<&'r str>,
    pub(crate) key: Option<&'r str>,
    pub(crate) body: &'r [u8],
}

/// The active rules, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FaultRules(Vec<FaultRule>);

impl FaultRules {
    /// Adds a rule with an id that no rule has.
    pub(crate) fn add(&mut self, id: String, fault: Fault) -> Result<(), ControlError> {
        fault.check()?;
        let once = fault.probability.is_none().then_some(1);
        self.0.push(FaultRule { id, remaining: fault.times.or(once), hits: 0, fault });
        Ok(())
    }

    /// Removes the rule with an id. Returns `false` if there is none.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|rule| rule.id != id);
        self.0.len() < before
    }

    /// Removes the rules of a workspace, or all.
    pub(crate) fn clear(&mut self, workspace: Option<&str>) {
        self.0.retain(|rule| {
            workspace.is_some_and(|workspace| rule.fault.workspace.as_deref() != Some(workspace))
        });
    }

    pub(crate) fn all(&self) -> &[FaultRule] {
        &self.0
    }

    /// Returns the fault to apply to a request with the id of its rule, and counts the use of it.
    pub(crate) fn next_fault(
        &mut self,
        host: Host,
        target: Option<FaultTarget>,
        scope: FaultScope<'_>,
        rng: &mut Rng,
    ) -> Option<(String, Fault)> {
        let index = self.0.iter().position(|FaultRule { fault, .. }| {
            fault.matches(host, target)
                && fault.is_in_scope(scope)
                && fault.probability.is_none_or(|probability| rng.fraction() < probability)
        })?;
        let rule = self.0.get_mut(index)?;
        rule.hits = rule.hits.saturating_add(1);
        rule.remaining = rule.remaining.map(|remaining| remaining.saturating_sub(1));
        let applied = (rule.id.clone(), rule.fault.clone());
        if rule.remaining == Some(0) {
            self.0.remove(index);
        }
        Some(applied)
    }
}

impl Fault {
    /// Creates a rule that applies once, to the next request to any host.
    #[must_use]
    pub fn new(kind: FaultKind) -> Self {
        Self {
            surface: None,
            target: None,
            kind,
            code: None,
            workspace: None,
            key: None,
            body_text: None,
            times: None,
            probability: None,
            retry_after_seconds: None,
            delay_ms: None,
        }
    }

    /// Creates a rule that responds with an error code, once.
    #[must_use]
    pub fn error(code: ErrorCode) -> Self {
        Self { code: Some(code), ..Self::new(FaultKind::Error) }
    }

    /// Restricts the rule to requests of an operation.
    #[must_use]
    pub fn operation(mut self, operation: Operation) -> Self {
        self.target = Some(FaultTarget::Operation(operation));
        self
    }

    /// Restricts the rule to downloads from the media host.
    #[must_use]
    pub fn artifact(mut self) -> Self {
        self.target = Some(FaultTarget::Artifact);
        self
    }

    /// Restricts the rule to a workspace.
    #[must_use]
    pub fn workspace(mut self, workspace: impl Into<String>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// Sets how many times the rule applies.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Checks that the rule can apply to some request.
    pub(crate) fn check(&self) -> Result<(), ControlError> {
        let is_error = self.kind == FaultKind::Error;
        let may_wait = is_error || matches!(self.kind, FaultKind::Status503 | FaultKind::Status429);
        let is_of_downloads = self.kind.is_download_fault();
        let is_elsewhere = self.surface.is_some_and(|surface| surface != Host::Media);
        let is_of_others = self.target.is_some_and(|target| target != FaultTarget::Artifact);
        let is_share = |probability| (0.0..=1.0).contains(&probability);
        let when = |is_wrong: bool, problem: &str| is_wrong.then(|| problem.to_owned());
        let problems = [
            when(
                self.surface == Some(Host::Control),
                "surface: the control API does not support faults",
            ),
            when(
                is_of_downloads && is_elsewhere,
                "surface: must be media for a fault of downloads",
            ),
            when(
                is_of_downloads && is_of_others,
                "operation: must be artifact for a fault of downloads",
            ),
            when(!is_error && self.code.is_some(), "code: only allowed with the kind error"),
            is_error.then(|| self.wrong_code()).flatten(),
            when(
                self.retry_after_seconds.is_some() && !may_wait,
                "retry_after_seconds: only allowed with error, status_503 and status_429",
            ),
            when(self.times == Some(0), "times: must be at least 1"),
            when(!self.probability.is_none_or(is_share), "probability: must be from 0 to 1"),
        ];
        problems.into_iter().flatten().next().map_or(Ok(()), |it| Err(ControlError::Invalid(it)))
    }

    /// Returns what is wrong with the error code if no operation that the rule applies to can respond
    /// with it.
    fn wrong_code(&self) -> Option<String> {
        let accepted = self.accepted_codes();
        let problem = match &self.code {
            Some(code) if accepted.contains(code) => return None,
            Some(code) => format!("invalid code {:?}", code.as_str()),
            None => "is required for the kind error".to_owned(),
        };
        let codes: Vec<_> = accepted.iter().map(ErrorCode::as_str).collect();
        let expected = match self.target {
            _ if codes.is_empty() => "the media host has no error codes".to_owned(),
            Some(target) => format!("{} accepts {}", target.name(), codes.join(", ")),
            None => format!("expected one of {}", codes.join(", ")),
        };
        Some(format!("code: {problem}: {expected}"))
    }

    /// Returns the error codes that the operations to which the rule applies can respond with.
    fn accepted_codes(&self) -> Vec<ErrorCode> {
        let operations = Operation::ALL.iter().copied().filter(|operation| {
            let surface = operation.surface();
            let target = FaultTarget::Operation(*operation);
            self.target.is_none_or(|it| it == target)
                && match self.surface {
                    None => true,
                    Some(Host::Open) => surface.includes(Surface::Open),
                    // MCP is an operation of the developer host.
                    Some(Host::Developer) => {
                        surface.includes(Surface::Developer) || surface.includes(Surface::Mcp)
                    }
                    Some(Host::Media | Host::Control) => false,
                }
        });
        let possible: Vec<_> = operations.flat_map(error_codes).collect();
        let known = ErrorCode::KNOWN.iter();
        known.filter(|code| possible.contains(code)).cloned().collect()
    }

    fn is_in_scope(&self, scope: FaultScope<'_>) -> bool {
        let is = |expected: &Option<String>, actual: Option<&str>| {
            expected.is_none() || expected.as_deref() == actual
        };
        let contains = |text: &String| {
            text.is_empty() || scope.body.windows(text.len()).any(|part| part == text.as_bytes())
        };
        is(&self.workspace, scope.workspace)
            && is(&self.key, scope.key)
            && self.body_text.as_ref().is_none_or(contains)
    }

    fn matches(&self, host: Host, target: Option<FaultTarget>) -> bool {
        if self.kind.is_download_fault() && target != Some(FaultTarget::Artifact) {
            return false;
        }
        if let Some(code) = &self.code {
            let can_respond = match target {
                Some(FaultTarget::Operation(operation)) => error_codes(operation).contains(code),
                _ => false,
            };
            if !can_respond {
                return false;
            }
        }
        self.surface.is_none_or(|surface| surface == host)
            && self.target.is_none_or(|it| target == Some(it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(json: &str) -> Fault {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_probability_applies_to_a_share_of_requests() {
        let (mut faults, mut rng) = (FaultRules::default(), Rng::new(7));
        let rule = fault(r#"{"kind": "garbage", "probability": 0.25}"#);
        faults.add("flt_1".to_owned(), rule).unwrap();
        let target = Some(FaultTarget::Artifact);
        let mut next = || faults.next_fault(Host::Media, target, FaultScope::default(), &mut rng);
        let hits = (0..4000).filter(|_| next().is_some()).count();
        assert!((850..1150).contains(&hits), "{hits}");
        assert_eq!(faults.all().len(), 1);
    }
}
