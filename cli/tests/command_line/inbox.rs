//! Stores of `svc webhook listen` that depend on the features of the build.

use crate::test_env::TestEnv;

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
    use crate::listen_env::{Listener, Target, deliver, job, listen};

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
