//! A network that fails, in front of the mock.
//!
//! Each request of the SDK becomes a task of its own: a client that gives up, or whose process ends,
//! does not call back what it has sent.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderValue, LOCATION};
use http::{HeaderMap, Request, Response};
use svc_sdk::contract::{Operation, RetryClass};
use svc_sdk::transport::{Body, ResponseFuture, Transport, TransportError};
use tokio::sync::{oneshot, watch};

use super::fault::{
    Fault, MockReply, ServiceReply, change_after, change_media, conflict, draw, injected_before,
};
use super::mock::send;
use super::oracle::Defect;
use super::plan::Tools;
use super::recorder::{Abandoned, Sent};
use super::rng::Rng;
use super::tools::{self, McpMessage};
use super::world::World;

/// The header that names a call, as `<order>#<call>`.
pub(super) const CALL_HEADER: &str = "x-simulation-call";
/// How long a request is held that is never answered: longer than any time limit of the SDK.
const SILENCE_MS: u64 = 400_000;

/// The network of one process of a client.
pub(super) struct Network {
    pub(super) world: Arc<World>,
    pub(super) client: usize,
    /// The source of faults, which each step replaces.
    pub(super) rng: Mutex<Rng>,
    /// Becomes true with the end of the process: its requests may still arrive, and nobody waits for
    /// their replies.
    pub(super) process_end: watch::Sender<bool>,
    /// Whether another process of the client runs, so that none knows what its key has spent.
    pub(super) is_beside_another: AtomicBool,
}

/// The [`Transport`] of the SDK's clients.
pub(super) struct FaultyTransport(pub(super) Arc<Network>);

impl Transport for FaultyTransport {
    fn send(&self, request: Request<Bytes>) -> ResponseFuture {
        let network = Arc::clone(&self.0);
        Box::pin(async move {
            let mut end = network.process_end.subscribe();
            tokio::select! {
                biased;
                _ = end.wait_for(|has_ended| *has_ended) => {}
                response = Arc::clone(&network).send(request) => return response,
            }
            std::future::pending().await
        })
    }
}

impl Network {
    fn slot(&self) -> u64 {
        self.client as u64 + 1
    }

    fn trace(&self, text: impl FnOnce() -> String) {
        self.world.trace(self.slot(), text);
    }

    async fn send(
        self: Arc<Self>,
        request: Request<Bytes>,
    ) -> Result<Response<Body>, TransportError> {
        let request = self.inject_into_request(request);
        let mut reply = self.send_once(request.clone()).await;
        if let Some(another) = self.inject_request_after(request, &reply) {
            reply = self.send_once(another).await;
        }
        Ok(reply?.into_response(self.world.defect))
    }

    /// Returns the request that a defective client sends in place of taking the reply.
    fn inject_request_after(
        &self,
        mut request: Request<Bytes>,
        reply: &ServiceReply,
    ) -> Option<Request<Bytes>> {
        match (self.world.defect?, reply) {
            (Defect::RetryAfterAmbiguousFailure, Err(error)) => {
                let is_submit = request.headers().contains_key("idempotency-key");
                (is_submit && error.may_have_been_sent()).then_some(request)
            }
            (Defect::ToolCallRepeated, Err(error)) => {
                let message = McpMessage::read(request.body())?;
                (message.is_paid() && error.may_have_been_sent()).then_some(request)
            }
            (Defect::CredentialSentOnRedirect, Ok(reply)) => {
                let location = reply.headers.get(LOCATION)?.to_str().ok()?;
                *request.uri_mut() = location.parse().ok()?;
                Some(request)
            }
            _ => None,
        }
    }

