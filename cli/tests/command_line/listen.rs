//! `svc webhook listen`: verification, storage and forwarding.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use svc_mock_server::DEVELOPER_API_KEY;

use crate::listen_env::{Listener, deliver, job, listen, now, post, signed};
use crate::test_env::{
    CommandOutput, FakeServer, RunningProcess, TestEnv, interrupt, sleep, start, wait_until,
};

const PUBLIC: &str = "https://hooks.example.com";

fn target() -> FakeServer {
    FakeServer::answering("200 OK", "")
}

#[test]
fn redelivered_events_are_reported_as_duplicates_and_forwarded_once() {
    let env = TestEnv::new();
    let target = target();
    let port_of_listener = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let route = format!("{PUBLIC}=http://127.0.0.1:{port_of_listener}");
    let words = format!("mock serve --port-base 0 --speed 10 --webhook-route '{route}'");
    let mut mock = start(&mut env.unconfigured(words));
    let mut line = String::new();
    BufReader::new(mock.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mock_env: Value = serde_json::from_str(&line).unwrap();
    let url = mock_env["SVC_DEVELOPER_BASE_URL"].as_str().unwrap();
    let svc = |words: &str| {
        let mut command = env.unconfigured(words);
        command.env("SVC_DEVELOPER_BASE_URL", url).env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY);
        command
    };

    // Without a configured secret, the listener fetches it from the service.
    let target_url = format!("{}/in", target.url);
    let words = format!(
        "webhook listen --port {port_of_listener} --forward-to {target_url} --store events"
    );
    let listener = Listener::start(&mut svc(&words));
    let hook = format!("{PUBLIC}/svc");
    let words =
        format!("image generate --surface developer --prompt 'a fox' --webhook-url '{hook}'");
    let submitted = CommandOutput::of(&mut svc(&words)).assert_exit(0);
    let id = submitted.json()["job_id"].as_str().unwrap().to_owned();
    listener.receives(1);
    for times in 2..=6 {
        CommandOutput::of(&mut svc(&format!("job redeliver {id}"))).assert_exit(0);
        listener.receives(times);
    }
    for (index, event) in listener.events().iter().enumerate() {
        assert_eq!(event["event"], "job.completed");
        assert_eq!(event["job_id"], id);
        assert_eq!(event["status"], "OK");
        assert_eq!(event["duplicate"], index > 0);
    }
    target.accepts(1);
    let sent = target.sent()[0].take();
    assert_eq!(sent["body"]["job_id"], id);
    assert_eq!(sent["line"], "POST /in HTTP/1.1");

    // The newest secret is fetched after each of two rotations. One soon after is not fetched at once.
    for round in 1..=3 {
        CommandOutput::of(&mut svc("webhook secret rotate --yes")).assert_exit(0);
        CommandOutput::of(&mut svc(&format!("webhook test {hook}"))).assert_exit(0);
        listener.receives(6 + round);
        target.accepts(1 + round);
        // The listener asks the service at most every two seconds.
        if round == 1 {
            sleep(Duration::from_millis(2100));
        }
    }
    let (first, last) =
        (listener.ready["fingerprints"][0].clone(), listener.events().pop().unwrap());
    assert_ne!(last["fingerprint"], first);
    let body = job("job_forged");
    let retired = mock_env["SVC_WEBHOOK_SECRET"].as_str().unwrap();
    let headers = signed(&[retired], now(), &body);
    assert_eq!(post(listener.url(), &headers, &body), 401);
    let run = listener.end().assert_exit(0);
    assert!(run.err.contains("signature_mismatch"), "{}", run.err);
    assert!(!run.err.contains("whsec"), "{}", run.err);
    assert!(!run.err.contains("newer secret"), "{}", run.err);
}

#[test]
fn events_are_forwarded_unchanged_with_their_headers() {
    let env = TestEnv::new();
    let target = target();
    let listener = Listener::start(&mut listen(&env, &format!("--forward-to {}", target.url)));
    assert_eq!(listener.ready["fingerprints"][0], "7ab95101ed6218b1");
    assert!(!listener.ready.to_string().contains("whsec"));
    let body = b"{ \"event\" : \"job.failed\",\n \"job_id\":\"job_\\u00e9\", \"odd\": 1e2, \"status\": \"ERROR\" } \n";
    let headers = signed(&["whsec_newest", "whsec_next"], now(), body);
    let headers = format!("{headers}x-svc-request-id: req_7\r\n");
    assert_eq!(post(listener.url(), &headers, body), 200);
    target.accepts(1);
    let forwarded = target.accepted().remove(0);
    let (head, forwarded) = forwarded.split_once("\r\n\r\n").unwrap();
    assert_eq!(forwarded.as_bytes(), body);
    let head = head.to_lowercase();
    for line in headers.lines() {
        assert!(head.contains(&line.to_lowercase()), "{line}\n{head}");
    }
    listener.receives(1);
    let event = &listener.events()[0];
    assert_eq!((&event["job_id"], &event["status"]), (&"job_é".into(), &"ERROR".into()));
    listener.end().assert_exit(0);
}

