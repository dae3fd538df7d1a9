//! Sending on what is in the store: byte for byte, as often as it takes.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderMap, RETRY_AFTER};
use http::{HeaderName, StatusCode};
use svc_sdk::transport::Transport;
use svc_webhook_verify::{Signer, header};
use tokio::select;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{sleep, timeout};

use super::delivery::Delivery;
use super::event::News;
use super::keys::Keys;
use super::shutdown::told;
use super::store::{self, Shared};
use crate::clock;
use crate::webhook::Target;

/// Deliveries under way at once.
const AT_ONCE: u32 = 8;
/// For one attempt.
const PATIENCE: Duration = Duration::from_secs(30);
/// Before the second attempt; then twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// What a target that asks for time is given at most.
const LONGEST_WISH: Duration = Duration::from_secs(120);
/// A delivery that has waited so long is signed anew: a target that verifies would find it stale.
const FRESH_FOR: u64 = 240;

/// Sends on what is kept.
pub(super) struct Forwarder {
    target: Target,
    transport: Arc<dyn Transport>,
    store: Shared,
    keys: Arc<Keys>,
    /// How often the target may refuse an event.
    refusals: u32,
    news: mpsc::Sender<News>,
    stop: watch::Receiver<bool>,
    slots: Semaphore,
}

/// What became of an attempt.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    /// The target has it.
    Taken,
    /// The target does not want it, and hardly will.
    Refused(String),
    /// The target is down, or busy.
    Later(String, Option<Duration>),
}

impl Forwarder {
    pub(super) fn new(
        target: Target,
        transport: Arc<dyn Transport>,
        store: Shared,
        keys: Arc<Keys>,
        refusals: u32,
        news: mpsc::Sender<News>,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            target,
            transport,
            store,
            keys,
            refusals,
            news,
            stop,
            slots: Semaphore::new(AT_ONCE as usize),
        }
    }

    /// Sees to it that a delivery is sent on. It ends when it was, or when the listener ends.
    pub(super) fn take_up(self: &Arc<Self>, id: u64) {
        let forwarder = Arc::clone(self);
        tokio::spawn(async move {
            let mut stop = forwarder.stop.clone();
            let mut tries = Tries::default();
            loop {
                let pause = select! {
                    biased;
                    () = told(&mut stop) => return,
                    // What is under way is not broken off: the target may have it already.
                    slot = forwarder.slots.acquire() => match slot {
                        Ok(_slot) => forwarder.try_once(id, &mut tries).await,
                        Err(_) => return,
                    },
                };
                let Some(pause) = pause else { return };
                select! {
                    biased;
                    () = told(&mut stop) => return,
                    () = sleep(pause) => {}
                }
            }
        });
    }

    /// Waits until nothing is under way any more.
    pub(super) async fn ended(&self) {
        let _ = self.slots.acquire_many(AT_ONCE).await;
    }

    /// One attempt. Gives the pause before the next, where there is to be one.
    async fn try_once(&self, id: u64, tries: &mut Tries) -> Option<Duration> {
        let read = self.with_store(move |store| store.delivery(id)).await;
        let delivery = match read {
            Ok(delivery) => delivery?,
            Err(error) => {
                self.tell(News::Warning(format!(
                    "an event in the store cannot be read ({error}); it is not forwarded"
                )));
                return None;
            }
        };
        let name = delivery.name.clone();
        let attempt = self.send(delivery).await;
        let pause = tries.next(&attempt, self.refusals);
        match (attempt, pause) {
            (Attempt::Taken, _) => {
                self.settle(id, true).await;
                if tries.failed > 0 {
                    let times = tries.failed + 1;
                    self.tell(News::Note(format!("forwarded {name} at attempt {times}")));
                }
            }
            (Attempt::Refused(why), None) => {
                self.settle(id, false).await;
                let times = tries.failed;
                self.tell(News::Warning(format!(
                    "gave up forwarding {name} after {times} attempts: {why}"
                )));
            }
            (Attempt::Refused(why) | Attempt::Later(why, _), _) if tries.failed == 1 => {
                self.tell(News::Note(format!(
                    "could not forward {name} ({why}); it is tried again"
                )));
            }
            _ => {}
        }
        pause
    }

    async fn settle(&self, id: u64, forwarded: bool) {
        let now = clock::unix_seconds();
        let settled = self
            .with_store(move |store| store.settle(id, forwarded, now))
            .await;
        if let Err(error) = settled {
            self.tell(News::Warning(format!(
                "the store cannot be written ({error}): the next run forwards an event again"
            )));
        }
    }

    async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut store::Store) -> std::io::Result<T> + Send + 'static,
    ) -> std::io::Result<T> {
        let shared = Arc::clone(&self.store);
        let done = tokio::task::spawn_blocking(move || work(&mut store::lock(&shared)));
        done.await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
    }

    fn send(&self, delivery: Delivery) -> impl Future<Output = Attempt> + Send + use<> {
        let request = delivery.body().map(|body| {
            let mut headers = delivery.headers();
            let now = clock::unix_seconds();
            if now.saturating_sub(delivery.at) > FRESH_FOR {
                self.sign_anew(&mut headers, now, &body);
            }
            let mut request = self.target.post(body);
            *request.headers_mut() = headers;
            request
        });
        let sending = request.map(|request| self.transport.send(request));
        async move {
            let Some(sending) = sending else {
                return Attempt::Refused("what was stored of it is damaged".to_owned());
            };
            match timeout(PATIENCE, sending).await {
                Ok(Ok(answer)) => Attempt::of(answer.status(), answer.headers()),
                Ok(Err(error)) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    Attempt::Later(cause.unwrap_or_else(|| error.to_string()), None)
                }
                Err(_) => Attempt::Later("no answer in time".to_owned(), None),
            }
        }
    }

    /// As the service does when it redelivers: the same body, a fresh timestamp and signature.
    fn sign_anew(&self, headers: &mut HeaderMap, now: u64, body: &[u8]) {
        let keys = self.keys.verifier().keys().clone();
        for name in [header::TIMESTAMP, header::SIGNATURE, header::FINGERPRINT] {
            headers.remove(name);
        }
        let signed = HeaderMap::from(Signer::new(keys).sign(now, body));
        let named = |(name, value)| Some((Option::<HeaderName>::from(name)?, value));
        headers.extend(
            signed
                .into_iter()
                .filter_map(|(name, value)| named((name?, value))),
        );
    }

    fn tell(&self, news: News) {
        // Where so much is going on that it cannot be told, forwarding goes first.
        let _ = self.news.try_send(news);
    }
}

