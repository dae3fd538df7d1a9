//! Bulk queues of Format runs.

use std::fs;
use std::time::Duration;

use crate::test_env::{TestEnv, interrupt, sleep, start, wait_until};

fn file(env: &TestEnv, name: &str, text: &str) -> String {
    let path = env.path(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_csv_file_of_20_items_is_run_and_downloaded() {
    let env = TestEnv::new();
    let rows: String = (0..20).map(|row| format!("A poster of it,City {row}\n")).collect();
    let items = file(&env, "items.csv", &format!("instruction,city\n{rows}"));
    let out = env.path("out");
    let words = format!(
        "format bulk demo/product-shot --input '{items}' --concurrency 8 --output-schema '{{\"type\": \"object\", \"properties\": {{\"title\": {{\"type\": \"string\"}}}}, \"required\": [\"title\"]}}' --cap 1 --max-price 20 --download '{}'",
        out.display()
    );
    let run = env
        .developer(words)
        .assert_exit(0)
        .assert_stderr("20 of 20 runs completed; spent 1.0000 USD");
    let results = run.json();
    assert_eq!(results.as_array().unwrap().len(), 20);
    for (index, item) in results.as_array().unwrap().iter().enumerate() {
        assert_eq!(item["index"], index);
        assert!(item["output"]["title"].is_string());
        let path = item["files"][0]["path"].as_str().unwrap();
        assert!(path.contains(&format!("out/{index}/")), "{path}");
        assert!(fs::read(path).unwrap().starts_with(b"\x89PNG"));
    }
    let body = &env.requests("formats_by_slug_bulk_create")[0];
    assert!(body["idempotency_key"].is_string(), "{body}");
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
    let run = env
        .developer(words)
        .assert_exit(0)
        .assert_stderr("100 of 100 runs completed; spent 5.0000 USD");
    let results = run.json();
    let mut runs: Vec<&str> =
        results.as_array().unwrap().iter().map(|item| item["run_id"].as_str().unwrap()).collect();
    runs.sort_unstable();
    let captured = env.captured_by_run();
    assert_eq!(captured.keys().collect::<Vec<_>>(), runs);
    assert!(captured.values().all(|micros| *micros == 50_000), "{captured:?}");
    assert!(env.open_intents().is_empty());
}

#[test]
fn a_failed_item_outweighs_a_canceled_or_skipped_one() {
    let env = TestEnv::new();
    let rows: [(&str, i32, &[&str]); 3] = [
        ("[mock:skip]", 8, &["1 skipped", "item 1, run_"]),
        ("[mock:fail=deliverable_missing]", 7, &["1 failed", "deliverable_missing"]),
        ("[mock:degraded]", 0, &["2 of 2 runs completed"]),
    ];
    for (word, code, expected) in rows {
        let lines = format!("{{\"instruction\": \"a\"}}\n{{\"instruction\": \"{word}\"}}\n");
        let items = file(&env, "items.jsonl", &lines);
        let run =
            env.developer(["format", "bulk", "fmt_demo", "--input", &items]).assert_exit(code);
        for expected in expected {
            assert!(run.err.contains(expected), "{word}: no {expected:?} in {}", run.err);
        }
        assert_eq!(run.json().as_array().unwrap().len(), 2);
    }
    let items = file(
        &env,
        "items.json",
        r#"{"concurrency": 1, "items": [{"instruction": "[mock:fail]"}, {"instruction": "[mock:skip]"}]}"#,
    );
    let words = format!("format bulk fmt_demo --input '{items}' -o json");
    let error = env.developer(words).assert_exit(7).error();
    assert!(error["queue_id"].as_str().unwrap().starts_with("frq_"));
}

#[test]
fn a_queue_is_resumed_by_its_id() {
    let env = TestEnv::new();
    let items = file(
        &env,
        "items.jsonl",
        "{\"instruction\": \"[mock:stuck]\"}\n{\"instruction\": \"b\"}\n",
    );
    let words = ["format", "bulk", "fmt_media", "--input", &items];
    let child = start(&mut env.developer_surface(words));
    wait_until("the queue is polled", || !env.requests("format_queues_get").is_empty());
    interrupt(&child);
    let run = child.end().assert_exit(130).assert_stderr("the queue keeps running");
    let command = run.err.lines().find(|line| line.contains("svc queue wait frq_")).unwrap();
    let id = command.split(' ').find(|word| word.starts_with("frq_")).unwrap();

    let queue = env.developer(["queue", "get", id]).assert_exit(0).json();
    assert_eq!(queue["counts"]["total"], 2);
    env.developer(["queue", "wait", id, "--timeout", "1"])
        .assert_exit(9)
        .assert_stderr("svc queue wait");
    env.developer("queue wait --last --timeout 1")
        .assert_exit(9)
        .assert_stderr(&format!("Using {id} "));
    env.developer("queue wait").assert_exit(2).assert_stderr("--last for the newest queue");
    let stuck = queue["items"][0]["run_id"].as_str().unwrap();
    env.developer(["run", "cancel", stuck, "--kind", "format"]).assert_exit(0);
    let out = env.path("out");
    let words = ["queue", "wait", id, "--download", out.to_str().unwrap()];
    env.developer(words).assert_exit(8).assert_stderr("1 canceled");
    assert!(fs::read_dir(out.join("1")).unwrap().next().is_some());
    assert!(env.open_intents().is_empty(), "a reported outcome closes the intent");
}

#[test]
fn ctrl_c_cancels_a_queue_with_cancel_on_interrupt() {
    let env = TestEnv::new();
    let items = file(&env, "items.jsonl", &"{\"instruction\": \"[mock:stuck]\"}\n".repeat(3));
    let words =
        format!("format bulk fmt_demo --input '{items}' --concurrency 2 --cancel-on-interrupt");
    let child = start(&mut env.developer_surface(words));
    wait_until("the queue is polled", || !env.requests("format_queues_get").is_empty());
    interrupt(&child);
    child.end().assert_exit(130).assert_stderr("3 of 3 ended").assert_stderr("3 canceled");
}

#[test]
fn invalid_items_are_reported_before_anything_is_sent() {
    let env = TestEnv::new();
    let many = "{\"instruction\": \"a\"}\n".repeat(101);
    let rows = [
        (
            "a.jsonl",
            "{\"instruction\": \"a\"}\n\n{\"model\": \"m\"}\n",
            "item 1 (line 3): the run has no input",
        ),
        ("b.jsonl", many.as_str(), "expected 1 to 100"),
        ("c.csv", "instruction,attachments\nx,\"[{}]\"\n", "item 0 (line 2)"),
        ("d.csv", "instruction\n", "expected 1 to 100"),
        ("e.txt", "x", ".jsonl, .csv or .json"),
    ];
    for (name, text, expected) in rows {
        let items = file(&env, name, text);
        env.developer(["format", "bulk", "fmt_demo", "--input", &items])
            .assert_exit(2)
            .assert_stderr(expected);
    }
    let items = file(&env, "f.jsonl", "{\"instruction\": \"a\"}\n");
    let words = ["format", "bulk", "fmt_demo", "--input", &items];
    env.developer([&words[..], &["--concurrency", "17"]].concat())
        .assert_exit(2)
        .assert_stderr("1 to 16");
    env.developer([&words[..], &["--cap", "2", "--max-price", "1.99"]].concat()).assert_exit(5);
    assert!(env.mock.requests(0).is_empty());
    env.developer([&words[..], &["--max-price", "1"]].concat())
        .assert_exit(5)
        .assert_stderr("--cap");
    assert!(env.requests("formats_bulk_create").is_empty());
}

#[test]
fn a_dry_run_of_a_queue_shows_the_number_of_items_and_the_sum_of_the_caps() {
    let env = TestEnv::new();
    let rows = "{\"instruction\": \"a\"}\n".repeat(3)
        + "{\"instruction\": \"b\", \"generation_spend_cap_usd\": 0.25}\n";
    let items = file(&env, "items.jsonl", &rows);
    let words = ["format", "bulk", "fmt_demo", "--input", &items, "--dry-run"];
    let capped = [&words[..], &["--cap", "1.5"]].concat();
    let shown = env.developer(&capped).assert_exit(0).json();
    assert_eq!(shown["items"], 4);
    assert_eq!(shown["cap_total_usd"], "4.7500");
    assert_eq!(shown["cap_usd"], "4.7500");
    assert_eq!(shown["request"]["body"]["items"][3]["instruction"], "b");
    let table = env.developer([&capped[..], &["-o", "table"]].concat()).assert_exit(0);
    for expected in ["items", "4", "total", "4.7500 USD"] {
        assert!(table.out.contains(expected), "{}", table.out);
    }
    // The items without a cap have the default cap of the Format.
    let format = env.developer("format get fmt_demo").json();
    let default_cap = format["generation_spend_cap_usd_micros"].as_i64().unwrap();
    let shown = env.developer(words).assert_exit(0).json();
    assert_eq!(shown["items"], 4);
    let total: svc_sdk::types::Usd = shown["cap_total_usd"].as_str().unwrap().parse().unwrap();
    assert_eq!(total.as_micros(), 3 * default_cap + 250_000);
    assert!(shown.get("cap_usd").is_none(), "{shown}");
    assert!(env.requests("formats_bulk_create").is_empty());
}

#[test]
fn items_are_taken_from_a_parameter() {
    let env = TestEnv::new();
    let items = r#"items=[{"instruction": "a shoe"}, {"instruction": "a hat"}]"#;
    let words = format!("format bulk demo/product-shot --param '{items}' --cap 1");
    let run = env.developer(format!("{words} --dry-run"));
    let body = run.assert_exit(0).json()["request"]["body"].clone();
    assert_eq!(body["items"][1]["instruction"], "a hat");
    assert_eq!(body["items"][1]["generation_spend_cap_usd"], 1);
    env.developer("format bulk demo/product-shot").assert_exit(2).assert_stderr("--input");
    env.developer("format bulk demo/product-shot --param items={}")
        .assert_exit(2)
        .assert_stderr("expected a JSON array");
}
