//! Fault injection rules, which make matching requests fail.

use serde::{Deserialize, Serialize};
use svc_openapi::error_codes;
use svc_sdk::contract::{ErrorCode, Operation, Surface};

use super::rng::Rng;
use super::{ControlError, Host};

/// The name of downloads from the media host in fault rules and in the journal.
pub(crate) const ARTIFACT: &str = "artifact";
/// The name of requests for checkout pages in fault rules and in the journal.
pub(crate) const CHECKOUT: &str = "checkout";

/// A rule that makes requests fail.
///
/// Rules are tried in the order in which they were added. The first one that matches a request is
/// applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FaultInput")]
pub struct Fault {
    /// The host. The default is any host except the control API. In JSON, `mcp` stands for the MCP
    /// endpoint of the developer host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface: Option<Host>,
    /// The name of an operation, or `artifact` or `checkout` for the media host. The default is
    /// any request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The error code of the kind `error`, which the operation must be able to respond with. A rule
    /// without an operation applies to all operations that can respond with the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// The number of times that the rule applies. The default is once, or unlimited if there is a
    /// probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// The probability that a matching request fails, from 0 to 1. The default is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// The value of `retry-after` and `retry_after_seconds`, in seconds that are sent as they are,
    /// regardless of the speed of the clock. The default is 1 for retryable errors. Other kinds
    /// than `error`, `status_503` and `status_429` do not use it.
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
    surface: Option<SurfaceInput>,
    operation: Option<String>,
    kind: FaultKind,
    code: Option<ErrorCode>,
    times: Option<u64>,
    probability: Option<f64>,
    retry_after_seconds: Option<u64>,
    delay_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum SurfaceInput {
    Open,
    Developer,
    Mcp,
    Media,
    Control,
}

impl TryFrom<FaultInput> for Fault {
    type Error = String;

