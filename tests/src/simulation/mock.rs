//! The mock of a simulation: its clock, its keys, and its webhooks with their signing secrets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use serde_json::Value;
use svc_mock_server::engine::{Delivery, DeliveryOutcome, KeyKind, NewKey, Time};
use svc_mock_server::{InProcess, Setup, Speed};
use svc_sdk::transport::Transport;

use super::plan::Plan;
use super::rng::Rng;
use crate::signature;

/// Where the service's clock starts.
const EPOCH: Time = Time::from_micros(1_760_000_000_000_000);

/// For how long a replaced secret signs as well, in microseconds of the service's clock.
const OVERLAP_MICROS: u64 = 24 * 3_600 * 1_000_000;

/// The API keys of a client.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    pub(super) open: String,
    pub(super) developer: String,
}

/// The webhooks that each client has received.
pub(super) type Mailboxes = Arc<Mutex<BTreeMap<String, Vec<Delivery>>>>;

/// Returns the time of the wall clocks so long after the start.
pub(super) fn wall_after(span: Duration, speed: f64) -> SystemTime {
    let epoch = SystemTime::UNIX_EPOCH + Duration::from_micros(EPOCH.as_micros());
    epoch + span.mul_f64(speed)
}

/// Creates the keys of a client, and its workspace.
pub(super) fn add_keys(mock: &InProcess, workspace: &str) -> Credentials {
    let key = |kind| {
        let key = NewKey { kind, workspace: Some(workspace.to_owned()), plan: None, scopes: None };
        mock.add_key(key).unwrap().key
    };
    Credentials { open: key(KeyKind::Open), developer: key(KeyKind::Developer) }
}

pub(super) fn new_mock(plan: &Plan, mailboxes: &Mailboxes) -> InProcess {
    let mailboxes = Arc::clone(mailboxes);
    let seed = plan.seed;
    let setup = Setup::default()
        .seed(seed)
        .plan(plan.tier.clone())
        .balance_usd(plan.balance_usd)
        .read_multiple(plan.read_multiple)
        .speed(Speed::new(plan.speed).unwrap())
        .epoch(EPOCH);
    InProcess::new(setup).webhook_receiver(move |delivery| {
        let hash = delivery.body.iter().fold(delivery.at.as_micros(), |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(*byte))
        });
        let mut rng = Rng::derive(seed, hash);
        match rng.below(100) {
            0..15 => return DeliveryOutcome::answered(503),
            15..20 => return DeliveryOutcome::answered(500),
            20..25 => return DeliveryOutcome::failed("timeout"),
            _ => {}
        }
        let client = delivery.url.split('/').nth(3).unwrap_or_default().to_owned();
        let mut mailboxes = mailboxes.lock().unwrap_or_else(PoisonError::into_inner);
        mailboxes.entry(client).or_default().push(delivery.clone());
        DeliveryOutcome::answered(204)
    })
}

/// Sends a request to a mock, and returns its response with the whole body, if it has one.
pub(super) async fn send(mock: &InProcess, request: Request<Bytes>) -> Option<Response<Bytes>> {
    let (head, body) = mock.send(request).await.ok()?.into_parts();
    Some(Response::from_parts(head, body.collect().await.ok()?.to_bytes()))
}

/// The secrets of each workspace, oldest first, with the time at which each became current.
#[derive(Debug)]
pub(super) struct SigningSecrets(Mutex<BTreeMap<String, Vec<(u64, String)>>>);

impl SigningSecrets {
    /// Returns the secrets of an exported state.
    pub(super) fn of(snapshot: &Value) -> Self {
        let workspaces = snapshot["state"]["workspaces"].as_object();
        let secrets = workspaces.into_iter().flatten().map(|(id, workspace)| {
            let since = workspace["secret_created_at"].as_u64().unwrap();
            let secret = workspace["signing_secret"].as_str().unwrap();
            (id.clone(), vec![(since, secret.to_owned())])
        });
        Self(Mutex::new(secrets.collect()))
    }

    /// Notes the reply to a rotation at a time of the service's clock.
    pub(super) fn note_rotation(&self, workspace: &str, at_micros: u64, reply: &[u8]) {
        let reply: Value = serde_json::from_slice(reply).unwrap();
        let secret = reply["data"]["secret"].as_str().unwrap().to_owned();
        let mut secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = secrets.entry(workspace.to_owned()).or_default();
        known.push((at_micros, secret));
    }

    /// Returns whether a delivery at a time of the service's clock is signed with the secret of that
    /// time, and for a day after a rotation with the one before as well.
    pub(super) fn have_signed(
        &self,
        workspace: &str,
        at_micros: u64,
        timestamp: &str,
        body: &[u8],
        header: &str,
    ) -> bool {
        let secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &secrets[workspace];
        // A rotation in the same microsecond may come before the delivery, or after it.
        [at_micros, at_micros - 1].into_iter().any(|at| {
            let count = known.iter().take_while(|(since, _)| *since <= at).count();
            let mut valid = known[..count].iter().rev().take(2);
            let newest = valid.next().into_iter();
            let since = known[count.saturating_sub(1)].0;
            let previous = valid.next().filter(|_| at < since + OVERLAP_MICROS);
            let entries: Vec<_> = newest
                .chain(previous)
                .map(|(_, secret)| format!("svc-v1={}", signature(secret, timestamp, body)))
                .collect();
            entries.join(",") == header
        })
    }
}
