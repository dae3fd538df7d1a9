//! Webhook events, for waits that should not wait for their next poll.

use std::collections::{HashSet, VecDeque};
use std::pin::pin;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::debug_fields::debug_fields;
use crate::lock::lock;
use crate::types::WebhookEvent;

/// The number of ended resources that are remembered for waits that begin after the event.
const MAX_REMEMBERED: usize = 10_000;

/// Passes webhook events from a receiver to waits.
///
/// An event makes a wait poll at once. The status and the result are read from the service all the
/// same, so that an event that is forged or comes too early ends nothing. Clones share their events.
///
/// ```no_run
/// use svc_sdk::WebhookNotifier;
/// use svc_sdk::types::WebhookEvent;
///
/// # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
/// let notifier = WebhookNotifier::new();
///
/// // In the receiver, after a delivery is verified and stored:
/// # let body = b"{}";
/// if let Ok(event) = serde_json::from_slice::<WebhookEvent>(body) {
///     notifier.notify(&event);
/// }
///
/// // Where the job is waited for:
/// let result = client.jobs().handle("job_1").wait().webhook_notifier(&notifier).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct WebhookNotifier(Arc<NotifierInner>);

#[derive(Default)]
struct NotifierInner {
    ended: Mutex<EndedIds>,
    arrived: Notify,
}

#[derive(Default)]
struct EndedIds {
    ids: HashSet<String>,
    oldest_first: VecDeque<String>,
}

impl WebhookNotifier {
    /// Creates a notifier.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Passes an event on. An event that was passed on before, or that does not say that a job or a
    /// run has ended, changes nothing.
    pub fn notify(&self, event: &WebhookEvent) {
        let Some(id) = ended_id(event) else { return };
        let mut ended = lock(&self.0.ended);
        if ended.ids.insert(id.clone()) {
            ended.oldest_first.push_back(id);
            if ended.oldest_first.len() > MAX_REMEMBERED
                && let Some(oldest) = ended.oldest_first.pop_front()
            {
                ended.ids.remove(&oldest);
            }
            drop(ended);
            self.0.arrived.notify_waiters();
        }
    }

    /// Waits for the event that says that the job or run has ended.
    pub(crate) async fn wait_for_end_of(&self, id: &str) {
        loop {
            let mut arrived = pin!(self.0.arrived.notified());
            // No event is missed from here on.
            arrived.as_mut().enable();
            if self.contains(id) {
                return;
            }
            arrived.await;
        }
    }

    fn contains(&self, id: &str) -> bool {
        lock(&self.0.ended).ids.contains(id)
    }
}

/// Returns the id of the job or run that an event says has ended. Run events of kinds that this build
/// does not know count as well.
fn ended_id(event: &WebhookEvent) -> Option<String> {
    let name = event.event.as_str();
    if name.ends_with(".run.terminal") {
        return Some(event.run_id()?.to_string());
    }
    event.job_status()?;
    Some(event.job_id.as_ref()?.to_string())
}

debug_fields! { [] WebhookNotifier as "WebhookNotifier" {  } }

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id_in(json: serde_json::Value) -> Option<String> {
        ended_id(&serde_json::from_value(json).unwrap())
    }

    #[test]
    fn only_terminal_events_have_an_id() {
        assert_eq!(
            id_in(json!({"event": "job.failed", "job_id": "job_1"})),
            Some("job_1".to_owned())
        );
        assert_eq!(
            id_in(json!({"event": "saga.run.terminal", "run_id": "run_1"})),
            Some("run_1".to_owned())
        );
        assert_eq!(id_in(json!({"event": "job.paused", "job_id": "job_1"})), None);
        assert_eq!(id_in(json!({"event": "webhook.test", "job_id": "job_1"})), None);
        assert_eq!(id_in(json!({"event": "job.completed"})), None);
    }

    #[test]
    fn the_number_of_remembered_ids_is_bounded() {
        let notifier = WebhookNotifier::new();
        for number in 0..=MAX_REMEMBERED {
            let id = format!("job_{number}");
            let event = json!({"event": "job.completed", "job_id": id});
            notifier.notify(&serde_json::from_value(event).unwrap());
        }
        assert!(!notifier.contains("job_0"));
        assert!(notifier.contains("job_1"));
        assert_eq!(notifier.0.ended.lock().unwrap().ids.len(), MAX_REMEMBERED);
    }
}
