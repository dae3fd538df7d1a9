//! Requests to the control API and their results.

use bytes::Bytes;
use http::StatusCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::body::ControlBody;
use super::error::ControlApiError;
use crate::engine::{ControlError, State};
use crate::mock_state::MockState;

/// The status and body of a response, or an error.
pub(super) type ControlResult = Result<(StatusCode, ControlBody), ControlApiError>;

pub(super) fn ok(value: Value) -> ControlResult {
    Ok((StatusCode::OK, value.into()))
}

pub(super) fn created(value: impl Serialize) -> ControlResult {
    Ok((StatusCode::CREATED, ControlBody::json(&value)))
}

pub(super) fn list(items: impl IntoIterator<Item: Serialize>) -> ControlResult {
    ok(json!({"data": Vec::from_iter(items)}))
}

/// A request to an endpoint of the control API, and the mock that received it.
pub(super) struct ControlRequest<'r> {
    pub(super) mock: &'r mut MockState,
    pub(super) id: &'r str,
    pub(super) query: Query,
    pub(super) body: &'r Bytes,
}

impl ControlRequest<'_> {
    pub(super) fn state(&mut self) -> &mut State {
        &mut self.mock.simulator.state
    }

    pub(super) fn body<T: DeserializeOwned>(&self) -> Result<T, ControlApiError> {
        read_body(self.body)
    }

    /// Makes the change of the state that the body describes.
    pub(super) fn change<B: DeserializeOwned, T>(
        &mut self,
        change: impl FnOnce(&mut State, B) -> Result<T, ControlError>,
    ) -> Result<T, ControlApiError> {
        let body = self.body()?;
        Ok(change(self.state(), body)?)
    }

    pub(super) fn empty_body(&self) -> Result<(), ControlApiError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Empty {}
        self.body::<Empty>().map(|_| ())
    }
}

/// Deserializes a body. A missing one is treated as an empty object.
pub(super) fn read_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, ControlApiError> {
    let body = if body.is_empty() { b"{}" } else { body };
    // A list would be read as the fields of a structure in their order.
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(ControlApiError::invalid("expected an object, not a list"));
    }
    serde_json::from_slice(body).map_err(|error| ControlApiError::invalid(error.to_string()))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses a query, whose parameters must be known and not repeated.
    pub(super) fn parse(query: &str, known: &[&str]) -> Result<Self, ControlApiError> {
        let mut parameters: Vec<(String, String)> = Vec::new();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            if !known.contains(&&*name) {
                let expected = match known {
                    [] => "this endpoint has none".to_owned(),
                    known => format!("expected {}", known.join(", ")),
                };
                let message = format!("unknown query parameter {name:?}: {expected}");
                return Err(ControlApiError::invalid(message));
            }
            if parameters.iter().any(|(other, _)| *other == name) {
                return Err(ControlApiError::invalid(format!("{name}: must not be repeated")));
            }
            parameters.push((name.into_owned(), value.into_owned()));
        }
        Ok(Self(parameters))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let parameter = self.0.iter().find(|(known, _)| known == name);
        parameter.map(|(_, value)| value.as_str())
    }

    pub(super) fn number(
        &self,
        name: &str,
        bounds: std::ops::RangeInclusive<u64>,
        expected: &str,
    ) -> Result<Option<u64>, ControlApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        number.map(Some).ok_or_else(|| invalid_value(name, text, expected))
    }
}

pub(super) fn invalid_value(name: &str, text: &str, expected: &str) -> ControlApiError {
    ControlApiError::invalid(format!("{name}: invalid value {text:?}: expected {expected}"))
}
