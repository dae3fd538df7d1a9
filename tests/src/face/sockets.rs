//! The faces that are reached over sockets: the program's server, and wiremock.

use bytes::Bytes;
use svc_mock_server::serve::Server;
use svc_mock_server::{MockService, Service};

use super::{Exchange, Face, Host, Raw, Setup, setup};
use crate::wire::{self, Wire};

/// A face with sockets, and what keeps its listeners open.
pub(super) struct SocketFace<K> {
    _keeper: K,
    wire: Wire,
    urls: [String; 4],
}

impl SocketFace<Server> {
    pub(super) async fn serve(chosen: Setup) -> Self {
        let server = Server::bind(setup(chosen), 0, |_| ())
            .await
            .expect("four free ports");
        Self::new(super::urls(&server), server)
    }
}

impl SocketFace<MockService> {
    pub(super) async fn on_wiremock(chosen: Setup) -> Self {
        let service = setup(chosen).start().await;
        Self::new(super::urls(&service), service)
    }
}

impl<K> SocketFace<K> {
    fn new(urls: [String; 4], keeper: K) -> Self
    where
        K: std::ops::Deref<Target = Service>,
    {
        Self {
            _keeper: keeper,
            wire: Wire::default(),
            urls,
        }
    }

    fn authority(&self, host: Host) -> &str {
        super::url_of(&self.urls, host).trim_start_matches("http://")
    }
}

impl<K: Send + Sync> Face for SocketFace<K> {
    fn base_url(&self, host: Host) -> &str {
        super::url_of(&self.urls, host)
    }

    fn exchange(&self, host: Host, request: http::Request<Bytes>) -> Exchange<'_> {
        Box::pin(self.wire.exchange(self.authority(host), request))
    }

    fn raw(&self, host: Host, bytes: Vec<u8>) -> Option<Raw<'_>> {
        Some(Box::pin(wire::raw(self.authority(host).to_owned(), bytes)))
    }
}