    /// Applies the defects of a client that are visible in its requests.
    fn inject_into_request(&self, mut request: Request<Bytes>) -> Request<Bytes> {
        let is_media = request.uri().host() == Some("media.svc.invalid");
        let headers = request.headers_mut();
        match self.world.defect {
            Some(Defect::NewKeyOnRetry) if headers.contains_key("idempotency-key") => {
                let key = format!("key-{:016x}", self.rng().next());
                headers.insert("idempotency-key", HeaderValue::from_str(&key).unwrap());
            }
            Some(Defect::KeyDropped) => drop(headers.remove("idempotency-key")),
            Some(Defect::CredentialSentToMedia) if is_media => {
                let key = &self.world.credentials[self.client].open;
                let value = format!("Bearer {key}");
                headers.insert(AUTHORIZATION, HeaderValue::from_str(&value).unwrap());
            }
            _ => {}
        }
        request
    }

    pub(super) fn rng(&self) -> std::sync::MutexGuard<'_, Rng> {
        self.rng.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send_once(self: &Arc<Self>, request: Request<Bytes>) -> ServiceReply {
        let sent = self.record(&request);
        let mut rng = Rng::new(self.rng().next());
        let fault = match self.world.lock().are_faults_cleared {
            true => Fault::None,
            false => draw(&self.world.plan.faults, &mut rng),
        };
        let (sender, reply) = oneshot::channel();
        let (network, exchanged) = (Arc::clone(self), sent.clone());
        self.world.change_in_flight(sent.order.as_deref(), 1);
        tokio::spawn(async move {
            network.exchange(request, &exchanged, fault, rng, sender).await;
            network.world.change_in_flight(exchanged.order.as_deref(), -1);
        });
        let mut abandoned = Abandoned { network: self, sent: &sent, is_armed: true };
        let reply = reply.await.unwrap_or_else(|_| Err(lost()));
        abandoned.is_armed = false;
        self.observe(&sent, &reply);
        reply
    }

    /// Carries a request to the mock and its reply back.
    async fn exchange(
        &self,
        mut request: Request<Bytes>,
        sent: &Sent,
        fault: Fault,
        mut rng: Rng,
        reply: oneshot::Sender<ServiceReply>,
    ) {
        let slot = self.slot();
        self.world.sleep(slot, rng.between(5, 400)).await;
        if fault == Fault::Refused || self.world.are_connections_refused() {
            self.trace(|| format!("  x {} refused", sent.label));
            drop(reply.send(Err(TransportError::not_sent("connection refused"))));
            return;
        }
        let is_after = rng.per_mille(500);
        if fault == Fault::LateRequest {
            self.trace(|| format!("  x {} delayed on its way", sent.label));
            self.fail(reply, &mut rng).await;
            self.world.sleep(slot, rng.between(1_000, 60_000)).await;
            self.arrive(request, sent, false).await;
            return;
        }
        if let Some(injected) = injected_before(fault, is_after, &mut rng) {
            self.trace(|| format!("  x {} {} injected", sent.label, injected.status));
            self.world.sleep(slot, rng.between(5, 400)).await;
            drop(reply.send(Ok(injected)));
            return;
        }
        if fault == Fault::LostRequest {
            self.trace(|| format!("  x {} lost", sent.label));
            self.fail(reply, &mut rng).await;
            return;
        }
        let is_media = request.uri().host() == Some("media.svc.invalid");
        if fault == Fault::WrongKey && !is_media {
            let other = HeaderValue::from_static("Bearer svc_unknown_key");
            request.headers_mut().insert(AUTHORIZATION, other);
        }
        let is_conflict = fault == Fault::Conflict && self.is_carried_out(sent);
        let mut answer = match is_conflict {
            true => Some(conflict()),
            false => self.arrive(request, sent, true).await,
        };
        let delay = match fault {
            Fault::Slow => rng.between(500, 100_000),
            _ => rng.between(5, 400),
        };
        self.world.sleep(slot, delay).await;
        if let Some(answer) = &mut answer {
            match is_media {
                true => change_media(fault, answer),
                false => change_after(fault, is_after && sent.key.is_some(), answer),
            }
            answer.is_cut = fault == Fault::Truncated && !answer.body.is_empty();
        }
        match answer.filter(|_| fault != Fault::LostReply) {
            Some(answer) => {
                let cut = if answer.is_cut { ", cut short" } else { "" };
                self.trace(|| format!("  < {} {}{cut}", sent.label, answer.status));
                drop(reply.send(Ok(answer)));
            }
            None => {
                self.trace(|| format!("  x {} reply lost", sent.label));
                self.world.lock().counts.lost_replies += 1;
                self.fail(reply, &mut rng).await;
            }
        }
    }

