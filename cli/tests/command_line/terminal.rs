//! Prompts and progress on a terminal.

use std::time::Duration;

use svc_mock_server::Setup;

use crate::pty::{Terminal, configured_svc, svc};
use crate::test_env::{CommandOutput, FakeServer, TestEnv, wait_until};

/// Runs a command on a terminal, and types after the prompt.
fn at_a_terminal(
    env: &TestEnv,
    words: &str,
    prompt: &str,
    typed: &str,
    url: &str,
) -> CommandOutput {
    let mut command = configured_svc(env, words);
    command.env("SVC_BASE_URL", url);
    let mut terminal = Terminal::start(command, 80);
    if !prompt.is_empty() {
        terminal.wait_for(prompt);
        terminal.type_text(typed);
    }
    terminal.end()
}

/// Runs a command on a terminal, and answers its prompts in their order. `variables` are added to an
/// environment without URLs and keys.
pub(crate) fn dialogue(
    env: &TestEnv,
    words: &str,
    answers: &[(&str, String)],
    variables: &[(&str, String)],
) -> CommandOutput {
    let mut command = svc(env, words);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let mut terminal = Terminal::start(command, 200);
    let mut seen = 0;
    for (prompt, answer) in answers {
        // A prompt is written again when it is answered.
        seen += terminal.wait_for_output(prompt, seen);
        if prompt.starts_with("API key") {
            terminal.wait_for_hidden_input();
        }
        terminal.type_text(answer);
    }
    terminal.end()
}

#[test]
fn ctrl_c_during_a_read_leaves_a_clean_terminal() {
    let env = TestEnv::new();
    env.add_delay("jobs_list", 60_000);
    let mut terminal = Terminal::start(configured_svc(&env, "job list --color never"), 80);
    wait_until("the request is received", || env.mock.faults().is_empty());
    terminal.type_text("\x03");
    terminal.wait_for("error: interrupted");
    assert_eq!(terminal.screen(), "^C\nerror: interrupted\n");
    terminal.end().assert_exit(130);
    assert!(terminal.is_restored());

    // The prompt hides the input.
    let mut terminal = Terminal::start(svc(&env, "auth login --base-url http://127.0.0.1:9"), 80);
    terminal.wait_for_hidden_input();
    terminal.type_text("\x03");
    terminal.end().assert_exit(130);
    assert!(terminal.is_restored());
}

#[test]
fn a_dumb_terminal_shows_lines_without_colors() {
    let env = TestEnv::with(Setup::default().clock_manual());
    let id = env.submit_image("a fox");
    for words in ["job wait", "job get", "job get --nope"] {
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
fn a_submit_prompts_with_the_price() {
    let env = TestEnv::new();
    let words = "video generate --model video-f --prompt '[mock:seconds=0.3] a fox'";
    let url = env.mock.base_url().to_owned();
    for typed in ["n\n", "\n", "yesterday\n"] {
        let run = at_a_terminal(&env, words, "[y/N]", typed, &url).assert_exit(1);
        assert!(run.out.contains("Submit this video for 0.7035 USD"), "{}", run.out);
        assert!(run.out.contains("nothing was charged"), "{}", run.out);
    }
    assert_eq!(env.job_count(), 0);
    let run = at_a_terminal(&env, words, "[y/N]", "y\n", &url).assert_exit(0);
    assert!(run.out.contains("video/mp4"), "a table: {}", run.out);
    let run = at_a_terminal(&env, &format!("{words} --yes"), "", "", &url).assert_exit(0);
    assert!(
        !run.out.contains("Submit this video") && run.out.contains("price: 0.7035 USD"),
        "{}",
        run.out
    );
    assert_eq!(env.charge_count(), 2);
    at_a_terminal(&env, &format!("{words} --max-price 0.1"), "", "", &url).assert_exit(5);
    assert_eq!(env.charge_count(), 2);
}

#[test]
fn ctrl_c_at_a_prompt_says_that_nothing_was_submitted() {
    let env = TestEnv::new();
    let words = "video generate fox --model video-f";
    let url = env.mock.base_url().to_owned();
    let run = at_a_terminal(&env, words, "[y/N]", "\x03", &url).assert_exit(130);
    let message = "interrupted: nothing was submitted and nothing was charged";
    assert!(run.out.contains(message), "{}", run.out);
    assert_eq!(env.job_count(), 0);
    assert!(env.open_intents().is_empty());
}

#[test]
fn a_run_prompts_with_its_cap_and_prints_json_on_a_terminal() {
    let env = TestEnv::new();
    let words = "format run demo/teaser --instruction hello";
    let run = at_a_terminal(&env, words, "[y/N]", "n\n", "").assert_exit(1);
    let own = "up to 400.0000 USD (the Format's default cap)?";
    assert!(run.out.contains(own), "{}", run.out);
    assert!(env.requests("formats_by_slug_runs_create").is_empty());
    let words = format!("{words} --cap 2 --color never");
    let run = at_a_terminal(&env, &words, "[y/N]", "y\n", "").assert_exit(0);
    let cap = "Start this Format run for up to 2.0000 USD (spend cap)?";
    assert!(run.out.contains(cap), "{}", run.out);
    assert!(run.out.contains("\"summary\": "), "{}", run.out);
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
    let run = at_a_terminal(&env, words, "", "", "").assert_exit(0);
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
        let run = at_a_terminal(&env, words, "", "", &service.url).assert_exit(0);
        assert!(
            run.out.chars().all(|c| matches!(c, '\n' | '\r') || !c.is_control()),
            "{:?}",
            run.out
        );
        assert!(run.out.contains(r"\u001b[2J\u009b31m\u202e\u007f é"), "{:?}", run.out);
    }
    if cfg!(feature = "jq") {
        let run =
            at_a_terminal(&env, "job get job_1 --jq .note", "", "", &service.url).assert_exit(0);
        assert_eq!(run.out.trim_end(), "[2J31m é");
    }
}

#[test]
fn a_typed_api_key_is_not_echoed() {
    let env = TestEnv::new();
    let url = env.mock.base_url().to_owned();
    let mut command = configured_svc(&env, "auth login");
    command.env("SVC_BASE_URL", &url);
    let mut terminal = Terminal::start(command, 80);
    terminal.wait_for("API key");
    terminal.wait_for_hidden_input();
    terminal.type_text("svc_open_demo\n");
    let run = terminal.end().assert_exit(0);
    assert!(
        run.out.contains("API key of the open surface") && !run.out.contains("svc_open_demo"),
        "{}",
        run.out
    );
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
    // Nothing is stored without --download.
    assert_eq!(std::fs::read_dir(env.path("")).unwrap().count(), 0);

    let words = "--sandbox image generate 'a fox' --model image-i --preview --yes";
    let piped = env.run_unconfigured(words).assert_exit(0);
    assert!(piped.json().get("files").is_none());
    assert!(!piped.err.contains('\u{1b}'), "{}", piped.err);
}

#[test]
fn a_terminal_shows_the_progress_of_each_file() {
    let env = TestEnv::new();
    env.add_fault("artifact", "truncate", 1);
    let words =
        "image generate '[mock:seconds=0.1]' --model image-i --num-images 2 --download out --yes";
    let run = at_a_terminal(&env, words, "", "", env.mock.base_url()).assert_exit(0);
    assert!(run.out.contains("downloaded 2 of 2"), "{}", run.out);
    assert!(run.out.contains("retrying in"), "{}", run.out);
    assert_eq!(std::fs::read_dir(env.path("out")).unwrap().count(), 2);
}
