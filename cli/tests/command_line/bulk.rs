//! Many runs as one queue: from a file, paid for once, each item told.

use std::fs;
use std::time::Duration;

use crate::test_env::{CommandOutput, TestEnv, interrupt, sleep, start, wait_until};

fn svc(env: &TestEnv, words: &[&str]) -> CommandOutput {
    CommandOutput::of(&mut env.developer_surface(words))
}

fn file(env: &TestEnv, name: &str, text: &str) -> String {
    let path = env.path(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_csv_of_20_is_run_in_bulk_and_each_has_its_output_and_its_pictures() {
    let env = TestEnv::new();
    let rows: String = (0..20)
        .map(|row| format!("A poster of it,City {row}\n"))
        .collect();
    let items = file(&env, "items.csv", &format!("instruction,city\n{rows}"));
    let out = env.path("out");
    let words = [
        "format",
        "bulk",
        "demo/product-shot",
        "--input",
        &items,
        "--concurrency",
        "8",
        "--output-schema",
        r#"{"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}"#,
        "--cap",
        "1",
        "--max-price",
        "20",
        "--download",
        out.to_str().unwrap(),
    ];
    let run = svc(&env, &words)
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
fn a_hundred_items_survive_that_the_program_is_killed_again_and_again() {
    let env = TestEnv::new();
    let rows: String = (0..100)
        .map(|row| format!("{{\"instruction\": \"[mock:seconds=10] number {row}\"}}\n"))
        .collect();
    let items = file(&env, "items.jsonl", &rows);
    let words = [
        "format",
        "bulk",
        "fmt_demo",
        "--from",
        &items,
        "--concurrency",
        "16",
    ];
    for delay in [5, 30, 60, 120, 300, 600] {
        let mut child = start(&mut env.developer_surface(&words));
        sleep(Duration::from_millis(delay));
        child.0.kill().unwrap();
        child.0.wait().unwrap();
    }
    let run = svc(&env, &words)
        .assert_exit(0)
        .assert_stderr("100 of 100 runs completed; spent 5.0000 USD");
    let results = run.json();
    let mut runs: Vec<&str> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["run_id"].as_str().unwrap())
        .collect();
    runs.sort_unstable();
    let captured = env.captured_by_run();
    assert_eq!(captured.keys().collect::<Vec<_>>(), runs);
    assert!(
        captured.values().all(|micros| *micros == 50_000),
        "{captured:?}"
    );
    assert!(env.open_intents().is_empty());
}

#[test]
fn a_failed_item_outweighs_a_canceled_or_skipped_one() {
    let env = TestEnv::new();
    let rows: [(&str, i32, &[&str]); 3] = [
        ("[mock:skip]", 8, &["1 skipped", "item 1, run_"]),
        (
            "[mock:fail=deliverable_missing]",
            7,
            &["1 failed", "deliverable_missing"],
        ),
        ("[mock:degraded]", 0, &["2 of 2 runs completed"]),
    ];
    for (word, code, said) in rows {
        let lines = format!("{{\"instruction\": \"a\"}}\n{{\"instruction\": \"{word}\"}}\n");
        let items = file(&env, "items.jsonl", &lines);
        let run = svc(&env, &["format", "bulk", "fmt_demo", "--input", &items]).assert_exit(code);
        for said in said {
            assert!(run.err.contains(said), "{word}: no {said:?} in {}", run.err);
        }
        assert_eq!(run.json().as_array().unwrap().len(), 2);
    }
    let items = file(
        &env,
        "items.json",
        r#"{"concurrency": 1, "items": [{"instruction": "[mock:fail]"}, {"instruction": "[mock:skip]"}]}"#,
    );
    let words = [
        "format", "bulk", "fmt_demo", "--input", &items, "-o", "json",
    ];
    let error = svc(&env, &words).assert_exit(7).error();
    assert!(error["queue_id"].as_str().unwrap().starts_with("frq_"));
}

#[test]
fn a_queue_is_taken_up_from_any_machine() {
    let env = TestEnv::new();
    let items = file(
        &env,
        "items.jsonl",
        "{\"instruction\": \"[mock:stuck]\"}\n{\"instruction\": \"b\"}\n",
    );
    let words = ["format", "bulk", "fmt_media", "--input", &items];
    let child = start(&mut env.developer_surface(&words));
    wait_until("it waits", || !env.requests("format_queues_get").is_empty());
    interrupt(&child);
    let run = child
        .end()
        .assert_exit(130)
        .assert_stderr("the queue goes on");
    let command = run
        .err
        .lines()
        .find(|line| line.contains("svc queue wait frq_"))
        .unwrap();
    let id = command
        .split(' ')
        .find(|word| word.starts_with("frq_"))
        .unwrap();

    let queue = svc(&env, &["queue", "get", id]).assert_exit(0).json();
    assert_eq!(queue["counts"]["total"], 2);
    svc(&env, &["queue", "wait", id, "--timeout", "1"])
        .assert_exit(9)
        .assert_stderr("svc queue wait");
    let stuck = queue["items"][0]["run_id"].as_str().unwrap();
    svc(&env, &["run", "cancel", stuck, "--kind", "format"]).assert_exit(0);
    let out = env.path("out");
    let words = ["queue", "wait", id, "--download", out.to_str().unwrap()];
    svc(&env, &words).assert_exit(8).assert_stderr("1 canceled");
    assert!(fs::read_dir(out.join("1")).unwrap().next().is_some());
    assert!(env.open_intents().is_empty(), "what was told is settled");
}

#[test]
fn a_key_of_ones_own_is_one_queue_and_another_file_says_which() {
    let env = TestEnv::new();
    let bulk = |text: &str, state: &str| {
        let items = file(&env, "items.jsonl", text);
        let words = ["format", "bulk", "fmt_demo", "--input", &items, "--no-wait"];
        let key = ["--idempotency-key", "order-4711", "-o", "json"];
        let mut command = env.developer_surface(&[&words[..], &key].concat());
        CommandOutput::of(command.env("SVC_STATE_DIR", env.path(state)))
    };
    let first = bulk("{\"instruction\": \"a\"}\n", "here")
        .assert_exit(0)
        .json();
    let second = bulk("{\"instruction\": \"a\"}\n", "there").assert_exit(0);
    assert_eq!(second.json()["queue_id"], first["queue_id"]);
    assert!(
        second.err.contains("found again by its key"),
        "{}",
        second.err
    );
    let error = bulk("{\"instruction\": \"b\"}\n", "here")
        .assert_exit(1)
        .error();
    assert_eq!(error["code"], "idempotency_conflict");
    assert_eq!(error["queue_id"], first["queue_id"]);
}

#[test]
fn ctrl_c_cancels_a_whole_queue_where_that_was_asked_for() {
    let env = TestEnv::new();
    let items = file(
        &env,
        "items.jsonl",
        &"{\"instruction\": \"[mock:stuck]\"}\n".repeat(3),
    );
    let words = [
        "format",
        "bulk",
        "fmt_demo",
        "--input",
        &items,
        "--concurrency",
        "2",
        "--cancel-on-interrupt",
    ];
    let child = start(&mut env.developer_surface(&words));
    wait_until("it waits", || !env.requests("format_queues_get").is_empty());
    interrupt(&child);
    child
        .end()
        .assert_exit(130)
        .assert_stderr("3 of 3 ended")
        .assert_stderr("3 canceled");
}

#[test]
fn items_that_can_never_be_right_are_named_and_nothing_is_sent() {
    let env = TestEnv::new();
    let many = "{\"instruction\": \"a\"}\n".repeat(101);
    let rows = [
        (
            "a.jsonl",
            "{\"instruction\": \"a\"}\n\n{\"model\": \"m\"}\n",
            "item 1 (line 3): there is nothing to run",
        ),
        ("b.jsonl", many.as_str(), "expected 1 to 100"),
        (
            "c.csv",
            "instruction,attachments\nx,\"[{}]\"\n",
            "item 0 (line 2)",
        ),
        ("d.csv", "instruction\n", "expected 1 to 100"),
        ("e.txt", "x", ".jsonl, .csv or .json"),
    ];
    for (name, text, said) in rows {
        let items = file(&env, name, text);
        svc(&env, &["format", "bulk", "fmt_demo", "--input", &items])
            .assert_exit(2)
            .assert_stderr(said);
    }
    let items = file(&env, "f.jsonl", "{\"instruction\": \"a\"}\n");
    let words = ["format", "bulk", "fmt_demo", "--input", &items];
    svc(&env, &[&words[..], &["--concurrency", "17"]].concat())
        .assert_exit(2)
        .assert_stderr("1 to 16");
    svc(
        &env,
        &[&words[..], &["--cap", "2", "--max-price", "1.99"]].concat(),
    )
    .assert_exit(5);
    assert!(env.mock.requests(0).is_empty());
    svc(&env, &[&words[..], &["--max-price", "1"]].concat())
        .assert_exit(5)
        .assert_stderr("--cap");
    assert!(env.requests("formats_bulk_create").is_empty());
}