    /// Fails a request whose fate its client does not learn: at once, or by silence.
    async fn fail(&self, mut reply: oneshot::Sender<ServiceReply>, rng: &mut Rng) {
        if rng.per_mille(300) {
            // The client is not told anything until its own time limit passes.
            let silence = self.world.sleep(self.slot(), SILENCE_MS);
            tokio::select! {
                biased;
                () = reply.closed() => return,
                () = silence => {}
            }
        } else {
            self.world.sleep(self.slot(), rng.between(5, 2_000)).await;
        }
        drop(reply.send(Err(lost())));
    }

    /// Returns whether the submit was carried out before, with a key that the service recognizes.
    fn is_carried_out(&self, sent: &Sent) -> bool {
        let (Some(operation), Some(key)) = (sent.operation, &sent.key) else { return false };
        operation.retry() == RetryClass::Key && self.world.is_accepted_key(operation, key)
    }

    pub(super) fn taint(&self, sent: &Sent) {
        if let Some(credential) = &sent.credential {
            self.world.taint(credential);
        }
    }

    /// Lets a request arrive at the mock, and returns the mock's own answer.
    async fn arrive(
        &self,
        mut request: Request<Bytes>,
        sent: &Sent,
        is_heard: bool,
    ) -> Option<MockReply> {
        let world = &self.world;
        if !is_heard {
            self.taint(sent);
        }
        self.inject_into_key(sent.operation, request.headers_mut());
        let has_tool_keys = self.world.plan.tools == Tools::WithKeys;
        if sent.message.is_some() && (!has_tool_keys || world.has(Defect::ToolKeyIgnored)) {
            *request.body_mut() = tools::without_key(request.body());
        }
        let (mock, generation) = world.mock_and_generation();
        let response = tokio::select! {
            biased;
            response = send(&mock, request) => response,
            () = world.mock_replaced(generation) => None,
        };
        let mut answer = response.map(MockReply::of);
        if let Some(answer) = answer.as_mut().filter(|_| sent.message.is_some() && !has_tool_keys) {
            answer.body = tools::without_documented_keys(&answer.body);
        }
        if sent.operation == Some(Operation::SigningSecretRotate)
            && let Some(answer) = answer.as_ref().filter(|it| it.status.is_success())
        {
            let workspace = &world.plan.clients[self.client].workspace;
            let since = mock.now().as_micros();
            world.signing_secrets.note_rotation(workspace, since, &answer.body);
        }
        world.sleep(self.slot(), 0).await;
        if let Some(answer) = &answer {
            self.trace(|| format!("  > {} {}", sent.label, answer.status.as_u16()));
            self.inspect(sent, answer);
        }
        answer
    }

    /// Makes the service treat an idempotency key as it is documented, or as the defect says.
    fn inject_into_key(&self, operation: Option<Operation>, headers: &mut HeaderMap) {
        let (Some(operation), Some(key)) = (operation, headers.get("idempotency-key")) else {
            return;
        };
        if operation.retry() == RetryClass::Unsent {
            headers.remove("idempotency-key");
            return;
        }
        let key = key.to_str().unwrap_or_default().to_owned();
        if self.world.is_accepted_key(operation, &key) && self.world.has(Defect::ReplayExecuted) {
            let other = format!("{key}-{}", self.world.now_ms());
            headers.insert("idempotency-key", HeaderValue::from_str(&other).unwrap());
        }
    }
}

fn lost() -> TransportError {
    TransportError::maybe_sent("connection reset")
}
