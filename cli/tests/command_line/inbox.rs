//! `svc webhook inbox`, and the stores of `svc webhook listen`.

use serde_json::Value;

use crate::listen_env::{Listener, Target, deliver, job, listen};
use crate::test_env::{CommandOutput, TestEnv, Words, wait_until};

/// Runs `svc webhook inbox` on the store `events`.
fn inbox(env: &TestEnv, words: impl Words) -> CommandOutput {
    let mut command = env.unconfigured("webhook inbox");
    CommandOutput::of(command.args(words.words()).args(["--store", "events", "-o", "json"]))
}

fn ids(list: &Value) -> Vec<String> {
    let items = list.as_array().unwrap().iter();
    let ids = items.map(|item| item["id"].as_str().unwrap().to_owned());
    ids.collect()
}

#[test]
fn received_events_are_listed_shown_replayed_and_purged() {
    let env = TestEnv::new();
    let target = Target::start();
    let words = format!("--forward-to '{}' --store file:events --refusals 1", target.url);
    let listener = Listener::start(&mut listen(&env, &words));
    assert_eq!(listener.ready["store"], "file:events");
    assert_eq!(deliver(listener.url(), &job("job_1")), 200);
    target.receives(1);
    *target.status.lock().unwrap() = 404;
    assert_eq!(deliver(listener.url(), &job("job_2")), 200);
    target.receives_attempts(2);

    // While the listener runs, its events can be read, and not be changed.
    wait_until("both events are finished", || {
        let states = inbox(&env, ["list"]).assert_exit(0).json();
        (&states[0]["state"], &states[1]["state"]) == (&"dead".into(), &"handled".into())
    });
    let list = inbox(&env, ["list"]).assert_exit(0).json();
    assert_eq!(ids(&list), ["2", "1"]);
    assert_eq!(list[0]["job_id"], "job_2");
    assert_eq!(list[0]["attempts"], 1);
    assert!(list[0]["error"].as_str().unwrap().contains("404"));
    assert!(list[0]["finished_at"].is_string() && list[0].get("due_at").is_none());
    inbox(&env, ["replay", "2"]).assert_exit(1).assert_stderr("another process");
    listener.end().assert_exit(0);

    let dead = inbox(&env, ["list", "--state", "dead"]).assert_exit(0);
    assert_eq!(ids(&dead.json()), ["2"]);
    let first = inbox(&env, ["list", "--limit", "1"]).assert_exit(0);
    assert_eq!(ids(&first.json()), ["2"]);
    first.assert_stderr("--cursor 2");
    let rest = inbox(&env, ["list", "--cursor", "2"]).assert_exit(0);
    assert_eq!(ids(&rest.json()), ["1"]);

    let shown = inbox(&env, ["show", "1"]).assert_exit(0).json();
    assert_eq!(shown["state"], "handled");
    assert_eq!(shown["body"]["job_id"], "job_1");
    assert!(shown["headers"]["x-svc-webhook-signature"][0].is_string());
    let body = inbox(&env, ["show", "1", "--body"]).assert_exit(0);
    assert_eq!(body.out.as_bytes(), job("job_1"));
    inbox(&env, ["show", "9"]).assert_exit(4);

    // A replayed event is forwarded by the next listener.
    let replayed = inbox(&env, ["replay", "--dead"]).assert_exit(0);
    assert_eq!(replayed.json()["replayed"], 1);
    let replayed = inbox(&env, ["replay", "1"]).assert_exit(0);
    assert_eq!(replayed.json()["replayed"], 1);
    let again = inbox(&env, ["replay", "1"]).assert_exit(0);
    assert_eq!(again.json()["replayed"], 0);
    inbox(&env, ["replay", "9"]).assert_exit(4);
    inbox(&env, ["replay"]).assert_exit(2);
    *target.status.lock().unwrap() = 200;
    let listener = Listener::start(&mut listen(&env, &words));
    assert_eq!(listener.ready["pending"], 2);
    target.receives(3);
    wait_until("both events are forwarded", || {
        let list = inbox(&env, ["list", "--state", "handled"]).assert_exit(0);
        ids(&list.json()).len() == 2
    });
    listener.end().assert_exit(0);
    let range = ["replay", "--since", "2020-01-01", "--until", "2020-01-02T10:00:00Z"];
    assert_eq!(inbox(&env, range).assert_exit(0).json()["replayed"], 0);
    assert_eq!(inbox(&env, &range[..3]).assert_exit(0).json()["replayed"], 2);
    inbox(&env, ["replay", "--since", "yesterday"])
        .assert_exit(2)
        .assert_stderr("2026-01-05T10:00:00Z");

    assert_eq!(inbox(&env, ["purge"]).assert_exit(0).json()["purged"], 0);
    let listener = Listener::start(&mut listen(&env, &words));
    target.receives(5);
    listener.end().assert_exit(0);
    let purge = ["purge", "--older-than", "0s"];
    wait_until("a millisecond passes", || {
        let purged = inbox(&env, purge).assert_exit(0).json();
        purged["purged"].as_u64().unwrap() > 0
            || inbox(&env, ["list"]).json().as_array().unwrap().is_empty()
    });
    assert_eq!(inbox(&env, ["list"]).assert_exit(0).json(), Value::Array(Vec::new()));
}

