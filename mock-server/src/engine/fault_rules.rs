//! Faults on demand: the next matching requests fail in a given way.

use serde::{Deserialize, Serialize};
use svc_sdk::contract::Operation;

use super::rng::Rng;
use super::{ControlError, Host};

/// The names by which the media host's resources are known where an operation's name is expected.
pub(crate) const MEDIA_OPERATIONS: [&str; 2] = ["artifact", "checkout"];

/// A rule that makes requests fail.
///
/// A request is held against the rules in the order of their arrival; the first that fits is the
/// one that happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FaultInput")]
pub struct Fault {
    /// The host; any but the control API, if left out. `mcp` may be written for the MCP endpoint,
    /// which is on the developer host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface: Option<Host>,
    /// An operation's name, or `artifact` or `checkout` of the media host; any request of the
    /// host, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// What happens.
    pub kind: FaultKind,
    /// How often; once if left out, without end if there is a probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// How likely a matching request is hit, 0 to 1; always, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// `retry-after` of `status_503` and `status_429`; 1 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
    /// Real milliseconds before the answer; 1000 for `delay` and 0 otherwise, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

/// A rule as it may be written: `mcp` is a surface, too.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultInput {
    surface: Option<SurfaceInput>,
    operation: Option<String>,
    kind: FaultKind,
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
                return Err(format!("operation: the surface mcp has no {operation:?}"));
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
            times: input.times,
            probability: input.probability,
            retry_after_seconds: input.retry_after_seconds,
            delay_ms: input.delay_ms,
        })
    }
}

/// What a fault does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// `503 database_busy`; nothing is done.
    #[serde(rename = "status_503")]
    Status503,
    /// `429 rate_limited`; nothing is done.
    #[serde(rename = "status_429")]
    Status429,
    /// A proxy's `502` page, no envelope; nothing is done.
    #[serde(rename = "status_502_html")]
    Status502Html,
    /// The connection is closed; nothing is done.
    DropBefore,
    /// The request is done, then the connection is closed without an answer.
    DropAfter,
    /// The request is done; the connection ends after half of the body.
    Truncate,
    /// The request is done; the answer is `200` with a body that is no JSON.
    Garbage,
    /// The request is done; the answer comes late.
    Delay,
}

/// The rules that are in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FaultRules(Vec<Fault>);

impl FaultRules {
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

    /// The fault that hits this request, counted as having happened.
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
                    .is_none_or(|likely| rng.fraction() < likely)
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
    /// Whether the rule can ever make sense.
    pub(crate) fn check(&self) -> Result<(), ControlError> {
        if self.surface == Some(Host::Control) {
            return Err(ControlError::Invalid(
                "surface: the control API has no faults".to_owned(),
            ));
        }
        if let Some(name) = &self.operation
            && Operation::from_name(name).is_none()
            && !MEDIA_OPERATIONS.contains(&name.as_str())
        {
            return Err(ControlError::Invalid(format!(
                "operation: there is no {name:?}"
            )));
        }
        if self.times == Some(0) {
            return Err(ControlError::Invalid(
                "times: must be at least 1".to_owned(),
            ));
        }
        match self.probability {
            Some(likely) if !(0.0..=1.0).contains(&likely) => Err(ControlError::Invalid(
                "probability: must be from 0 to 1".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    fn matches(&self, host: Host, operation: Option<&str>) -> bool {
        self.surface.is_none_or(|surface| surface == host)
            && self
                .operation
                .as_deref()
                .is_none_or(|wanted| operation == Some(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(json: &str) -> Fault {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_fault_happens_once_unless_told_otherwise() {
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
    fn a_fault_hits_what_it_names_only() {
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
    fn mcp_may_be_named_as_a_surface() {
        let (mut faults, mut rng) = (FaultRules::default(), Rng::new(1));
        let rule = fault(r#"{"kind": "garbage", "surface": "mcp"}"#);
        assert_eq!(rule.operation.as_deref(), Some("mcp"));
        faults.add(rule).unwrap();
        let mut strikes = |operation| faults.next_fault(Host::Developer, Some(operation), &mut rng);
        assert!(strikes("balance").is_none());
        assert!(strikes("mcp").is_some());
        let other = r#"{"kind": "garbage", "surface": "mcp", "operation": "balance"}"#;
        assert!(serde_json::from_str::<Fault>(other).is_err());
    }

    #[test]
    fn a_probability_hits_that_share_without_end() {
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
    fn a_rule_that_cannot_be_is_refused() {
        for json in [
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
