//! Refused connections, which are tried again for two seconds, until the service has answered once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use svc_sdk::transport::{ResponseFuture, Transport, TransportError};

use crate::clock;
use crate::error::ConnectionRefused;

const LIMIT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(400);

/// A transport that tries refused connections again for a short time. After the first answer the client
/// decides about retries.
pub(super) struct ConnectRetry {
    pub(super) transport: Arc<dyn Transport>,
    pub(super) url: String,
    pub(super) is_answered: Arc<AtomicBool>,
}

impl Transport for ConnectRetry {
    fn send(&self, request: Request<Bytes>) -> ResponseFuture {
        if self.is_answered.load(Ordering::Relaxed) {
            return self.transport.send(request);
        }
        let (transport, is_answered) = (Arc::clone(&self.transport), Arc::clone(&self.is_answered));
        let url = self.url.trim_end_matches('/').to_owned();
        Box::pin(async move {
            let began = clock::monotonic();
            loop {
                match transport.send(request.clone()).await {
                    Err(error) if is_refused(&error) => {}
                    answer => {
                        is_answered.store(true, Ordering::Relaxed);
                        return answer;
                    }
                }
                if clock::monotonic() - began + PAUSE > LIMIT {
                    // The client would try an error of a connection again.
                    return Err(TransportError::setup(ConnectionRefused { url }));
                }
                tokio::time::sleep(PAUSE).await;
            }
        })
    }

    fn reconnect(&self) {
        self.transport.reconnect();
    }
}

fn is_refused(error: &TransportError) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let refused = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if refused == Some(io::ErrorKind::ConnectionRefused) {
            return true;
        }
        cause = error.source();
    }
    false
}
