//! Requests without types, for what this build has no method for.

use serde_json::Value;

use super::{Call, RawResponse, Request};
use crate::client::Client;
use crate::contract::{Method, Operation};
use crate::error::{Error, Result};
use crate::surface::ClientSurface;
use crate::types::InvalidField;

impl<S: ClientSurface> Client<S> {
    /// Makes a request of any path, whether or not this build knows it.
    ///
    /// The retry rules of the operation apply if the path is a known one; otherwise a `GET`, `HEAD` or
    /// `OPTIONS` is retried and anything else is not. The path is sent as it is: it must begin with
    /// exactly one slash, and have no query.
    ///
    /// ```no_run
    /// use svc_sdk::contract::Method;
    ///
    /// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
    /// let response = client.raw_request(Method::Get, "/v1/jobs").query("limit", 5).await?;
    /// println!("{}", String::from_utf8_lossy(&response.body));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As any [`Call`]. The response to a request that the service refused is
    /// [`Error::response`].
    pub fn raw_request(&self, method: Method, path: &str) -> Call<RawResponse> {
        Call::with_decoder(&self.core, raw_request::<S>(method, path), |_, response| {
            Ok(response.clone())
        })
    }
}

impl Call<RawResponse> {
    /// Sets the JSON body.
    pub fn body(self, body: &Value) -> Self {
        self.map_request(|request| request.set_body(body))
    }
}

fn raw_request<S: ClientSurface>(method: Method, path: &str) -> Result<Request> {
    let invalid = |reason| Error::from(InvalidField::new("path", reason));
    if !path.starts_with('/') || path.starts_with("//") {
        return Err(invalid("must begin with exactly one slash"));
    }
    if path.contains(['?', '#', '\\']) || path.chars().any(|c| c.is_whitespace() || c.is_control())
    {
        return Err(invalid("must not contain a query, a fragment, a backslash or white space"));
    }
    let is_dot_segment = |segment: &str| {
        matches!(segment.replace("%2e", ".").replace("%2E", ".").as_str(), "." | "..")
    };
    if path.split('/').any(is_dot_segment) {
        return Err(invalid("must not contain a segment `.` or `..`"));
    }
    let operation =
        Operation::route(S::SURFACE, method.as_str(), path).map(|(operation, _)| operation);
    Ok(Request::raw(operation, method, path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::Open;

    #[test]
    fn only_plain_paths_are_accepted() {
        let request = raw_request::<Open>(Method::Post, "/v1/video-router/generate").unwrap();
        assert_eq!(request.operation, Some(Operation::VideoGenerate));
        let request = raw_request::<Open>(Method::Get, "/v1/me").unwrap();
        assert_eq!(request.operation, None);
        for path in [
            "",
            "v1",
            "//evil.example/x",
            "https://evil.example",
            "/v1/../x",
            "/v1/%2e%2E",
            "/a?b",
            "/a#b",
            "/a b",
            "/\\evil",
        ] {
            assert!(raw_request::<Open>(Method::Get, path).is_err(), "{path}");
        }
    }
}
