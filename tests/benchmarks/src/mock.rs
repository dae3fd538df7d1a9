//! The mock server, beside wiremock and bare axum.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt;
use serde_json::Value;
use svc_mock_server::engine::NewKey;
use svc_mock_server::{InProcess, Setup, Speed, serve};
use svc_sdk::contract::Plan;
use svc_sdk::transport::Transport;
use tokio::runtime::Builder;
use wiremock::matchers::{method, path, path_regex};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::Outcome;
use crate::http_client::requests_per_second;
use crate::report::{Row, Unit};
use crate::server::{self, RECEIPT_BODY, Running, STATUS_BODY};
use crate::timing::{Costs, median, thread_time};

/// How long a round lasts for one server.
const ROUND: Duration = Duration::from_millis(700);
const ROUNDS: usize = 7;
/// The keys of the mock, each with a rate limit of its own.
const KEYS: usize = 32;
pub(crate) const SUBMIT_BODY: &str =
    r#"{"model":"image-i","prompt":"a red fox in snow [mock:seconds=0]"}"#;

pub(crate) fn rows() -> Outcome<Vec<Row>> {
    let mut rows = throughput()?;
    rows.extend(memory()?);
    Ok(rows)
}

fn throughput() -> Outcome<Vec<Row>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let mock = server::on_own_thread(move || async move {
        // A window of the rate limit is over in no time, so that it does not limit the load.
        let setup = Setup::default()
            .plan(Plan::Enterprise)
            .balance_usd(1_000_000)
            .speed(Speed::new(10_000.0)?);
        let server = serve::Server::bind(setup, 0, |_| ()).await?;
        let keys: Vec<String> = (0..KEYS)
            .map(|number| {
                let key = serde_json::json!({"kind": "open", "workspace": format!("ws_{number}")});
                Ok(server.add_key(serde_json::from_value::<NewKey>(key)?)?.key)
            })
            .collect::<Outcome<_>>()?;
        let _ = sender.send(keys);
        let address = server.base_url().trim_start_matches("http://").parse()?;
        Ok((address, server))
    })?;
    let keys = receiver.recv()?;
    let axum = server::axum()?;
    let wiremock = wiremock()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;

    let submit = |number: usize| {
        let key = keys.get(number % KEYS).map_or("", String::as_str);
        request("POST", "/v1/image-router/generate", key, SUBMIT_BODY)
    };
    // A job of each key, to be read.
    let jobs: Vec<String> = (0..KEYS)
        .map(|number| runtime.block_on(submitted_id(mock.address, submit(number))))
        .collect::<Outcome<_>>()?;
    let read = |number: usize| {
        let index = number % KEYS;
        let job = jobs.get(index).map_or("", String::as_str);
        let key = keys.get(index).map_or("", String::as_str);
        request("GET", &format!("/v1/jobs/{job}/status"), key, "")
    };
    let rate = |server: &Running, request: &dyn Fn(usize) -> Vec<u8>| {
        let rate = runtime.block_on(requests_per_second(server.address, ROUND, request));
        rate.unwrap_or_else(|error| {
            eprintln!("error: {error}");
            f64::NAN
        })
    };
    let mut rows = Vec::new();
    for (work, request, goal) in [
        ("mock: reads at 64 connections", &read as &dyn Fn(usize) -> Vec<u8>, "0.75x"),
        ("mock: submits at 64 connections", &submit, "45000 /s"),
    ] {
        let costs = Costs::measure(
            ROUNDS,
            [&mut || rate(&mock, request), &mut || rate(&axum, request), &mut || {
                rate(&wiremock, request)
            }],
        );
        let [own, axum_rate, wiremock_rate] = costs.medians();
        let row = || Row::new(work, Unit::PerSecond, own);
        rows.push(
            row().beside("axum, one constant response", axum_rate, costs.ratio(1)).goal(goal),
        );
        let beside = row().beside("wiremock, one constant response", wiremock_rate, costs.ratio(2));
        rows.push(if work.contains("reads") { beside.goal("1.2x") } else { beside });
    }
    Ok(rows)
}

fn wiremock() -> Outcome<Running> {
    server::on_own_thread(|| async {
        let server = MockServer::start().await;
        let json = |status, body: &str| {
            ResponseTemplate::new(status).set_body_raw(body, "application/json")
        };
        let read = Mock::given(method("GET")).and(path_regex(r"^/v1/jobs/[^/]+/status$"));
        read.respond_with(json(200, STATUS_BODY)).mount(&server).await;
        let submit = Mock::given(method("POST")).and(path("/v1/image-router/generate"));
        submit.respond_with(json(202, RECEIPT_BODY)).mount(&server).await;
        Ok((*server.address(), server))
    })
}

