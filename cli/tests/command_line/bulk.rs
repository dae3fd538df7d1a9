//! Bulk queues of Format runs.

use std::fs;
use std::time::Duration;

use crate::test_env::{TestEnv, sleep, start};

fn file(env: &TestEnv, name: &str, text: &str) -> String {
    let path = env.path(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_queue_of_100_items_is_charged_once_although_the_program_is_killed_repeatedly() {
    let env = TestEnv::new();
    let rows: String = (0..100)
        .map(|row| format!("{{\"instruction\": \"[mock:seconds=10] number {row}\"}}\n"))
        .collect();
    let items = file(&env, "items.jsonl", &rows);
    let words = format!("format bulk fmt_demo --from '{items}' --concurrency 16");
    for delay in [5, 30, 60, 120, 300, 600] {
        let mut child = start(&mut env.developer_surface(&words));
        sleep(Duration::from_millis(delay));
        child.0.kill().unwrap();
        child.0.wait().unwrap();
    }
    let run =
        env.developer(words).assert_exit(0).assert_stderr("100 of 100 runs completed; spent $5.00");
    let results = run.json();
    let mut runs: Vec<&str> =
        results.as_array().unwrap().iter().map(|item| item["run_id"].as_str().unwrap()).collect();
    runs.sort_unstable();
    let captured = env.captured_by_run();
    assert_eq!(captured.keys().collect::<Vec<_>>(), runs);
    assert!(captured.values().all(|micros| *micros == 50_000), "{captured:?}");
    assert!(env.open_intents().is_empty());
}
