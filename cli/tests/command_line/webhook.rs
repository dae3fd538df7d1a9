//! `svc webhook`: what scripts cannot say.

#[cfg(feature = "sqlite")]
use std::collections::BTreeSet;
use std::fs;

use crate::test_env::{CommandOutput, TestEnv};

#[test]
fn a_binary_body_is_read_from_standard_input() {
    let env = TestEnv::new();
    fs::write(env.path("binary"), b"\x00\xff\xfe\x80").unwrap();
    let signature = "svc-v1=bfde5f017e153fd344ec2aeb27613ad1b488835497ac17947984857a77d5756d";
    let mut command = env.unconfigured(format!(
        "webhook verify --timestamp 1700000000 --signature '{signature}' --tolerance 0 -"
    ));
    let binary = fs::File::open(env.path("binary")).unwrap();
    command.stdin(binary).env("SVC_WEBHOOK_SECRET", "whsec_newest");
    let run = CommandOutput::of(&mut command).assert_exit(0);
    assert!(run.json()["event"].is_null());
}

#[test]
fn the_password_of_a_server_is_not_shown() {
    let env = TestEnv::new();
    let words = "webhook inbox list -o json --store postgres://user:canary@127.0.0.1:9/db";
    let (code, name) = match cfg!(feature = "postgres") {
        true => (1, "connection_failed"),
        false => (2, "configuration"),
    };
    let failed = env.run_unconfigured(words).assert_exit(code);
    assert_eq!(failed.error()["code"], name);
    assert!(cfg!(feature = "postgres") || failed.err.contains("--features postgres"));
    assert!(!failed.err.contains("canary"), "{}", failed.err);
}

/// Any number of processes can use a store other than a file.
#[cfg(feature = "sqlite")]
#[test]
fn several_listeners_share_the_forwarding_of_one_store() {
    use crate::listen_env::{Listener, deliver, job, listen};
    use crate::test_env::FakeServer;

    let env = TestEnv::new();
    let target = FakeServer::answering("200 OK", "");
    let words = format!("--forward-to {} --store sqlite:events.db", target.url);
    let listeners = [0, 1, 2].map(|_| Listener::start(&mut listen(&env, &words)));
    for number in 0..30 {
        let event = job(&format!("job_{number}"));
        for listener in [&listeners[number % 3], &listeners[(number + 1) % 3]] {
            assert_eq!(deliver(listener.url(), &event), 200);
        }
    }
    target.accepts(30);
    for listener in listeners {
        listener.receives(20);
        listener.end().assert_exit(0);
    }
    let sent = target.sent();
    let bodies = sent.as_array().unwrap().iter().map(|sent| sent["body"].to_string());
    assert_eq!(bodies.collect::<BTreeSet<_>>().len(), 30);
}