    fn try_from(input: FaultInput) -> Result<Self, String> {
        let mcp = Operation::Mcp.name();
        let (surface, operation) = match (input.surface, input.operation) {
            // MCP is one operation of the developer host.
            (Some(SurfaceInput::Mcp), None) => (Some(Host::Developer), Some(mcp.to_owned())),
            (Some(SurfaceInput::Mcp), Some(operation)) if operation != mcp => {
                return Err(format!(
                    "operation: unknown operation {operation:?} of the surface mcp"
                ));
            }
            (surface, operation) => {
                let host = surface.map(|surface| match surface {
                    SurfaceInput::Open => Host::Open,
                    SurfaceInput::Developer | SurfaceInput::Mcp => Host::Developer,
                    SurfaceInput::Media => Host::Media,
                    SurfaceInput::Control => Host::Control,
                });
                (host, operation)
            }
        };
        Ok(Self {
            surface,
            operation,
            kind: input.kind,
            code: input.code,
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

/// The active rules, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FaultRules(Vec<Fault>);

impl FaultRules {
    /// Adds a rule.
    ///
    /// # Errors
    ///
    /// Returns an error if the rule can never apply.
    pub(crate) fn add(&mut self, fault: Fault) -> Result<(), ControlError> {
        fault.check()?;
        self.0.push(fault);
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn all(&self) -> &[Fault] {
        &self.0
    }

    /// Returns the fault to apply to a request, and counts the use of its rule.
    pub(crate) fn next_fault(
        &mut self,
        host: Host,
        operation: Option<&str>,
        rng: &mut Rng,
    ) -> Option<Fault> {
        let index = self.0.iter().position(|rule| {
            rule.matches(host, operation)
                && rule
                    .probability
                    .is_none_or(|probability| rng.fraction() < probability)
        })?;
        let rule = self.0.get_mut(index)?;
        let fault = rule.clone();
        rule.times = match (rule.times, rule.probability) {
            (Some(times), _) => Some(times.saturating_sub(1)),
            (None, Some(_)) => None,
            (None, None) => Some(0),
        };
        if rule.times == Some(0) {
            self.0.remove(index);
        }
        Some(fault)
    }
}

impl Fault {
    /// Creates a rule that applies once, to the next request to any host.
    #[must_use]
    pub fn new(kind: FaultKind) -> Self {
        Self {
            surface: None,
            operation: None,
            kind,
            code: None,
            times: None,
            probability: None,
            retry_after_seconds: None,
            delay_ms: None,
        }
    }

    /// Creates a rule that responds with an error code, once.
    #[must_use]
    pub fn error(code: ErrorCode) -> Self {
        Self {
            code: Some(code),
            ..Self::new(FaultKind::Error)
        }
    }

    /// Checks that the rule can apply to some request.
    ///
    /// # Errors
    ///
    /// Returns an error that names the invalid field.
    pub(crate) fn check(&self) -> Result<(), ControlError> {
        if self.surface == Some(Host::Control) {
            return Err(ControlError::Invalid(
                "surface: the control API does not support faults".to_owned(),
            ));
        }
        if let Some(name) = &self.operation
            && Operation::from_name(name).is_none()
            && ![ARTIFACT, CHECKOUT].contains(&name.as_str())
        {
            return Err(ControlError::Invalid(format!(
                "operation: unknown operation {name:?}"
            )));
        }
        self.check_download_fault()?;
        self.check_code()?;
        if self.times == Some(0) {
            return Err(ControlError::Invalid(
                "times: must be at least 1".to_owned(),
            ));
        }
        match self.probability {
            Some(probability) if !(0.0..=1.0).contains(&probability) => Err(ControlError::Invalid(
                "probability: must be from 0 to 1".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Checks that a fault of downloads is not restricted to other requests.
    fn check_download_fault(&self) -> Result<(), ControlError> {
        if !self.kind.is_download_fault() {
            return Ok(());
        }
        if self.surface.is_some_and(|surface| surface != Host::Media) {
            return Err(ControlError::Invalid(
                "surface: must be media for a fault of downloads".to_owned(),
            ));
        }
        match self.operation.as_deref() {
            None | Some(ARTIFACT) => Ok(()),
            Some(_) => Err(ControlError::Invalid(format!(
                "operation: must be {ARTIFACT} for a fault of downloads"
            ))),
        }
    }

    /// Checks that an operation that the rule applies to can respond with its error code.
    fn check_code(&self) -> Result<(), ControlError> {
        let code = match (self.kind, &self.code) {
            (FaultKind::Error, Some(code)) => Some(code),
            (FaultKind::Error, None) => None,
            (_, None) => return Ok(()),
            (_, Some(_)) => {
                return Err(ControlError::Invalid(
                    "code: only allowed with the kind error".to_owned(),
                ));
            }
        };
        let accepted = self.accepted_codes();
        if code.is_some_and(|code| accepted.contains(code)) {
            return Ok(());
        }
        let problem = match code {
            None => "is required for the kind error".to_owned(),
            Some(code) => format!("invalid code {:?}", code.as_str()),
        };
        let accepted: Vec<_> = accepted.iter().map(ErrorCode::as_str).collect();
        let expected = match (self.operation.as_deref(), accepted.is_empty()) {
            (_, true) => "the media host has no error codes".to_owned(),
            (Some(name), false) => format!("{name} accepts {}", accepted.join(", ")),
            (None, false) => format!("expected one of {}", accepted.join(", ")),
        };
        Err(ControlError::Invalid(format!(
            "code: {problem}: {expected}"
        )))
    }

    /// Returns the error codes that the operations to which the rule applies can respond with.
    fn accepted_codes(&self) -> Vec<ErrorCode> {
        let operations = Operation::ALL.iter().copied().filter(|operation| {
            let surface = operation.surface();
            let has_name = self
                .operation
                .as_deref()
                .is_none_or(|name| operation.name() == name);
            has_name
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
        known
            .filter(|code| possible.contains(code))
            .cloned()
            .collect()
    }

    fn matches(&self, host: Host, operation: Option<&str>) -> bool {
        if self.kind.is_download_fault() && operation != Some(ARTIFACT) {
            return false;
        }
        if let Some(code) = &self.code {
            let operation = operation.and_then(Operation::from_name);
            if !operation.is_some_and(|operation| error_codes(operation).contains(code)) {
                return false;
            }
        }
        self.surface.is_none_or(|surface| surface == host)
            && self
                .operation
                .as_deref()
                .is_none_or(|name| operation == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(json: &str) -> Fault {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_rule_applies_once_by_default() {
        let (mut faults, mut rng) = (FaultRules::default(), Rng::new(1));
        faults.add(fault(r#"{"kind": "status_503"}"#)).unwrap();
        faults
            .add(fault(r#"{"kind": "drop_before", "times": 2}"#))
            .unwrap();
        let mut kinds = Vec::new();
        while let Some(fault) = faults.next_fault(Host::Open, Some("jobs_get"), &mut rng) {
            kinds.push(fault.kind);
        }
        use FaultKind::{DropBefore, Status503};
        assert_eq!(kinds, [Status503, DropBefore, DropBefore]);
    }

    #[test]
    fn a_rule_matches_its_surface_and_operation() {
        let (mut faults, mut rng) = (FaultRules::default(), Rng::new(1));
        faults
            .add(fault(
                r#"{"kind": "delay", "surface": "developer", "operation": "jobs_get"}"#,
            ))
            .unwrap();
        assert!(
            faults
                .next_fault(Host::Open, Some("jobs_get"), &mut rng)
                .is_none()
        );
        assert!(
            faults
                .next_fault(Host::Developer, Some("jobs_list"), &mut rng)
                .is_none()
        );
        assert!(faults.next_fault(Host::Developer, None, &mut rng).is_none());
        assert!(
            faults
                .next_fault(Host::Developer, Some("jobs_get"), &mut rng)
                .is_some()
        );
    }

    #[test]
    fn mcp_is_accepted_as_a_surface() {
        let (mut faults, mut rng) = (FaultRules::default(), Rng::new(1));
        let rule = fault(r#"{"kind": "garbage", "surface": "mcp"}"#);
        assert_eq!(rule.operation.as_deref(), Some("mcp"));
        faults.add(rule).unwrap();
        let mut next = |operation| faults.next_fault(Host::Developer, Some(operation), &mut rng);
        assert!(next("balance").is_none());
        assert!(next("mcp").is_some());
        let other = r#"{"kind": "garbage", "surface": "mcp", "operation": "balance"}"#;
        assert!(serde_json::from_str::<Fault>(other).is_err());
    }

    #[test]
    fn a_probability_applies_to_a_share_of_requests() {
        let (mut faults, mut rng) = (FaultRules::default(), Rng::new(7));
        faults
            .add(fault(r#"{"kind": "garbage", "probability": 0.25}"#))
            .unwrap();
        let hits = (0..4000)
            .filter(|_| {
                faults
                    .next_fault(Host::Media, Some("artifact"), &mut rng)
                    .is_some()
            })
            .count();
        assert!((850..1150).contains(&hits), "{hits}");
        assert_eq!(faults.all().len(), 1);
    }

    #[test]
    fn faults_of_downloads_apply_to_artifacts_only() {
        let (mut faults, mut rng) = (FaultRules::default(), Rng::new(1));
        faults.add(Fault::new(FaultKind::Status416)).unwrap();
        let mut next = |host, operation| faults.next_fault(host, Some(operation), &mut rng);
        assert!(next(Host::Open, "jobs_get").is_none());
        assert!(next(Host::Media, CHECKOUT).is_none());
        assert!(next(Host::Media, ARTIFACT).is_some());
    }

    #[test]
    fn an_error_code_applies_to_the_operations_that_have_it() {
        let (mut faults, mut rng) = (FaultRules::default(), Rng::new(1));
        faults.add(Fault::error(ErrorCode::JobNotFound)).unwrap();
        let mut next = |operation| faults.next_fault(Host::Open, Some(operation), &mut rng);
        assert!(next("jobs_list").is_none());
        assert!(next("jobs_get").is_some());
    }

    #[test]
    fn an_invalid_code_is_rejected_with_the_accepted_codes() {
        let rule = r#"{"kind": "error", "operation": "jobs_get", "code": "insufficient_funds"}"#;
        let error = FaultRules::default().add(fault(rule)).unwrap_err();
        let expected = "code: invalid code \"insufficient_funds\": jobs_get accepts unauthorized, \
rate_limited, database_busy, job_not_found, not_found";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn invalid_rules_are_rejected() {
        for json in [
            r#"{"kind": "error"}"#,
            r#"{"kind": "error", "code": "no_such_code"}"#,
            r#"{"kind": "error", "code": "job_not_found", "surface": "media"}"#,
            r#"{"kind": "error", "code": "job_not_found", "operation": "artifact"}"#,
            r#"{"kind": "error", "code": "insufficient_funds", "surface": "developer"}"#,
            r#"{"kind": "delay", "code": "job_not_found"}"#,
            r#"{"kind": "status_404", "operation": "checkout"}"#,
            r#"{"kind": "changed_etag", "surface": "open"}"#,
            r#"{"kind": "delay", "surface": "control"}"#,
            r#"{"kind": "delay", "operation": "no_such"}"#,
            r#"{"kind": "delay", "times": 0}"#,
            r#"{"kind": "delay", "probability": 1.5}"#,
            r#"{"kind": "delay", "probability": -0.5}"#,
        ] {
            assert!(FaultRules::default().add(fault(json)).is_err(), "{json}");
        }
        assert!(serde_json::from_str::<Fault>(r#"{"kind": "explode"}"#).is_err());
        assert!(serde_json::from_str::<Fault>(r#"{"kind": "delay", "when": 1}"#).is_err());
    }
}
