//! The layer that passes on each event only once.

use core::mem;
use core::task::{Context, Poll};
use std::boxed::Box;
use std::sync::Arc;

use http::{Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use crate::dedupe::{ClaimResult, DedupeStore, Lease};
use crate::receive_error::ReceiveError;
use crate::receiver::Webhook;
use crate::tower::BoxFuture;

/// A layer that passes on each event only once. Use it inside a
/// [`VerifyLayer`](super::VerifyLayer).
///
/// The inner service receives the [`Event`](crate::Event) in the extensions of the request.
///
/// | delivery | response |
/// |---|---|
/// | of a new event | the response of the inner service |
/// | of an event of an unknown type, or without a [dedupe key](crate::Event::dedupe_key) | the response of the inner service, each time |
/// | of an event that has been handled | `200` |
/// | of an event that is being handled | `503` with `Retry-After` |
/// | with a body that is not an event | `400` |
/// | if the store fails | `503` |
///
/// An event is handled if the inner service answers `2xx`. After any other response or an
/// error, its lease is released and the next delivery is passed on. If the sender
/// disconnects or the inner service panics, the event is blocked until the lease expires.
///
/// An event whose type is [unknown](crate::EventType::Unknown) is passed on without a lease,
/// whatever the response is. If it is redelivered to a later version of the receiver that
/// knows the type, that version can handle it.
///
/// A redelivery that a user requested is a duplicate of the event that was handled. Call
/// [`DedupeStore::forget`] before, so that it is passed on.
///
/// If the event has been handled but committing the lease fails, the response of the inner
/// service is returned with a [`ReceiveError::Store`] in its extensions. A redelivery is
/// then passed on again.
#[derive(Debug)]
pub struct DedupeLayer<D> {
    store: Arc<D>,
}

impl<D: DedupeStore> DedupeLayer<D> {
    /// Creates a layer from a store. An [`Arc`] of a store is also a store.
    pub fn new(store: D) -> Self {
        let store = Arc::new(store);
        Self { store }
    }
}

impl<D> Clone for DedupeLayer<D> {
    fn clone(&self) -> Self {
        let store = self.store.clone();
        Self { store }
    }
}

impl<S, D> Layer<S> for DedupeLayer<D> {
    type Service = Dedupe<S, D>;

    fn layer(&self, inner: S) -> Dedupe<S, D> {
        let store = self.store.clone();
        Dedupe { store, inner }
    }
}

/// The service created by [`DedupeLayer`].
#[derive(Debug)]
pub struct Dedupe<S, D> {
    store: Arc<D>,
    inner: S,
}

impl<S: Clone, D> Clone for Dedupe<S, D> {
    fn clone(&self) -> Self {
        let (store, inner) = (self.store.clone(), self.inner.clone());
        Self { store, inner }
    }
}

impl<S, D, B, R> Service<Request<B>> for Dedupe<S, D>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    D: DedupeStore + 'static,
    B: Send + 'static,
    R: Default + Send,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = BoxFuture<Result<Response<R>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        // Calls the service that was polled ready, and leaves its clone for the next request.
        let clone = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, clone);
        let store = self.store.clone();
        Box::pin(async move {
            let (lease, now) = match claim(store.as_ref(), &mut request).await {
                Ok(Admission::NotDeduplicated) => return inner.call(request).await,
                Ok(Admission::Duplicate) => return Ok(Response::new(R::default())),
                Ok(Admission::Claimed { lease, now }) => (lease, now),
                Err(error) => return Ok(error.into_http_response()),
            };
            let mut result = inner.call(request).await;
            let is_handled = result
                .as_ref()
                .is_ok_and(|response| response.status().is_success());
            let stored = if is_handled {
                store.commit(lease, now).await
            } else {
                store.release(lease).await
            };
            if let (Ok(response), Err(error)) = (&mut result, stored) {
                let error = ReceiveError::Store(Arc::new(error));
                response.extensions_mut().insert(error);
            }
            result
        })
    }
}

enum Admission {
    NotDeduplicated,
    Duplicate,
    Claimed { lease: Lease, now: u64 },
}

async fn claim<D: DedupeStore, B>(
    store: &D,
    request: &mut Request<B>,
) -> Result<Admission, ReceiveError> {
    let webhook = request.extensions().get::<Webhook>();
    let webhook = webhook.ok_or(ReceiveError::MissingVerifyLayer)?;
    let (event, now) = (webhook.event()?, webhook.received_at());
    // A receiver cannot have handled a type that it does not know, even if it answers 2xx.
    let is_known = event.event_type().is_known();
    let key = event.dedupe_key().filter(|_| is_known);
    request.extensions_mut().insert(event);
    let Some(key) = key else {
        return Ok(Admission::NotDeduplicated);
    };
    let claim = store.claim(&key, now).await;
    match claim.map_err(|error| ReceiveError::Store(Arc::new(error)))? {
        ClaimResult::Acquired(lease) => Ok(Admission::Claimed { lease, now }),
        ClaimResult::AlreadyHandled => Ok(Admission::Duplicate),
        ClaimResult::InProgress { lease_expires_at } => Err(ReceiveError::InProgress {
            retry_after_seconds: lease_expires_at.saturating_sub(now).max(1),
        }),
    }
}
