//! Configuration of clients, against scripted responses in virtual time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::call::clock;
use crate::error::ErrorKind;
use crate::surface::{Developer, Open};
use crate::transport::scripted::{JOB, Script, ScriptedTransport, Step, json};
use crate::{ApiKey, Client, ClientBuilder, Error, RetryPolicy};

fn builder(script: &Arc<Script>) -> ClientBuilder<Open> {
    Client::builder()
        .base_url("https://api.example")
        .transport(Arc::new(ScriptedTransport(Arc::clone(script))))
        .seed(7)
}

async fn get_job(client: &Client<Open>) -> Result<(), Error> {
    client.jobs().handle("job_1").get().await.map(drop)
}

fn sent_keys(script: &Script) -> Vec<String> {
    let requests = script.requests();
    let keys =
        requests.iter().map(|request| request.header("authorization").unwrap_or("none").to_owned());
    keys.collect()
}

#[test]
fn the_environment_needs_a_url_and_a_key() {
    let from = |url: &'static str, key: &'static str| {
        ClientBuilder::<Developer>::from_variables(move |name| match name {
            "SVC_DEVELOPER_BASE_URL" => Some(url.to_owned()),
            "SVC_DEVELOPER_API_KEY" => Some(key.to_owned()),
            _ => None,
        })
    };
    for (url, key, expected) in [
        ("", "", "SVC_DEVELOPER_BASE_URL and SVC_DEVELOPER_API_KEY are not set"),
        ("", "key", "SVC_DEVELOPER_BASE_URL is not set"),
        ("https://api.example", "", "SVC_DEVELOPER_API_KEY is not set"),
        ("https://api.example", "a b", "API key must consist of visible ASCII characters"),
    ] {
        let error = from(url, key).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_environment_can_be_overridden_before_the_client_is_built() {
    let script = Script::new([json(200, JOB)]);
    let client = ClientBuilder::<Open>::from_variables(|_| Some("from-the-environment".into()))
        .unwrap()
        .base_url("http://mock:4010")
        .allow_http("mock")
        .transport(Arc::new(ScriptedTransport(Arc::clone(&script))))
        .build()
        .unwrap();
    get_job(&client).await.unwrap();
    assert_eq!(sent_keys(&script), ["Bearer from-the-environment"]);
    assert_eq!(script.requests()[0].url, "http://mock:4010/v1/jobs/job_1");
}

#[tokio::test(start_paused = true)]
async fn artifacts_are_downloaded_by_http_from_allowed_hosts_only() {
    let result = |host: &str| {
        let body = serde_json::json!({"data": {
            "id": "job_1", "status": "completed", "terminal": true,
            "artifacts": [{"id": "art_1", "url": format!("http://{host}/fox.png"), "content_type": "image/png"}],
        }});
        json(200, &body.to_string())
    };
    for (host, is_allowed) in [("mock:4010", true), ("other:4010", false)] {
        let image = Step::Response(200, vec![("content-type", "image/png".into())], "png".into());
        let script = Script::new([result(host), image]);
        let client = builder(&script)
            .base_url("http://mock:4010")
            .allow_http("mock")
            .api_key(ApiKey::new("canary-key").unwrap())
            .default_header("x-gateway", "canary-token")
            .build()
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let downloaded = client.jobs().handle("job_1").download(directory.path()).await;
        assert_eq!(downloaded.is_ok(), is_allowed, "{downloaded:?}");
        let downloads: Vec<_> = script.requests().split_off(1);
        assert_eq!(downloads.len(), usize::from(is_allowed));
        for request in downloads {
            assert_eq!(request.url, "http://mock:4010/fox.png");
            assert!(!format!("{:?}", request.headers).contains("canary"));
            assert_eq!(request.header("x-gateway"), None);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn default_headers_are_sent_unless_the_call_sets_them() {
    let script = Script::new([json(200, JOB)]);
    let client = builder(&script)
        .default_header("X-Tenant", "a")
        .default_header("x-region", "eu")
        .user_agent_suffix("my-service/1.2")
        .build()
        .unwrap();
    let call = client.jobs().handle("job_1").get();
    call.header("x-tenant", "b").await.unwrap();
    let request = &script.requests()[0];
    assert_eq!(request.header("x-tenant"), Some("b"));
    assert_eq!(request.header("x-region"), Some("eu"));
    assert!(request.headers["x-region"].is_sensitive());
    let user_agent = concat!("svc-sdk/", env!("CARGO_PKG_VERSION"), " my-service/1.2");
    assert_eq!(request.header("user-agent"), Some(user_agent));
}

#[tokio::test]
async fn invalid_settings_are_reported_when_the_client_is_built() {
    let script = Script::new([json(200, JOB)]);
    for (name, value, reason) in [
        ("Authorization", "Bearer canary", "set by the client"),
        ("x-api-key", "canary", "set by the client"),
        ("Idempotency-Key", "canary", "set by the client"),
        ("User-Agent", "canary", "set by user_agent()"),
        ("a b", "canary", "not a valid header name"),
        ("a", "canary\n", "not a valid header value"),
    ] {
        let error = builder(&script).default_header(name, value).build();
        let error = error.unwrap_err().to_string();
        assert!(error.contains(reason) && !error.contains("canary"), "{error}");
    }
    assert!(builder(&script).max_in_flight(0).build().is_err());
    assert!(builder(&script).max_in_flight(usize::MAX).build().is_ok());
    assert!(builder(&script).user_agent_suffix("a\nb").build().is_err());
    #[cfg(feature = "hyper")]
    for builder in [
        builder(&script).connect_timeout(Duration::from_secs(1)),
        builder(&script).read_timeout(Duration::from_secs(1)),
    ] {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_hangs_ends_with_the_call() {
    let script = Script::new([json(200, JOB)]);
    let is_first = Mutex::new(true);
    let client = builder(&script)
        .key_provider(move || {
            let is_first = std::mem::take(&mut *is_first.lock().unwrap());
            async move {
                if is_first {
                    std::future::pending::<()>().await;
                }
                ApiKey::new("first-key")
            }
        })
        .build()
        .unwrap();
    let call = client.jobs().handle("job_1").get();
    let hanging = tokio::spawn(call.timeout(Duration::from_secs(5)));
    let error = hanging.await.unwrap().unwrap_err();
    assert!(error.is_timeout() && !error.may_have_been_sent(), "{error:?}");
    get_job(&client).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_of_another_key_has_a_rate_limit_of_its_own_on_the_same_transport() {
    let limited = json(429, r#"{"error": {"code": "rate_limited", "message": ""}}"#);
    let script = Script::new([limited.header("retry-after", 60), json(200, JOB)]);
    let client = builder(&script).api_key(ApiKey::new("first").unwrap());
    let first = client.retry(RetryPolicy::none()).build().unwrap();
    let second = first.with_api_key(ApiKey::new("second").unwrap()).unwrap();

    assert!(get_job(&first).await.unwrap_err().is_rate_limited());
    get_job(&second).await.unwrap();
    assert_eq!(sent_keys(&script), ["Bearer first", "Bearer second"]);
    let began = clock::now();
    get_job(&first).await.unwrap();
    assert_eq!((clock::now() - began).as_secs(), 60);
}

#[test]
fn an_idle_client_of_another_key_takes_less_than_3_kb() {
    let script = Script::new([json(200, JOB)]);
    let client = builder(&script).build().unwrap();
    let key = ApiKey::new("a-key-of-an-ordinary-length-0123456789").unwrap();
    let mut derived = None;
    let memory = allocation_counter::measure(|| derived = client.with_api_key(key).ok());
    assert!(derived.is_some());
    assert!((1..3_000).contains(&memory.bytes_current), "{memory:?}");
}
