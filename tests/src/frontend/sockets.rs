//! The two frontends that listen on sockets: the program's HTTP server, and wiremock.

use std::ops::Deref;

use bytes::Bytes;
use svc_mock_server::serve::Server;
use svc_mock_server::{MockService, Service};

use super::{Frontend, Host, RawFuture, ResponseFuture, Setup};
use crate::http1::{self, HttpClient};

/// A frontend on sockets. Its listeners close when the server is dropped.
pub(super) struct SocketFrontend<S> {
    _server: S,
    client: HttpClient,
    urls: [String; 4],
}

impl SocketFrontend<Server> {
    pub(super) async fn serve(setup: Setup) -> Self {
        let server = Server::bind(setup.0, 0, |_| ()).await;
        Self::new(server.expect("four free ports"))
    }
}

impl SocketFrontend<MockService> {
    pub(super) async fn wiremock(setup: Setup) -> Self {
        Self::new(setup.0.start().await)
    }
}

impl<S: Deref<Target = Service>> SocketFrontend<S> {
    fn new(server: S) -> Self {
        Self { urls: super::urls(&server), client: http1::client(), _server: server }
    }
}

impl<S: Send + Sync> Frontend for SocketFrontend<S> {
    fn base_url(&self, host: Host) -> &str {
        super::url_of(&self.urls, host)
    }

    fn send(&self, host: Host, request: http::Request<Bytes>) -> ResponseFuture<'_> {
        Box::pin(http1::send(&self.client, self.base_url(host), request))
    }

    fn send_raw(&self, host: Host, bytes: Vec<u8>) -> Option<RawFuture<'_>> {
        let authority = self.base_url(host).trim_start_matches("http://");
        Some(Box::pin(http1::send_raw(authority.to_owned(), bytes)))
    }
}
