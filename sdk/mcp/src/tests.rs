//! Paid calls through a journal, at an endpoint that keeps idempotency keys.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use svc_sdk::journal::{
    EntryState, Journal, JournalError, MemoryStore, ReleaseReason, ResourceKind, Reuse,
    UndecidedReason,
};
use svc_sdk::transport::{Body, ResponseFuture, Transport, TransportError};
use svc_sdk::{ApiKey, RetryPolicy, developer};

use super::{McpClient, McpError, ToolResult};

const ID: &str = "order-1";
/// A tool that is documented to recognize its idempotency key, one that accepts a key, and one without.
const COMPLETION: &str = "agent_completion";
const IMAGE: &str = "image_generate";
const MUSIC: &str = "music_generate";

/// What the endpoint does about a call.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Accept,
    /// It accepts the call, and the reply is lost.
    Lost,
    /// It accepts the call, and the reply has no id.
    WithoutId,
    /// It rejects the message with a JSON-RPC error.
    Reject(i64),
    /// The tool rejects the call.
    NoFunds,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

/// A response with a JSON body, or the loss of the connection.
type Reply = Result<http::Response<Body>, TransportError>;

fn json_response(status: u16, body: &str) -> Reply {
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes())).map_err(|never| match never {});
    let mut response = http::Response::new(body.boxed_unsync());
    *response.status_mut() = status.try_into().unwrap();
    Ok(response)
}

#[derive(Debug, Default)]
struct Endpoint {
    answers: Mutex<VecDeque<Answer>>,
    /// The idempotency key of each call, or nothing for a tool without one.
    calls: Mutex<Vec<Option<String>>>,
    jobs: Mutex<HashMap<String, String>>,
}

impl Endpoint {
    fn calls(&self) -> Vec<Option<String>> {
        lock(&self.calls).clone()
    }

    fn call(&self, arguments: &Value) -> Result<Value, Box<Reply>> {
        let key = arguments["idempotency_key"].as_str().map(str::to_owned);
        lock(&self.calls).push(key.clone());
        let answer = lock(&self.answers).pop_front().unwrap_or(Answer::Accept);
        let envelope = r#"{"error": {"code": "insufficient_credits", "message": "x"}}"#;
        let refusal = json!({"content": [{"type": "text", "text": envelope}], "isError": true});
        match answer {
            Answer::Reject(code) => return Ok(json!({"error": {"code": code, "message": "x"}})),
            Answer::NoFunds => return Ok(json!({ "result": refusal })),
            _ => {}
        }
        let mut jobs = lock(&self.jobs);
        let next = jobs.len() + 1;
        let key = key.unwrap_or_else(|| next.to_string());
        let job = jobs.entry(key).or_insert_with(|| format!("job_{next}"));
        match answer {
            Answer::Lost => Err(Box::new(Err(TransportError::maybe_sent("connection reset")))),
            Answer::WithoutId => Ok(json!({"result": {"content": []}})),
            _ => Ok(json!({"result": {"content": [], "structuredContent": {"job_id": job}}})),
        }
    }

