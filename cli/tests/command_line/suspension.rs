//! Processes that are stopped for longer than their time limits, as by Ctrl-Z.

use std::fs;
use std::time::Duration;

use crate::test_env::{TestEnv, start, suspend, wait_until};

/// The time limits of the commands, and a stop that lasts longer. What is left of it after the end of
/// the time limit must not be taken for a process that is merely slow.
const LIMIT: &str = "5s";
const STOP: Duration = Duration::from_secs(8);

#[test]
fn a_wait_goes_on_after_a_stop() {
    let env = TestEnv::new();
    // Three seconds at the speed of the mock.
    let words = [
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:seconds=150]",
        "--timeout",
        LIMIT,
        "--download",
        "out",
    ];
    let child = start(&mut env.open_surface(words));
    wait_until("the job is submitted", || env.job_count() == 1);
    suspend(&child, STOP);
    let run = child.end().assert_exit(0);
    assert_eq!(run.json()["files"].as_array().unwrap().len(), 1);
    assert_eq!((env.job_count(), env.charge_count()), (1, 1));
    assert!(env.open_intents().is_empty());
}

#[test]
fn a_download_goes_on_after_a_stop() {
    let env = TestEnv::new();
    let id = env.submit_image("[mock:seconds=0.1]");
    env.run(["job", "wait", &id]).assert_exit(0);
    let stall = serde_json::json!({"operation": "artifact", "kind": "stall", "delay_ms": 4000});
    let rule = serde_json::from_value(stall).unwrap();
    env.mock.add_fault(rule).unwrap();
    let words = [
        "job",
        "download",
        &id,
        "--dir",
        "out",
        "--download-timeout",
        LIMIT,
    ];
    let child = start(&mut env.open_surface(words));
    let has_begun = || {
        let files = fs::read_dir(env.path("out"));
        let mut lengths = files
            .into_iter()
            .flatten()
            .map(|file| file.unwrap().metadata());
        lengths.any(|metadata| metadata.is_ok_and(|metadata| metadata.len() > 0))
    };
    wait_until("half of the file is there", has_begun);
    suspend(&child, STOP);
    let run = child.end().assert_exit(0);
    assert_eq!(run.json()["files"].as_array().unwrap().len(), 1);
    assert_eq!(env.charge_count(), 1);
}