#[test]
fn invalid_deliveries_are_rejected_and_unknown_events_get_204() {
    let env = TestEnv::new();
    let target = target();
    let listener = Listener::start(&mut listen(&env, &format!("--forward-to {}", target.url)));
    let url = listener.url().to_owned();
    let body = job("job_1");
    let sign = |secrets: &[&str], at| signed(secrets, at, &body);
    let other = signed(&["whsec_newest"], now(), b"{}");
    let rows = [
        (sign(&["whsec_stranger"], now()), 401, "forged"),
        (other, 401, "the signature of another body"),
        (sign(&["whsec_newest"], now() - 400), 401, "stale"),
        (sign(&["whsec_newest"], now() + 400), 401, "in the future"),
        (String::new(), 400, "without headers"),
        (
            "x-svc-webhook-timestamp: 5\r\nx-svc-webhook-timestamp: 5\r\n".into(),
            400,
            "two timestamps",
        ),
    ];
    for (headers, status, name) in rows {
        assert_eq!(post(&url, &headers, &body), status, "{name}");
    }
    for body in [&b"hello"[..], b"[]", b"{}", b"\xff"] {
        assert_eq!(deliver(&url, body), 400, "{body:?}");
    }
    let large = vec![b' '; 3 * 1024 * 1024];
    assert_eq!(deliver(&url, &large), 413);
    let chunked = format!(
        "{}transfer-encoding: chunked\r\nconnection: close\r\n\r\n300000\r\n",
        signed(&["whsec_newest"], now(), &large)
    );
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    write!(stream, "POST / HTTP/1.1\r\nhost: a\r\n{chunked}").unwrap();
    stream.write_all(&large).unwrap();
    stream.write_all(b"\r\n0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
    assert!(listener.events().is_empty() && target.accepted().is_empty());

    assert_eq!(deliver(&url, br#"{"event":"workspace.renamed","request_id":"req_1"}"#), 204);
    listener.receives(1);
    assert_eq!(listener.events()[0]["known"], false);
    // Unknown events are forwarded, because the target may know them.
    target.accepts(1);
    let largest = [
        &br#"{"event":"job.completed","job_id":"job_l","payload":""#[..],
        &[b'x'; 1024 * 1024 + 4096],
        b"\"}",
    ];
    assert_eq!(deliver(&url, &largest.concat()), 200);
    target.accepts(2);
    let run = listener.end().assert_exit(0);
    for code in [
        "signature_mismatch",
        "timestamp_too_old",
        "timestamp_in_future",
        "not_an_event",
        "payload_too_large",
    ] {
        assert!(run.err.contains(code), "{code}: {}", run.err);
    }
    let mut lines = run.err.lines();
    assert!(lines.all(|line| !line.contains("whsec")));
}

#[test]
fn the_secret_of_trigger_verifies_what_names_it_or_none() {
    let env = TestEnv::new();
    let folder = env.path("state/webhooks");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("trigger-secret"), "whsec_trigger\n").unwrap();
    let listener = Listener::start(&mut listen(&env, ""));
    let body = job("job_1");
    let without_name = |headers: String| {
        let lines = headers.split_inclusive("\r\n").filter(|it| !it.contains("-fingerprint"));
        lines.collect::<String>()
    };
    let by_trigger = signed(&["whsec_trigger"], now(), &body);
    let by_stranger = signed(&["whsec_stranger"], now(), &body);
    assert_eq!(post(listener.url(), &by_trigger, &body), 200);
    assert_eq!(post(listener.url(), &without_name(by_trigger), &body), 200);
    assert_eq!(post(listener.url(), &without_name(by_stranger), &body), 401);
    listener.end().assert_exit(0);
}

#[test]
fn an_unavailable_target_receives_the_events_later() {
    let env = TestEnv::new();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}/in");
    let listener = Listener::start(&mut listen(&env, &format!("--forward-to {url}")));
    for id in ["job_1", "job_2", "job_1"] {
        assert_eq!(deliver(listener.url(), &job(id)), 200);
    }
    listener.receives(3);
    sleep(Duration::from_millis(300));
    let target = FakeServer::at(&address.to_string(), "200 OK", "");
    target.accepts(2);
    target.answer("503 Service Unavailable", "");
    assert_eq!(deliver(listener.url(), &job("job_3")), 200);
    wait_until("3 attempts", || target.requests.lock().unwrap().len() >= 3);
    target.answer("204 No Content", "");
    target.accepts(3);
    assert!(listener.end().assert_exit(0).err.contains("forwarded job.completed job_3"));
}

#[test]
fn no_event_is_lost_or_forwarded_twice_when_the_listener_is_killed() {
    let env = TestEnv::new();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}/in");
    let store = env.path("events");
    let words = format!("--forward-to {url} --store '{}'", store.display());
    let mut pending = 0;
    for round in 0..3 {
        let mut listener = Listener::start(&mut listen(&env, &words));
        assert_eq!(listener.ready["pending"], pending);
        for number in 0..20 {
            let id = format!("job_{round}_{number}");
            assert_eq!(deliver(listener.url(), &job(&id)), 200);
        }
        assert_eq!(deliver(listener.url(), &job("job_0_0")), 200);
        pending += 20;
        // Kills the process (SIGKILL) during attempts to forward.
        listener.process.0.kill().unwrap();
        listener.process.0.wait().unwrap();
    }
    let target = FakeServer::at(&address.to_string(), "200 OK", "");
    let listener = Listener::start(&mut listen(&env, &words));
    target.accepts(60);
    assert_eq!(deliver(listener.url(), &job("job_1_1")), 200);
    sleep(Duration::from_millis(300));
    let sent = target.sent();
    let ids = sent.as_array().unwrap().iter().map(|sent| sent["body"]["job_id"].to_string());
    let mut ids: Vec<_> = ids.collect();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), target.accepted().len()), (60, 60));
    assert_eq!(listener.events()[0]["duplicate"], true);
    CommandOutput::of(&mut listen(&env, &words))
        .assert_exit(2)
        .assert_stderr("listens with the store");
    listener.end().assert_exit(0);
    let listener = Listener::start(&mut listen(&env, &words));
    assert_eq!(listener.ready["pending"], 0);
    listener.end().assert_exit(0);
}