    fn answer(&self, message: &Value) -> Reply {
        let reply = match message["method"].as_str().unwrap() {
            "initialize" => Ok(json!({"result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            }})),
            "tools/list" => Ok(json!({"result": {"tools": [
                tool(COMPLETION, &["prompt", "max_spend_usd", "idempotency_key"]),
                tool(IMAGE, &["prompt", "max_spend_usd", "idempotency_key"]),
                tool(MUSIC, &["prompt", "max_spend_usd"]),
            ]}})),
            "tools/call" => self.call(&message["params"]["arguments"]),
            "server/discover" => Err(Box::new(json_response(404, "{}"))),
            _ => Err(Box::new(json_response(202, ""))),
        };
        match reply {
            Ok(mut reply) => {
                reply["jsonrpc"] = json!("2.0");
                reply["id"] = message["id"].clone();
                json_response(200, &reply.to_string())
            }
            Err(reply) => *reply,
        }
    }
}

fn tool(name: &str, arguments: &[&str]) -> Value {
    let properties: HashMap<_, _> = arguments.iter().map(|it| (*it, json!({}))).collect();
    json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
}

#[derive(Debug)]
struct EndpointTransport(Arc<Endpoint>);

impl Transport for EndpointTransport {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        let message = serde_json::from_slice(request.body()).unwrap();
        let reply = self.0.answer(&message);
        Box::pin(async move { reply })
    }
}

struct Test {
    endpoint: Arc<Endpoint>,
    journal: Journal,
    client: McpClient,
}

impl Test {
    async fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::with_retries(RetryPolicy::none(), answers).await
    }

    async fn with_retries(retry: RetryPolicy, answers: impl IntoIterator<Item = Answer>) -> Self {
        let endpoint = Arc::new(Endpoint::default());
        lock(&endpoint.answers).extend(answers);
        let journal = Journal::with_store(MemoryStore::new());
        let client = builder(&endpoint).retry(retry).journal(journal.clone()).build().unwrap();
        Self { endpoint, journal, client: McpClient::with_client(&client).await.unwrap() }
    }

    /// A client that retries.
    async fn client_without_journal(&self) -> McpClient {
        McpClient::with_client(&builder(&self.endpoint).build().unwrap()).await.unwrap()
    }

    async fn submit(&self, tool: &str, prompt: &str) -> Result<ToolResult, McpError> {
        let arguments = json!({"prompt": prompt, "max_spend_usd": 0.05});
        self.client.submit(tool, arguments).submission_id(ID).await
    }

    async fn state(&self) -> EntryState {
        self.journal.find("", ID).await.unwrap().unwrap().state
    }
}

fn builder(endpoint: &Arc<Endpoint>) -> developer::ClientBuilder {
    developer::Client::builder()
        .base_url("https://mcp.example/mcp")
        .api_key(ApiKey::new("canary-key").unwrap())
        .transport(Arc::new(EndpointTransport(Arc::clone(endpoint))))
}

fn job_id(result: &ToolResult) -> &str {
    let structured = result.structured.as_ref();
    structured.map_or("", |it| it["job_id"].as_str().unwrap_or_default())
}

fn journal_error(error: &McpError) -> Option<&JournalError> {
    match error {
        McpError::Request(error) => error.journal(),
        _ => None,
    }
}

fn undecided(error: &McpError) -> Option<UndecidedReason> {
    match journal_error(error)? {
        JournalError::Undecided(undecided) => Some(undecided.reason),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn an_accepted_call_is_returned_and_not_made_again() {
    let test = Test::new([]).await;
    let first = test.submit(COMPLETION, "a fox").await.unwrap();
    let again = test.submit(COMPLETION, "a fox").await.unwrap();
    assert_eq!((job_id(&first), job_id(&again)), ("job_1", "job_1"));
    assert_eq!(first.intent_id(), again.intent_id());
    assert_eq!(first.idempotency_key, again.idempotency_key);
    let conflict = test.submit(COMPLETION, "a hare").await.unwrap_err();
    assert!(
        matches!(journal_error(&conflict), Some(JournalError::SubmissionConflict { .. })),
        "{conflict}"
    );
    first.acknowledge().await.unwrap();
    let acknowledged = test.submit(COMPLETION, "a fox").await.unwrap();
    assert_eq!(job_id(&acknowledged), "job_1");
    let entry = test.journal.find("", ID).await.unwrap().unwrap();
    let job = (ResourceKind::Job, "job_1".to_owned());
    assert_eq!((entry.state, entry.resource), (EntryState::Accepted, Some(job)));
    assert!(entry.is_acknowledged);
    assert_eq!(test.endpoint.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_call_frees_its_submission_and_shows_the_rejection() {
    for tool in [COMPLETION, IMAGE, MUSIC] {
        for answer in [
            Answer::Reject(-32602),
            Answer::Reject(-32601),
            Answer::Reject(-32002),
            Answer::NoFunds,
        ] {
            let test = Test::new([answer]).await;
            let error = test.submit(tool, "a fox").await.unwrap_err();
            let is_shown = match answer {
                Answer::Reject(code) => {
                    matches!(error, McpError::Protocol { code: shown, .. } if i64::from(shown) == code)
                }
                _ => matches!(error, McpError::Tool(_)),
            };
            assert!(is_shown && !error.is_ambiguous(), "{answer:?}: {error}");
            let refused = EntryState::Released(ReleaseReason::Refused);
            assert_eq!(test.state().await, refused, "{tool} {answer:?}");
            // The mistake is corrected under the same id.
            let corrected = test.submit(tool, "a hare").await.unwrap();
            assert_eq!(job_id(&corrected), "job_1");
            let calls = test.endpoint.calls();
            assert!(tool == MUSIC || calls[0] != calls[1], "{calls:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_reply_was_lost_is_sent_again_with_its_key() {
    // A rejection comes before the endpoint looks for the key, so that it says nothing of the first call.
    for between in [None, Some(Answer::Reject(-32602)), Some(Answer::NoFunds)] {
        let test = Test::new([Answer::Lost].into_iter().chain(between)).await;
        for _ in 0..=usize::from(between.is_some()) {
            let error = test.submit(COMPLETION, "a fox").await.unwrap_err();
            assert!(error.is_ambiguous(), "{between:?}: {error}");
            let call_again = EntryState::Undecided(UndecidedReason::CallAgain);
            assert_eq!(test.state().await, call_again, "{between:?}");
        }
        let result = test.submit(COMPLETION, "a fox").await.unwrap();
        assert_eq!(job_id(&result), "job_1", "{between:?}");
        let calls = test.endpoint.calls();
        assert!(calls.iter().all(|key| *key == calls[0]), "{calls:?}");
        assert_eq!(lock(&test.endpoint.jobs).len(), 1, "{between:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_key_is_not_documented_is_sent_again_only_if_it_did_not_run() {
    for (tool, answer) in [IMAGE, MUSIC]
        .into_iter()
        .flat_map(|tool| [Answer::Lost, Answer::WithoutId].map(|answer| (tool, answer)))
    {
        let test = Test::with_retries(RetryPolicy::default(), [answer]).await;
        if let Err(error) = test.submit(tool, "jazz").await {
            assert!(error.is_ambiguous(), "{error}");
        }
        let error = test.submit(tool, "jazz").await.unwrap_err();
        assert_eq!(undecided(&error), Some(UndecidedReason::KeyNotDocumented));
        assert_eq!(test.endpoint.calls().len(), 1, "{tool} {answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_calls_whose_key_is_documented_are_retried_after_a_lost_reply() {
    for (tool, attempts) in [(COMPLETION, 2), (IMAGE, 1), (MUSIC, 1)] {
        for arguments in [json!({}), json!({"idempotency_key": "order-1"})] {
            let test = Test::new([Answer::Lost]).await;
            let client = test.client_without_journal().await;
            let called = client.call(tool, arguments.clone()).await;
            assert_eq!(called.is_ok(), attempts == 2, "{tool} {arguments}: {called:?}");
            let calls = test.endpoint.calls();
            assert_eq!(calls.len(), attempts, "{tool} {arguments}");
            assert!(calls.iter().all(|key| *key == calls[0]), "{calls:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_without_an_id_is_found_with_the_key_of_its_call() {
    let test = Test::new([Answer::WithoutId]).await;
    let first = test.submit(COMPLETION, "a fox").await.unwrap();
    assert_eq!(job_id(&first), "");
    drop(first);
    let again = test.submit(COMPLETION, "a fox").await.unwrap();
    assert_eq!(job_id(&again), "job_1");
    let calls = test.endpoint.calls();
    assert_eq!((calls.len(), &calls[0]), (2, &calls[1]));
}

#[tokio::test(start_paused = true)]
async fn an_ended_call_is_made_anew_only_if_asked_for() {
    let test = Test::new([]).await;
    let first = test.submit(COMPLETION, "a fox").await.unwrap();
    let id = first.intent_id().unwrap();
    test.journal.record_end(id, "failed", None).await.unwrap();
    let existing = test.submit(COMPLETION, "a fox").await.unwrap();
    assert_eq!(job_id(&existing), "job_1");
    let arguments = json!({"prompt": "a fox", "max_spend_usd": 0.05});
    let retried = test.client.submit(COMPLETION, arguments).submission_id(ID);
    let retried = retried.reuse(Reuse::RetryUnsuccessful).await.unwrap();
    assert_eq!(job_id(&retried), "job_2");
}
