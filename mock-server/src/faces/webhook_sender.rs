//! Carries webhooks that have a route to where it leads, over HTTP and within this machine.

use std::error::Error;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, RETRY_AFTER};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::select;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::engine::{Delivery, DeliveryOutcome};
use crate::service::Service;
use crate::webhook_route::Target;

/// How many attempts are under way at once.
const AT_ONCE: usize = 64;
/// What of an answer's body is read, so that its sender does not find the connection broken.
const READ: usize = 64 * 1024;
/// For how long.
const READING: Duration = Duration::from_millis(200);

/// Carries webhooks until it is dropped.
#[derive(Debug)]
pub(super) struct WebhookSender {
    service: Service,
    task: JoinHandle<()>,
}

impl WebhookSender {
    /// Has to be called within a runtime.
    pub(super) fn start(service: Service) -> Self {
        service.set_carried(true);
        let task = tokio::spawn(carry(service.clone()));
        Self { service, task }
    }
}

impl Drop for WebhookSender {
    fn drop(&mut self) {
        self.task.abort();
        self.service.set_carried(false);
    }
}

async fn carry(service: Service) {
    let mut under_way = JoinSet::new();
    loop {
        let mut moved = pin!(service.moved());
        // From here on nothing that happens is missed.
        moved.as_mut().enable();
        let room = AT_ONCE.saturating_sub(under_way.len());
        let (deliveries, wait) = service.to_carry(room);
        for (delivery, target) in deliveries {
            let service = service.clone();
            under_way.spawn(async move {
                let outcome = deliver(&delivery, &target, service.webhook_timeout()).await;
                service.delivered(&delivery, &outcome);
            });
        }
        let passed = async {
            match wait {
                Some(wait) => sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        select! {
            Some(_) = under_way.join_next() => {}
            () = moved => {}
            () = passed => {}
        }
    }
}

/// Makes one attempt. Redirects are answers like any other.
async fn deliver(delivery: &Delivery, target: &Target, patience: Duration) -> DeliveryOutcome {
    match timeout(patience, exchange(delivery, target)).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => DeliveryOutcome::failed("connection_failed"),
        Err(_) => DeliveryOutcome::failed("timeout"),
    }
}

async fn exchange(
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
    let answer = async {
        let response = sender.send_request(request).await?;
        let retry_after = response.headers().get(RETRY_AFTER);
        let outcome = DeliveryOutcome::Answered {
            status: response.status().as_u16(),
            retry_after: retry_after
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
        };
        let _ = timeout(READING, read(response.into_body())).await;
        Ok::<_, hyper::Error>(outcome)
    };
    let (mut answer, mut connection) = (pin!(answer), pin!(connection));
    select! {
        answer = answer.as_mut() => return Ok(answer?),
        // It may be over with the answer on this side already.
        _ = connection.as_mut() => {}
    }
    Ok(answer.await?)
}

async fn read(mut body: Incoming) {
    let mut read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > READ {
            return;
        }
    }
}

#[cfg(test)]
#[cfg(all(feature = "serve", feature = "wiremock"))]
mod tests;
