//! Sending webhooks to the local targets of their routes, over HTTP.

use std::error::Error;
use std::pin::pin;
use std::time::Duration;

use http::header::{HOST, RETRY_AFTER};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::select;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::engine::{Delivery, DeliveryOutcome, MAX_RESPONSE_BYTES};
use crate::service::Service;
use crate::webhook_route::Target;

/// The maximum number of attempts at a time.
const MAX_CONCURRENT_ATTEMPTS: usize = 64;
/// How much of a response body is read before the connection is closed, so that the receiver can
/// finish writing.
const MAX_DRAINED_BYTES: usize = 64 * 1024;
/// The time limit for reading a response body.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// A task that sends webhooks until it is dropped.
#[derive(Debug)]
pub(super) struct WebhookSender {
    service: Service,
    task: JoinHandle<()>,
}

impl WebhookSender {
    /// Starts the task. Must be called within a runtime.
    pub(super) fn start(service: Service) -> Self {
        service.set_sender_active(true);
        let task = tokio::spawn(send_due(service.clone()));
        Self { service, task }
    }
}

impl Drop for WebhookSender {
    fn drop(&mut self) {
        self.task.abort();
        self.service.set_sender_active(false);
    }
}

async fn send_due(service: Service) {
    let mut in_flight = JoinSet::new();
    loop {
        let mut changed = pin!(service.changed());
        // From here on, no change is missed.
        changed.as_mut().enable();
        let limit = MAX_CONCURRENT_ATTEMPTS.saturating_sub(in_flight.len());
        let (deliveries, wait) = service.take_deliveries_to_send(limit);
        for (delivery, target) in deliveries {
            let service = service.clone();
            in_flight.spawn(async move {
                let outcome = deliver(&delivery, &target, service.webhook_timeout()).await;
                service.record_outcome(&delivery, &outcome);
            });
        }
        let elapsed = async {
            match wait {
                Some(wait) => sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        select! {
            Some(_) = in_flight.join_next() => {}
            () = changed => {}
            () = elapsed => {}
        }
    }
}

/// Makes one attempt. Redirects are not followed.
async fn deliver(delivery: &Delivery, target: &Target, time_limit: Duration) -> DeliveryOutcome {
    match timeout(time_limit, send(delivery, target)).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => DeliveryOutcome::failed("connection_failed"),
        Err(_) => DeliveryOutcome::failed("timeout"),
    }
}

async fn send(
    delivery: &Delivery,
    target: &Target,
) -> Result<DeliveryOutcome, Box<dyn Error + Send + Sync>> {
    let mut request = http::Request::post(&target.path).header(HOST, &target.public_host);
    for (name, value) in &delivery.headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(delivery.body.clone()))?;
    let stream = TcpStream::connect((target.host.as_str(), target.port)).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let exchange = async {
        let response = sender.send_request(request).await?;
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after =
            retry_after.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let status = response.status().as_u16();
        let mut beginning = Vec::new();
        let _ = timeout(DRAIN_TIMEOUT, drain(response.into_body(), &mut beginning)).await;
        Ok::<_, hyper::Error>(DeliveryOutcome::Answered {
            status,
            retry_after,
            body: String::from_utf8_lossy(&beginning).into_owned(),
        })
    };
    let (mut exchange, mut connection) = (pin!(exchange), pin!(connection));
    select! {
        outcome = exchange.as_mut() => return Ok(outcome?),
        // The response may have been received before the connection ended.
        _ = connection.as_mut() => {}
    }
    Ok(exchange.await?)
}

/// Reads a body, and stores its beginning.
async fn drain(mut body: Incoming, beginning: &mut Vec<u8>) {
    let mut read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        let data = frame.data_ref().map_or(&[][..], |data| data);
        // With the rest of a last character: the log cuts after a whole one.
        let missing = (MAX_RESPONSE_BYTES + 4).saturating_sub(beginning.len());
        beginning.extend(data.iter().take(missing));
        read += data.len();
        if read > MAX_DRAINED_BYTES {
            return;
        }
    }
}

#[cfg(test)]
#[cfg(all(feature = "serve", feature = "wiremock"))]
mod tests;
