//! A raw HTTP client of one host of the mock.

use bytes::Bytes;
use serde_json::Value;

use crate::frontend::{Host, TransportError};
use crate::mock::Mock;
use crate::openapi;
use crate::response::Response;

/// The paths of the developer surface that need no key.
const PUBLIC_PATHS: [&str; 4] = ["/v1/health", "/v1/catalog", "/v1/openapi.json", "/v1/bgm/"];

/// A client of one host, with headers that it sends with each request.
#[derive(Clone, Debug)]
pub struct Client {
    mock: Mock,
    host: Host,
    headers: Vec<(String, String)>,
}

impl Client {
    pub(crate) fn new(mock: Mock, host: Host) -> Self {
        Self { mock, host, headers: Vec::new() }
    }

    /// Adds a header to each request.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds `Authorization: Bearer …`.
    pub fn bearer(self, key: &str) -> Self {
        self.header("authorization", &format!("Bearer {key}"))
    }

    /// Adds `Idempotency-Key: …`.
    pub fn idempotency_key(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    /// Sends a `GET` request.
    pub async fn get(&self, path: &str) -> Response {
        self.send("GET", path, None, Bytes::new()).await
    }

    /// Sends a `GET` request and returns the items of the `200` response.
    pub async fn get_items(&self, path: &str) -> Vec<Value> {
        self.get(path).await.expect(200).items()
    }

    /// Sends a `GET` request and returns the JSON body of the `200` response.
    pub async fn get_json(&self, path: &str) -> Value {
        self.get(path).await.expect(200).json()
    }

    /// Sends a `POST` request with a JSON body.
    pub async fn post(&self, path: &str, body: Value) -> Response {
        let body = body.to_string().into();
        self.send("POST", path, Some("application/json"), body).await
    }

    /// Sends a request and returns the complete response.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: Bytes,
    ) -> Response {
        let response = self
            .try_send(method, path, content_type, body.clone())
            .await
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        if matches!(self.host, Host::Open | Host::Developer) {
            response.check_conventions(self.host == Host::Developer, method == "HEAD");
            openapi::check(self.host, method, path, &body, &response);
            let is_public = PUBLIC_PATHS.iter().any(|public| path.starts_with(public));
            if self.has_credential() && response.status() != 401 && !is_public {
                response.check_rate_limit_headers();
            }
        }
        response
    }

    fn has_credential(&self) -> bool {
        self.headers.iter().any(|(name, _)| matches!(name.as_str(), "authorization" | "x-api-key"))
    }

    /// Sends a request without any check of the response.
    pub async fn try_send(
        &self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: Bytes,
    ) -> Result<Response, TransportError> {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(name, value.as_bytes());
        }
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        // The headers are left out because they contain credentials.
        let shown = String::from_utf8_lossy(&body);
        let description = format!("{method} {path:.200} {shown:.300}");
        let request = request.body(body).unwrap_or_else(|error| panic!("{path}: {error}"));
        let response = self.mock.frontend().send(self.host, request).await?;
        Ok(Response::new(description, response))
    }
}