pub(crate) fn request(method: &str, path: &str, key: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\naccept: application/json\r\n"
    );
    let rest = match body {
        "" => "\r\n".to_owned(),
        body => format!("content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"),
    };
    (head + &rest).into_bytes()
}

async fn submitted_id(address: SocketAddr, request: Vec<u8>) -> Outcome<String> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let mut connection = tokio::net::TcpStream::connect(address).await?;
    connection.write_all(&request).await?;
    let mut buffer = vec![0; 16 * 1024];
    let length = connection.read(&mut buffer).await?;
    let text = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned();
    let (_, body) = text.split_once("\r\n\r\n").ok_or("a response without a body")?;
    let body: Value = serde_json::from_str(body)?;
    let id = body.pointer("/data/job/id").and_then(Value::as_str);
    Ok(id.ok_or_else(|| format!("not a receipt: {body}"))?.to_owned())
}

/// Measures the mock in this process, whose clock is advanced past each window of the rate limit.
fn memory() -> Outcome<Vec<Row>> {
    const WARM_UP: u32 = 10_000;
    const JOBS: u32 = 20_000;
    const PARTS: u32 = 10;
    const MORE: u32 = 960_000;

    let setup = Setup::default().plan(Plan::Enterprise).balance_usd(1_000_000);
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let mock = Arc::new(InProcess::new(setup));
    let mut keys = 0_u64;
    let mut submit = |count: u32| {
        let began = thread_time();
        for number in 0..count {
            let response = runtime.block_on(async {
                if number % 1_000 == 0 {
                    tokio::time::sleep(Duration::from_secs(61)).await;
                }
                let target = "/v1/image-router/generate";
                let mut submit = message(&mock, "POST", target, SUBMIT_BODY)?;
                keys += 1;
                let key = format!("benchmark-{keys}").parse()?;
                submit.headers_mut().insert("idempotency-key", key);
                let response = mock.send(submit);
                Outcome::Ok(response.await?)
            })?;
            if response.status() != 202 {
                return Err(format!("a submit was answered with {}", response.status()).into());
            }
        }
        Outcome::Ok(thread_time().saturating_sub(began).as_secs_f64() * 1e9 / f64::from(count))
    };
    // The journals of the mock are bounded, and full after this.
    submit(WARM_UP)?;
    // The median of the parts, as something else may disturb one.
    let mut submit_in_parts = || {
        let parts: Vec<f64> = (0..PARTS).map(|_| submit(JOBS / PARTS)).collect::<Outcome<_>>()?;
        Outcome::Ok(median(parts.into_iter()))
    };
    let mut early = Ok(0.0);
    let memory = allocation_counter::measure(|| early = submit_in_parts());
    let early = early?;
    for _ in 0..MORE / JOBS {
        submit_in_parts()?;
    }
    let late = submit_in_parts()?;

    let list = || {
        runtime.block_on(async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let response = mock.send(message(&mock, "GET", "/v1/jobs?limit=50", "")?).await?;
            let body = response.into_body().collect().await?.to_bytes();
            Outcome::Ok(body.len())
        })
    };
    list()?;
    let began = thread_time();
    for _ in 0..500 {
        list()?;
    }
    let list = thread_time().saturating_sub(began).as_secs_f64() * 1e9 / 500.0;
    let per_job = memory.bytes_current as f64 / f64::from(JOBS);
    Ok(vec![
        Row::new("mock: memory of a job", Unit::Bytes, per_job).goal("1500 B"),
        Row::new("mock: a submit after 990,000 jobs, processor time", Unit::Nanoseconds, late)
            .beside("after 10,000", early, late / early)
            .goal("1.15x"),
        Row::new("mock: a list of 50 jobs, processor time", Unit::Nanoseconds, list).goal("60 µs"),
    ])
}

fn message(
    mock: &InProcess,
    method: &str,
    target: &str,
    body: &'static str,
) -> Outcome<Request<Bytes>> {
    let request = Request::builder()
        .method(method)
        .uri(format!("{}{target}", mock.base_url()))
        .header("authorization", "Bearer svc_open_demo");
    let request = match body {
        "" => request,
        _ => request.header("content-type", "application/json"),
    };
    Ok(request.body(Bytes::from_static(body.as_bytes()))?)
}
