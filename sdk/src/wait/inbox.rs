//! Webhook events, as waits hear of them.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::types::WebhookEvent;

/// Ends that are remembered for waits that begin after the event came.
const REMEMBERED: usize = 10_000;

/// Where a receiver of webhooks puts its events, so that waits need not wait for their next poll.
///
/// Whichever comes first, event or poll, ends the wait. How the job or run stands, and what it came
/// to, is read from the service either way: an event only says when to look, so that one that is
/// forged or comes too early ends nothing. Clones are the same inbox.
///
/// ```no_run
/// use svc_sdk::types::WebhookEvent;
/// use svc_sdk::{Inbox, WaitOptions};
///
/// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
/// let inbox = Inbox::new();
///
/// // In the receiver, once a delivery is verified and stored:
/// # let body = b"{}";
/// if let Ok(event) = serde_json::from_slice::<WebhookEvent>(body) {
///     inbox.deliver(&event);
/// }
///
/// // Where the job is waited for:
/// let options = WaitOptions::default().events(&inbox);
/// let result = client.job("job_1").wait_with(options).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Inbox(Arc<Shared>);

#[derive(Default)]
struct Shared {
    ended: Mutex<Ended>,
    arrived: Notify,
}

#[derive(Default)]
struct Ended {
    ids: HashSet<String>,
    oldest_first: VecDeque<String>,
}

impl Inbox {
    /// An empty inbox.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in an event. One that tells no end, or that came before, changes nothing.
    pub fn deliver(&self, event: &WebhookEvent) {
        let Some(id) = ended(event) else { return };
        let mut ended = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.ids.insert(id.clone()) {
            ended.oldest_first.push_back(id);
            if ended.oldest_first.len() > REMEMBERED
                && let Some(oldest) = ended.oldest_first.pop_front()
            {
                ended.ids.remove(&oldest);
            }
            drop(ended);
            self.0.arrived.notify_waiters();
        }
    }

    /// Waits until the end of that job or run was told.
    pub(crate) async fn end_of(&self, id: &str) {
        loop {
            let mut arrived = pin!(self.0.arrived.notified());
            // From here on no event is missed.
            arrived.as_mut().enable();
            if self.knows(id) {
                return;
            }
            arrived.await;
        }
    }

    fn knows(&self, id: &str) -> bool {
        let ended = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.ids.contains(id)
    }
}

/// The job or run whose end an event tells. A `*.run.terminal` of tomorrow does too.
fn ended(event: &WebhookEvent) -> Option<String> {
    let name = event.event.as_str();
    if name.ends_with(".run.terminal") {
        return Some(event.run_id()?.to_string());
    }
    event.job_status()?;
    Some(event.job_id.as_ref()?.to_string())
}

impl PartialEq for Inbox {
    /// Whether it is the same inbox.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(json: serde_json::Value) -> Option<String> {
        ended(&serde_json::from_value(json).unwrap())
    }

    #[test]
    fn only_an_end_is_one() {
        assert_eq!(
            told(json!({"event": "job.failed", "job_id": "job_1"})),
            Some("job_1".to_owned())
        );
        assert_eq!(
            told(json!({"event": "saga.run.terminal", "run_id": "run_1"})),
            Some("run_1".to_owned())
        );
        assert_eq!(
            told(json!({"event": "job.paused", "job_id": "job_1"})),
            None
        );
        assert_eq!(
            told(json!({"event": "webhook.test", "job_id": "job_1"})),
            None
        );
        assert_eq!(told(json!({"event": "job.completed"})), None);
    }

    #[test]
    fn the_memory_is_bounded() {
        let inbox = Inbox::new();
        for number in 0..=REMEMBERED {
            let id = format!("job_{number}");
            let event = json!({"event": "job.completed", "job_id": id});
            inbox.deliver(&serde_json::from_value(event).unwrap());
        }
        assert!(!inbox.knows("job_0"));
        assert!(inbox.knows("job_1"));
        assert_eq!(inbox.0.ended.lock().unwrap().ids.len(), REMEMBERED);
    }
}
