//! The layer that lets each event through once.

use core::mem;
use core::task::{Context, Poll};
use std::boxed::Box;
use std::sync::Arc;

use http::{Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use crate::dedupe::{Claim, DedupeStore, Lease};
use crate::receiver::{Refused, Webhook};
use crate::tower::BoxFuture;

/// Lets each event through once. It belongs inside a [`VerifyLayer`](super::VerifyLayer).
///
/// The inner service gets the [`Event`](crate::Event) in the request's extensions.
///
/// | delivery | answer |
/// |---|---|
/// | of a new event, or of one that nothing identifies | the inner service's |
/// | of an event that was handled | `200` |
/// | of an event that is being handled | `503` with `Retry-After` |
/// | whose body is no event | `400` |
/// | while the store does not answer | `503` |
///
/// An event was handled when the inner service answered `2xx`. After any other answer,
/// or an error, its claim is released and the next delivery is let through. Where the
/// sender hangs up, or the inner service panics, the claim ends with its lease.
///
/// Where the event was handled and only the note of it failed, the answer is the inner
/// service's, with the [`Refused::Store`] in its extensions: a redelivery would then be
/// let through.
#[derive(Debug)]
pub struct DedupeLayer<D> {
    store: Arc<D>,
}

impl<D: DedupeStore> DedupeLayer<D> {
    /// Makes a layer of a store. An [`Arc`] of one is a store, too.
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

/// The service that a [`DedupeLayer`] makes.
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
        let fresh = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, fresh);
        let store = self.store.clone();
        Box::pin(async move {
            let (lease, now) = match claim(store.as_ref(), &mut request).await {
                Ok(Admission::Unkeyed) => return inner.call(request).await,
                Ok(Admission::Duplicate) => return Ok(Response::new(R::default())),
                Ok(Admission::Claimed { lease, now }) => (lease, now),
                Err(refused) => return Ok(refused.response()),
            };
            let mut outcome = inner.call(request).await;
            let handled = outcome
                .as_ref()
                .is_ok_and(|response| response.status().is_success());
            let noted = if handled {
                store.commit(lease, now).await
            } else {
                store.release(lease).await
            };
            if let (Ok(response), Err(error)) = (&mut outcome, noted) {
                let failure = Refused::Store(Arc::new(error));
                response.extensions_mut().insert(failure);
            }
            outcome
        })
    }
}

enum Admission {
    Unkeyed,
    Duplicate,
    Claimed { lease: Lease, now: u64 },
}

async fn claim<D: DedupeStore, B>(
    store: &D,
    request: &mut Request<B>,
) -> Result<Admission, Refused> {
    let webhook = request.extensions().get::<Webhook>();
    let webhook = webhook.ok_or(Refused::NotVerified)?;
    let (event, now) = (webhook.event()?, webhook.received_at());
    let key = event.dedupe_key();
    request.extensions_mut().insert(event);
    let Some(key) = key else {
        return Ok(Admission::Unkeyed);
    };
    let claim = store.claim(&key, now).await;
    match claim.map_err(|error| Refused::Store(Arc::new(error)))? {
        Claim::New(lease) => Ok(Admission::Claimed { lease, now }),
        Claim::Done => Ok(Admission::Duplicate),
        Claim::InProgress { until } => Err(Refused::InProgress {
            retry_after: until.saturating_sub(now).max(1),
        }),
    }
}
