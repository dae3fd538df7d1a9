//! Signing secrets, sample events, targets and stores, shared by the webhook commands. The receiver itself
//! is in `listen`.

mod control;
mod secrets;
mod store;

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use http::{Method, Request, Uri};
use serde_json::{Map, Value};
use url::{Host, Url};

pub(crate) use crate::webhook::control::Change;
#[cfg(unix)]
pub(crate) use crate::webhook::control::Control;
#[cfg(test)]
pub(crate) use crate::webhook::secrets::SecretSource;
pub(crate) use crate::webhook::secrets::{Keys, Secrets, fetch_secrets, lock};
pub(crate) use crate::webhook::store::StoreAddress;

/// The URL that events are sent to: https, or http to a loopback address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target(Uri);

impl Target {
    pub(crate) fn post(&self, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.0.clone();
        request
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(invalid)?;
        let is_loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        match url.scheme() {
            "https" => {}
            "http" if is_loopback => {}
            "http" => return Err("must be https unless the host is a loopback address".to_owned()),
            _ => return Err("must be an https URL, or an http URL with a loopback host".to_owned()),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not contain a user name or a password".to_owned());
        }
        let mut url = url;
        url.set_fragment(None);
        let uri = url.as_str().parse();
        uri.map(Self).map_err(invalid)
    }
}

fn invalid(error: impl fmt::Display) -> String {
    format!("not a valid URL: {error}")
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Sample events by their types, in which `{id}`, `{request_id}` and `{at}` stand for identifiers and the time.
const SAMPLES: &str = include_str!("samples.json");

pub(crate) fn samples() -> Map<String, Value> {
    serde_json::from_str(SAMPLES).unwrap_or_default()
}

/// Puts values in the places of names, in all texts.
pub(crate) fn fill(sample: &mut Value, values: &[(&str, &str)]) {
    match sample {
        Value::String(text) => {
            for (name, value) in values {
                *text = text.replace(name, value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, values)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, values)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
