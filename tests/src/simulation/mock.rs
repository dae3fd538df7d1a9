//! The mock of a simulation: its clock, its keys, and the receiver of its webhooks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use svc_mock_server::engine::{Delivery, DeliveryOutcome, KeyKind, NewKey, Time};
use svc_mock_server::{InProcess, Setup, Speed};

use super::plan::Plan;
use super::rng::Rng;

/// Where the service's clock starts.
const EPOCH: Time = Time::from_micros(1_760_000_000_000_000);

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
