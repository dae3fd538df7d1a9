//! The mock in this process, through the SDK's transport trait.

use bytes::Bytes;
use http_body_util::BodyExt;
use svc_mock_server::InProcess;
use svc_sdk::transport::Transport;

use super::{Broken, Exchange, Face, Host, Raw, Setup, setup};

pub(super) struct InProcessFace {
    transport: InProcess,
    urls: [String; 4],
}

impl InProcessFace {
    pub(super) fn start(chosen: Setup) -> Self {
        let transport = InProcess::new(setup(chosen));
        let urls = super::urls(&transport);
        Self { transport, urls }
    }
}

impl Face for InProcessFace {
    fn base_url(&self, host: Host) -> &str {
        super::url_of(&self.urls, host)
    }

    fn exchange(&self, host: Host, mut request: http::Request<Bytes>) -> Exchange<'_> {
        let url = format!("{}{}", self.base_url(host), request.uri());
        Box::pin(async move {
            *request.uri_mut() = url
                .parse()
                .map_err(|error| Broken(format!("{url}: {error}")))?;
            let response = self
                .transport
                .send(request)
                .await
                .map_err(|e| Broken(e.to_string()))?;
            let (head, body) = response.into_parts();
            let body = body
                .collect()
                .await
                .map_err(|error| Broken(error.to_string()))?;
            Ok(http::Response::from_parts(head, body.to_bytes()))
        })
    }

    fn raw(&self, _: Host, _: Vec<u8>) -> Option<Raw<'_>> {
        None
    }
}
