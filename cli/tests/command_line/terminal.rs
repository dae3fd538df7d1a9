//! Prompts and progress on a terminal.

use std::time::Duration;

use svc_mock_server::Setup;

use crate::pty::{Terminal, configured_svc};
use crate::test_env::{CommandOutput, FakeServer, TestEnv};

fn at_a_terminal(env: &TestEnv, words: &str, url: &str) -> CommandOutput {
    let mut command = configured_svc(env, words);
    command.env("SVC_BASE_URL", url);
    Terminal::start(command, 80).end()
}

#[test]
fn a_dumb_terminal_shows_lines_without_colors() {
    let env = TestEnv::with(Setup::default().clock_manual());
    let id = env.submit_image("a fox");
    for words in ["job wait", "job get", "job watch", "job get --nope"] {
        let mut command = configured_svc(&env, &format!("{words} {id}"));
        command.env("TERM", "dumb");
        let mut terminal = Terminal::start(command, 80);
        if words == "job wait" {
            terminal.wait_for(&format!("{id}: queued after "));
            env.mock.advance(Duration::from_secs(600)).unwrap();
        }
        let run = terminal.end();
        assert!(!run.out.contains('\u{1b}'), "{}", run.out);
    }
}

#[test]
fn the_items_of_a_queue_are_shown_live_and_then_as_a_table() {
    let env = TestEnv::new();
    std::fs::write(
        env.path("items.csv"),
        "instruction\n[mock:seconds=40] a\n[mock:seconds=40] b\n",
    )
    .unwrap();
    let words = "format bulk demo/teaser --input items.csv --yes --color never";
    let run = at_a_terminal(&env, words, "").assert_exit(0);
    let (live, table) = run.out.split_once("ITEM ").unwrap();
    assert!(live.contains("1  running    run_"), "{live}");
    assert!(live.contains("0 of 2 ended, 2 running"), "{live}");
    assert!(table.contains("completed"), "{table}");
}

#[test]
fn control_characters_in_json_are_escaped_on_a_terminal() {
    let env = TestEnv::new();
    let body =
        r#"{"data":{"id":"job_1","status":"queued","note":"\u001b[2J\u009b31m\u202e\u007f é"}}"#;
    let service = FakeServer::answering("200 OK", body);
    for words in ["job get job_1 -o json --color never", "api get /v1/jobs/job_1"] {
        let run = at_a_terminal(&env, words, &service.url).assert_exit(0);
        assert!(
            run.out.chars().all(|c| matches!(c, '\n' | '\r') || !c.is_control()),
            "{:?}",
            run.out
        );
        assert!(run.out.contains(r"\u001b[2J\u009b31m\u202e\u007f é"), "{:?}", run.out);
    }
    if cfg!(feature = "jq") {
        let run = at_a_terminal(&env, "job get job_1 --jq .note", &service.url).assert_exit(0);
        assert_eq!(run.out.trim_end(), "[2J31m é");
    }
}

#[cfg(feature = "preview")]
#[test]
fn images_are_shown_on_a_terminal_only() {
    let env = TestEnv::new();
    let words = "--sandbox image generate 'a fox' --model image-i --preview --yes --color never";
    let shown = Terminal::start(configured_svc(&env, words), 80).end().assert_exit(0);
    assert!(shown.out.contains('▄') || shown.out.contains('▀'), "{}", shown.out);
    let mut command = configured_svc(&env, words);
    command.env("TERM_PROGRAM", "iTerm.app");
    let shown = Terminal::start(command, 80).end().assert_exit(0);
    assert!(shown.out.contains("\u{1b}]1337;File="), "{}", shown.out);
    let mut command = configured_svc(&env, words);
    command.env("TERM", "dumb");
    let shown = Terminal::start(command, 80).end().assert_exit(0);
    assert!(shown.out.contains("--preview shows nothing: the terminal is a dumb one"));
    assert!(!shown.out.contains('\u{1b}'), "{}", shown.out);
    // Nothing is stored without --download.
    assert_eq!(std::fs::read_dir(env.path("")).unwrap().count(), 0);

    let words = "--sandbox image generate 'a fox' --model image-i --preview --yes";
    let piped = env.run_unconfigured(words).assert_exit(0);
    assert_eq!(piped.json()["files"], serde_json::json!([]));
    assert!(!piped.err.contains('\u{1b}'), "{}", piped.err);
}
