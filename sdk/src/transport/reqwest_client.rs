//! A transport on a reqwest client of the program's own.

use std::sync::Arc;

use bytes::Bytes;

use http_body_util::BodyExt;
use url::Url;

use super::failure::{connection_lost, failed_to_send};
use super::{ResponseFuture, Transport, TransportError};

/// Returns a transport that sends all requests with a reqwest client of your own: for a proxy, a
/// client certificate, a private certificate authority, or settings of the connection pool.
///
/// **The client must not follow redirects**: build it with `redirect::Policy::none()`, as reqwest
/// follows them by default. A response that was redirected is an error. The service does not redirect,
/// and downloads follow redirects themselves. The client needs no timeouts: the
/// [`ClientBuilder`](crate::ClientBuilder) has them. It uses its own TLS, whatever features of this
/// crate are enabled: for `https`, enable a TLS feature of reqwest in your program.
///
/// Its connections are its own: the default transport opens new ones after the computer slept or a
/// request timed out, this one cannot. Set reqwest's `pool_idle_timeout` and `tcp_keepalive`, and
/// `http2_keep_alive_interval` for HTTP/2, so that it notices connections that are dead.
///
/// This function is what the feature `reqwest-client` adds, and with it reqwest 0.13 is part of the
/// public API of this crate: a newer reqwest can then need another major version. Without the feature
/// it is not.
///
/// # Examples
///
/// ```no_run
/// use svc_sdk::{open, transport};
///
/// # fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let http = reqwest::Client::builder()
///     .redirect(reqwest::redirect::Policy::none())
///     .proxy(reqwest::Proxy::https("http://proxy.internal:3128")?)
///     .build()?;
/// let client = open::ClientBuilder::from_env()?
///     .transport(transport::from_reqwest_client(http))
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn from_reqwest_client(client: reqwest::Client) -> Arc<dyn Transport> {
    Arc::new(ReqwestClientTransport(client))
}

struct ReqwestClientTransport(reqwest::Client);

impl Transport for ReqwestClientTransport {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let url = match Url::parse(&request.uri().to_string()) {
            Ok(url) => url,
            Err(error) => {
                return Box::pin(std::future::ready(Err(TransportError::not_sent(error))));
            }
        };
        let (head, body) = request.into_parts();
        let is_read = head.method == http::Method::GET;
        let mut request = reqwest::Request::new(head.method, url.clone());
        *request.headers_mut() = head.headers;
        *request.body_mut() = Some(body.into());
        let sending = self.0.execute(request);
        Box::pin(async move {
            let response = sending.await.map_err(into_transport_error)?;
            if url != *response.url() {
                return Err(redirect_error(is_read));
            }
            let response = http::Response::from(response);
            Ok(response.map(|body| {
                body.map_err(|error| connection_lost(error.without_url())).boxed_unsync()
            }))
        })
    }
}

fn redirect_error(is_read: bool) -> TransportError {
    let reason = "the reqwest client followed a redirect: build it with redirect::Policy::none()";
    match is_read {
        // It would be redirected again.
        true => TransportError::setup(reason),
        false => TransportError::maybe_sent(reason),
    }
}

fn into_transport_error(error: reqwest::Error) -> TransportError {
    if error.is_builder() {
        return TransportError::setup(error.without_url());
    }
    failed_to_send(error.is_connect(), error.without_url())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::test_server::{OK, start_server};

    const MOVED: &[u8] = b"HTTP/1.1 307 Moved\r\nlocation: /new\r\ncontent-length: 0\r\n\r\n";

    async fn send(
        policy: reqwest::redirect::Policy,
        request: http::request::Builder,
    ) -> Result<(u16, Bytes), TransportError> {
        let builder = reqwest::Client::builder().redirect(policy).no_proxy();
        let client = builder.build().unwrap();
        let request = request.body(Bytes::new()).unwrap();
        let response = from_reqwest_client(client).send(request).await?;
        let status = response.status().as_u16();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }

    #[tokio::test]
    async fn a_client_that_follows_redirects_is_an_error() {
        let url =
            start_server(|_, request| Some(if request.contains(" /old ") { MOVED } else { OK }));
        let none = reqwest::redirect::Policy::none;
        let follow = reqwest::redirect::Policy::default;
        let (old, new) = (format!("{url}old"), format!("{url}new"));

        let (status, body) = send(follow(), http::Request::get(&new)).await.unwrap();
        assert_eq!((status, &body[..]), (200, &b"ok"[..]));
        let (status, _) = send(none(), http::Request::get(&old)).await.unwrap();
        assert_eq!(status, 307);

        let error = send(follow(), http::Request::get(&old)).await.unwrap_err();
        assert!(error.is_setup(), "{error:?}");
        // A submit may have been carried out on its way.
        let error = send(follow(), http::Request::post(&old)).await.unwrap_err();
        assert!(error.may_have_been_sent(), "{error:?}");
    }
}