#[test]
fn slow_and_half_open_clients_do_not_block_deliveries() {
    let env = TestEnv::new();
    let listener = Listener::start(&mut listen(&env, ""));
    let address = listener.url().strip_prefix("http://").unwrap();
    let mut idle: Vec<_> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    for stream in &mut idle[..50] {
        stream.write_all(b"POST / HTTP/1.1\r\ncontent-length: 100\r\nx-").unwrap();
    }
    assert_eq!(deliver(listener.url(), &job("job_1")), 200);
    drop(idle);
    assert_eq!(deliver(listener.url(), &job("job_2")), 200);
    listener.receives(2);
    listener.end().assert_exit(0);
}

#[cfg(target_os = "linux")]
#[test]
fn the_listener_recovers_when_file_descriptors_run_out() {
    let env = TestEnv::new();
    let target = target();
    let store = env.path("events");
    let mut command = Command::new("sh");
    let svc = env!("CARGO_BIN_EXE_svc");
    command
        .args(["-c", "ulimit -n 40 && exec \"$0\" \"$@\"", svc])
        .args(["webhook", "listen", "--forward-to", &target.url])
        .args(["--store", store.to_str().unwrap()])
        .env("SVC_WEBHOOK_SECRET", "whsec_newest")
        .env("HOME", env.path(""))
        .current_dir(env.path(""));
    let listener = Listener::start(&mut command);
    let address = listener.url().strip_prefix("http://").unwrap();
    let idle: Vec<_> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    sleep(Duration::from_millis(500));
    drop(idle);
    assert_eq!(deliver(listener.url(), &job("job_1")), 200);
    target.accepts(1);
    listener.end().assert_exit(0);
}

#[test]
fn the_listener_exits_when_stdout_is_closed() {
    let env = TestEnv::new();
    let mut child = listen(&env, "").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    drop(stdout);
    let process = RunningProcess(child);
    let ready: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(deliver(ready["url"].as_str().unwrap(), &job("job_1")), 200);
    process.end().assert_exit(1).assert_stderr("standard output");
}

#[test]
fn a_slow_reader_of_stdout_blocks_neither_deliveries_nor_the_exit() {
    let env = TestEnv::new();
    let mut process = start(&mut listen(&env, ""));
    let mut stdout = BufReader::new(process.0.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    // More output than the buffer of a pipe can hold.
    for number in 0..600 {
        let id = format!("job_{number}");
        assert_eq!(deliver(ready["url"].as_str().unwrap(), &job(&id)), 200);
    }
    interrupt(&process);
    process.end().assert_exit(0);
}

#[test]
fn table_output_is_text_and_sigterm_ends_the_listener() {
    let env = TestEnv::new();
    let mut process = start(&mut listen(&env, "-o table"));
    let mut stdout = BufReader::new(process.0.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
    assert_eq!(deliver(&url, &job("job_1")), 200);
    line.clear();
    stdout.read_line(&mut line).unwrap();
    assert!(line.trim() == "job.completed  job_1  completed", "{line}");
    let id = process.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    process.end().assert_exit(0);
}