#[test]
fn stores_that_are_missing_invalid_or_not_supported_are_errors() {
    let env = TestEnv::new();
    let run = |store: &[&str]| {
        let mut command = env.unconfigured("webhook inbox list -o json");
        CommandOutput::of(command.args(store))
    };
    run(&[]).assert_exit(2).assert_stderr("SVC_WEBHOOK_STORE");
    run(&["--store", "no-such-file"]).assert_exit(2).assert_stderr("no-such-file");
    assert!(!env.path("no-such-file").exists());
    run(&["--store", "mysql://user:canary@host/db"]).assert_exit(2).assert_stderr("postgres://");
    CommandOutput::of(&mut listen(&env, "--store mysql://user:canary@host/db"))
        .assert_exit(2)
        .assert_stderr("nats://");
    #[cfg(not(feature = "postgres"))]
    {
        let failed = run(&["--store", "postgres://user:canary@127.0.0.1:9/db"]).assert_exit(2);
        assert_eq!(failed.error()["code"], "configuration");
        assert!(failed.err.contains("--features postgres"), "{}", failed.err);
        assert!(!failed.err.contains("canary"), "{}", failed.err);
    }
    #[cfg(feature = "postgres")]
    {
        let failed = run(&["--store", "postgres://user:canary@127.0.0.1:9/db"]).assert_exit(1);
        assert_eq!(failed.error()["code"], "connection_failed");
        assert!(!failed.err.contains("canary"), "{}", failed.err);
    }
    let mut command = env.unconfigured("webhook inbox list");
    CommandOutput::of(command.env("SVC_WEBHOOK_STORE", "also-missing"))
        .assert_exit(2)
        .assert_stderr("also-missing");
}

/// Any number of processes can use a store other than a file.
#[cfg(feature = "sqlite")]
#[test]
fn several_listeners_share_the_forwarding_of_one_store() {
    let env = TestEnv::new();
    let target = Target::start();
    let words = ["--forward-to", &target.url, "--store", "sqlite:events.db"];
    let listeners = [0, 1, 2].map(|_| Listener::start(&mut listen(&env, words)));
    for number in 0..30 {
        let event = job(&format!("job_{number}"));
        for listener in [&listeners[number % 3], &listeners[(number + 1) % 3]] {
            assert_eq!(deliver(listener.url(), &event), 200);
        }
    }
    target.receives(30);
    for listener in listeners {
        listener.receives(20);
        listener.end().assert_exit(0);
    }
    let mut bodies: Vec<_> = target.seen().into_iter().map(|(_, body)| body).collect();
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), 30);
}
