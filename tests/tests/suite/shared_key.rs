//! Several clients with one API key that know nothing of each other, in virtual time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use svc_mock_server::{InProcess, Setup};
use svc_sdk::transport::{ResponseFuture, Transport};
use svc_sdk::types::ImageGenerate;
use svc_sdk::{ApiKey, RetryPolicy, open};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The windows that a test lasts.
const WINDOWS: u32 = 5;
/// The duration of a window, which begins with its first request.
const WINDOW: Duration = Duration::from_secs(60);

/// When a request was answered by the service, and with which status.
type Answers = Arc<Mutex<Vec<(Instant, StatusCode)>>>;

/// A network on which a request and its reply take their time.
#[derive(Debug)]
struct SlowNetwork {
    mock: InProcess,
    delay: Duration,
    answers: Answers,
}

impl Transport for SlowNetwork {
    #[expect(clippy::disallowed_methods, reason = "the runtime's paused clock")]
    fn send(&self, request: Request<Bytes>) -> ResponseFuture {
        let (mock, delay) = (self.mock.clone(), self.delay);
        let answers = Arc::clone(&self.answers);
        Box::pin(async move {
            tokio::time::sleep(delay).await;
            let response = mock.send(request).await?;
            let answer = (Instant::now(), response.status());
            answers.lock().unwrap().push(answer);
            tokio::time::sleep(delay).await;
            Ok(response)
        })
    }
}

fn client(mock: &InProcess, answers: &Answers, number: u64) -> open::Client {
    let transport = SlowNetwork {
        mock: mock.clone(),
        delay: Duration::from_millis(20 + 37 * (number % 5)),
        answers: Arc::clone(answers),
    };
    open::Client::builder()
        .base_url(mock.base_url())
        .api_key(ApiKey::new("svc_open_demo").unwrap())
        .transport(Arc::new(transport))
        .retry(RetryPolicy::default().max_retries(20))
        .timeout(Duration::from_secs(600))
        .seed(number)
        .build()
        .unwrap()
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Submits,
    Reads,
}

/// What came of the requests of a window.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    accepted: usize,
    refused: usize,
}

/// Lets several clients work at once, each with several tasks, and counts the requests of each window.
async fn run(clients: u64, tasks: u64, work: Work) -> Vec<Count> {
    let setup = Setup::default().balance_usd(1_000).read_multiple(1);
    let mock = InProcess::new(setup);
    let answers = Answers::default();
    let mut running = JoinSet::new();
    for number in 0..clients {
        let client = client(&mock, &answers, number);
        for _ in 0..tasks {
            let client = client.clone();
            running.spawn(async move {
                let image = ImageGenerate::new("image-i").prompt("fox [mock:seconds=0]");
                loop {
                    match work {
                        Work::Submits => drop(client.images().generate(&image).await),
                        Work::Reads => drop(client.jobs().list().await),
                    }
                }
            });
        }
    }
    tokio::time::sleep(WINDOW * (WINDOWS + 1)).await;
    running.shutdown().await;
    let answers = answers.lock().unwrap();
    let mut counts: Vec<Count> = Vec::new();
    let mut began = None;
    for (at, status) in answers.iter() {
        if began.is_none_or(|began| *at >= began + WINDOW) {
            began = Some(*at);
            counts.push(Count::default());
        }
        let count = counts.last_mut().unwrap();
        match *status {
            StatusCode::TOO_MANY_REQUESTS => count.refused += 1,
            _ => count.accepted += 1,
        }
    }
    // The last window may have been cut short.
    counts.truncate(WINDOWS as usize);
    counts
}

#[tokio::test(start_paused = true)]
async fn clients_that_share_a_key_meet_no_429_after_the_first_window() {
    for clients in [1, 2, 4, 16] {
        for tasks in [1, 5, 40] {
            for work in [Work::Submits, Work::Reads] {
                let counts = run(clients, tasks, work).await;
                assert_eq!(counts.len(), WINDOWS as usize);
                let case = format!("{clients} clients, {tasks} tasks, {work:?}: {counts:?}");
                assert!(counts[1..].iter().all(|it| it.refused == 0), "{case}");
                assert!(counts[1..].iter().all(|it| it.accepted >= 100), "{case}");
                if clients == 1 {
                    assert!(counts.iter().all(|it| it.refused == 0), "{case}");
                    assert!(counts.iter().all(|it| it.accepted == 120), "{case}");
                }
            }
        }
    }
}
