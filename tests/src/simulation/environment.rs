//! What the environment does: outages, restores of the mock, and the payer of top-ups.

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use svc_mock_server::InProcess;
use svc_sdk::contract::TopUpStatus;

use super::mock::send;
use super::oracle::{Defect, Oracle};
use super::rng::Rng;
use super::world::{ENVIRONMENT_SLOT, World};

/// The state is restored when a part of all requests, one in this number, came after the last time.
const MIN_GROWTH: u64 = 2;

/// What the environment does.
impl World {
    /// Refuses connections from now on.
    pub(super) fn begin_outage(&self, duration_ms: u64) {
        let until = self.now_ms() + duration_ms;
        self.lock().outage_until_ms = until;
    }

    /// Pays the pending top-ups, or lets them fail or expire.
    pub(super) fn settle_top_ups(&self, rng: &mut Rng, are_all_paid: bool) {
        let mock = self.mock();
        let pending = std::mem::take(&mut self.lock().top_ups);
        for id in pending {
            let statuses =
                [TopUpStatus::Paid, TopUpStatus::Paid, TopUpStatus::Failed, TopUpStatus::Expired];
            let status = if are_all_paid { &TopUpStatus::Paid } else { rng.pick(&statuses) };
            let is_settled = mock.settle_top_up(&id, status.clone()).is_ok();
            self.trace(ENVIRONMENT_SLOT, || format!("top-up {id} {status}: {is_settled}"));
        }
    }

    /// Exports the state into a new mock, and checks that it answers as the old one.
    ///
    /// That reads the whole state, so that long simulations do it less and less often.
    pub(super) async fn restore(&self, rng: &mut Rng) {
        {
            let mut state = self.lock();
            let requests = state.counts.requests;
            if (requests - state.requests_before_restore) * MIN_GROWTH < requests {
                return;
            }
            state.requests_before_restore = requests;
        }
        let old = self.mock();
        let document = old.snapshot();
        let mut imported = document.clone();
        if self.has(Defect::KeysLostOnRestore) {
            imported["state"]["idempotency"] = json!({"expiring": [], "lasting": []});
        }
        let older = self.lock().older_snapshot.replace(document.clone());
        if let Some(older) = older.filter(|_| self.has(Defect::OldSnapshotRestored)) {
            imported = older;
        }
        let new = self.new_mock();
        if let Err(error) = new.restore(imported.clone()) {
            self.violate(Oracle::Restore, format!("the exported state is refused: {error}"));
            return;
        }
        if let Some(place) = difference(&document, &new.snapshot(), "") {
            self.violate(Oracle::Restore, format!("the restored state differs at {place}"));
        }
        for request in self.probes(&old, rng) {
            let (left, right) = (answer(&old, &request).await, answer(&new, &request).await);
            if left != right {
                let uri = request.uri();
                self.violate(
                    Oracle::Restore,
                    format!("{uri} is answered differently after a restore"),
                );
            }
        }
        // The probes are undone: they counted against the clients' rate limits.
        new.restore(imported).unwrap();
        {
            let mut state = self.lock();
            state.mock = new;
            state.generation += 1;
            state.counts.restores += 1;
        }
        self.replaced.notify_waiters();
    }

    /// Returns a sample of reads.
    fn probes(&self, mock: &InProcess, rng: &mut Rng) -> Vec<Request<Bytes>> {
        let (open, developer) = (mock.base_url(), mock.developer_base_url());
        let keys = rng.pick(&self.credentials).clone();
        let mut targets = vec![
            (format!("{developer}/v1/balance"), &keys.developer),
            (format!("{developer}/v1/usage"), &keys.developer),
            (format!("{developer}/v1/agent-runs"), &keys.developer),
            (format!("{open}/v1/jobs"), &keys.open),
        ];
        let created = self.created_jobs();
        for _ in 0..3.min(created.len()) {
            let id = rng.pick(&created);
            for part in ["", "/status", "/result"] {
                targets.push((format!("{open}/v1/jobs/{id}{part}"), &keys.open));
            }
        }
        let request = |(uri, key): (String, &String)| {
            let builder = Request::get(uri).header("authorization", format!("Bearer {key}"));
            builder.body(Bytes::new()).unwrap()
        };
        targets.into_iter().map(request).collect()
    }
}

async fn answer(mock: &InProcess, request: &Request<Bytes>) -> Option<(u16, String, Bytes)> {
    let (head, body) = send(mock, request.clone()).await?.into_parts();
    Some((head.status.as_u16(), format!("{:?}", head.headers), body))
}

/// Returns the first place at which two documents differ.
fn difference(left: &Value, right: &Value, path: &str) -> Option<String> {
    // Most documents are equal, and paths are not needed for those.
    if left == right {
        return None;
    }
    match (left, right) {
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            a.iter().find_map(|(name, value)| {
                difference(value, b.get(name).unwrap_or(&Value::Null), &format!("{path}/{name}"))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs
                .into_iter()
                .find_map(|(index, (a, b))| difference(a, b, &format!("{path}/{index}")))
        }
        _ => Some(path.to_owned()),
    }
}