impl fmt::Debug for Forwarder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forwarder")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl Attempt {
    fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        let why = format!("the target answered {}", status.as_u16());
        match status.as_u16() {
            200..=299 => Self::Taken,
            408 | 425 | 429 | 500..=599 => {
                let wish = headers
                    .get(RETRY_AFTER)
                    .and_then(|value| value.to_str().ok()?.parse().ok());
                Self::Later(why, wish.map(Duration::from_secs))
            }
            _ => Self::Refused(why),
        }
    }
}

/// What was tried with one delivery.
#[derive(Debug, Default)]
struct Tries {
    failed: u32,
    refused: u32,
}

impl Tries {
    /// Takes in an attempt, and gives the pause before the next one, where there is to be one.
    fn next(&mut self, attempt: &Attempt, refusals: u32) -> Option<Duration> {
        let doubled = 2_u32.saturating_pow(self.failed);
        let pause = FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE);
        match attempt {
            Attempt::Taken => None,
            Attempt::Refused(_) => {
                self.failed = self.failed.saturating_add(1);
                self.refused = self.refused.saturating_add(1);
                (self.refused < refusals).then_some(pause)
            }
            Attempt::Later(_, wish) => {
                self.failed = self.failed.saturating_add(1);
                Some(pause.max(wish.unwrap_or_default().min(LONGEST_WISH)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use bytes::Bytes;
    use http::{HeaderValue, Request, Response};
    use http_body_util::{BodyExt, Empty};
    use svc_sdk::transport::{Sending, TransportError};
    use svc_webhook_verify::Verifier;

    use super::super::store::Store;
    use super::*;
    use crate::webhook::{Secrets, Source};

    /// A target that answers from a list, and 200 after it; 0 is no answer at all.
    #[derive(Clone, Default)]
    struct Scripted {
        answers: Arc<Mutex<VecDeque<u16>>>,
        seen: Arc<Mutex<Vec<Request<Bytes>>>>,
    }

    impl Transport for Scripted {
        fn send(&self, request: Request<Bytes>) -> Sending {
            self.seen.lock().unwrap().push(request);
            let status = self.answers.lock().unwrap().pop_front().unwrap_or(200);
            Box::pin(async move {
                if status == 0 {
                    return Err(TransportError::not_sent("connection refused"));
                }
                let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
                let mut answer = Response::new(body);
                *answer.status_mut() = StatusCode::from_u16(status).unwrap();
                Ok(answer)
            })
        }
    }

    struct Sent {
        target: Scripted,
        store: Shared,
        news: Vec<News>,
    }

    /// What comes of a delivery that was received so long ago, after an hour.
    async fn forwarded(answers: &[u16], age: u64) -> Sent {
        let target = Scripted::default();
        target.answers.lock().unwrap().extend(answers);
        let at = clock::unix_seconds() - age;
        let mut store = Store::in_memory(true);
        let mut headers = HeaderMap::new();
        headers.insert(header::TIMESTAMP, HeaderValue::from(at));
        headers.insert(header::SIGNATURE, HeaderValue::from_static("as it came"));
        let body = Bytes::from_static(b"{ \"event\" : 1 }");
        store
            .take(Delivery::new(at, None, "a test".into(), &headers, &body))
            .unwrap();
        let store = store::shared(store);
        let secrets = Secrets::of_text("whsec_newest", Source::Service).unwrap();
        let (news, mut heard) = mpsc::channel(100);
        let (_stop, stopped) = watch::channel(false);
        let forwarder = Arc::new(Forwarder::new(
            "http://127.0.0.1:1/in?a=b".parse().unwrap(),
            Arc::new(target.clone()),
            Arc::clone(&store),
            Arc::new(Keys::new(&secrets, Duration::from_secs(300), None)),
            3,
            news,
            stopped,
        ));
        forwarder.take_up(1);
        // A second at a time, so that work on other threads is waited for too.
        for _ in 0..3600 {
            sleep(Duration::from_secs(1)).await;
            tokio::task::spawn_blocking(|| {}).await.unwrap();
        }
        let mut told = Vec::new();
        while let Ok(news) = heard.try_recv() {
            told.push(news);
        }
        Sent {
            target,
            store,
            news: told,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_target_that_is_down_or_busy_is_tried_until_it_is_not() {
        let sent = forwarded(&[0, 0, 503, 429, 500, 408, 0, 0, 0, 0, 0], 0).await;
        let seen = sent.target.seen.lock().unwrap();
        assert_eq!(seen.len(), 12);
        for request in seen.iter() {
            assert_eq!(request.uri(), "http://127.0.0.1:1/in?a=b");
            assert_eq!(request.body(), "{ \"event\" : 1 }");
            assert_eq!(request.headers()[header::SIGNATURE], "as it came");
        }
        assert!(store::lock(&sent.store).pending().is_empty());
        assert!(matches!(&sent.news[..], [News::Note(_), News::Note(last)] if last.contains("12")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_target_that_refuses_is_given_up_after_so_many_times() {
        let sent = forwarded(&[404, 503, 302, 400], 0).await;
        assert_eq!(sent.target.seen.lock().unwrap().len(), 4);
        assert!(store::lock(&sent.store).pending().is_empty());
        assert!(matches!(sent.news.last(), Some(News::Warning(why)) if why.contains("400")));
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_waited_too_long_is_signed_anew() {
        let sent = forwarded(&[], FRESH_FOR + 60).await;
        let seen = sent.target.seen.lock().unwrap();
        let verifier = Verifier::new(svc_webhook_verify::Key::new("whsec_newest").unwrap());
        let (headers, body) = (seen[0].headers(), seen[0].body());
        verifier
            .check_headers(headers, body, clock::unix_seconds())
            .unwrap();
        assert_eq!(headers.len(), 3);
    }

    #[test]
    fn pauses_grow_to_half_a_minute_and_heed_the_target() {
        let later =
            |wish: Option<u64>| Attempt::Later(String::new(), wish.map(Duration::from_secs));
        let mut tries = Tries::default();
        let pauses: Vec<_> = (0..9)
            .map(|_| tries.next(&later(None), 3).unwrap())
            .collect();
        assert_eq!(pauses[..3], [250, 500, 1000].map(Duration::from_millis));
        assert_eq!(pauses[8], LONGEST_PAUSE);
        assert_eq!(
            tries.next(&later(Some(60)), 3),
            Some(Duration::from_secs(60))
        );
        assert_eq!(tries.next(&later(Some(u64::MAX)), 3), Some(LONGEST_WISH));
        tries.failed = u32::MAX;
        assert_eq!(tries.next(&later(None), 3), Some(LONGEST_PAUSE));
    }
}
