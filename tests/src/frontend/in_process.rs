//! The mock in this process, called through the SDK's transport trait.

use bytes::Bytes;
use http_body_util::BodyExt;
use svc_mock_server::InProcess;
use svc_sdk::transport::Transport;

use super::{Frontend, Host, RawFuture, ResponseFuture, Setup, TransportError};

pub(super) struct InProcessFrontend {
    transport: InProcess,
    urls: [String; 4],
}

impl InProcessFrontend {
    pub(super) fn start(setup: Setup) -> Self {
        let transport = InProcess::new(setup.0);
        let urls = super::urls(&transport);
        Self { transport, urls }
    }
}

impl Frontend for InProcessFrontend {
    fn base_url(&self, host: Host) -> &str {
        super::url_of(&self.urls, host)
    }

    fn send(&self, host: Host, mut request: http::Request<Bytes>) -> ResponseFuture<'_> {
        let url = format!("{}{}", self.base_url(host), request.uri());
        Box::pin(async move {
            *request.uri_mut() = url.parse().map_err(TransportError::new)?;
            let response = self.transport.send(request).await;
            let (head, body) = response.map_err(TransportError::new)?.into_parts();
            let body = body.collect().await.map_err(TransportError::new)?;
            Ok(http::Response::from_parts(head, body.to_bytes()))
        })
    }

    fn send_raw(&self, _: Host, _: Vec<u8>) -> Option<RawFuture<'_>> {
        None
    }
}
