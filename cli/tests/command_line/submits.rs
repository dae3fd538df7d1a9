//! Submits: interruptions, the journal and idempotency.

use std::fs;
use std::time::Duration;

use crate::test_env::{CommandOutput, TestEnv, sleep, start};

#[test]
fn a_command_that_is_killed_at_any_time_is_resumed_and_charged_once() {
    let env = TestEnv::new();
    let mut jobs = 0;
    for step in 0..20 {
        let delay = Duration::from_millis(step * 8);
        let prompt = format!("[mock:seconds=0.3] number {step}");
        let words = format!("image generate --model image-i --prompt '{prompt}'");
        let mut child = start(&mut env.open_surface(&words));
        sleep(delay);
        child.0.kill().unwrap();
        // On a busy machine the command may finish, or close its intent, before it is killed.
        let succeeded = child.0.wait().unwrap().success();
        let is_reported = env.job_count() > jobs && env.open_intents().is_empty();
        if !succeeded && !is_reported {
            let run = env.run(words).assert_exit(0);
            assert_eq!(run.json()["status"], "completed");
        }
        jobs += 1;
        assert_eq!(env.job_count(), jobs, "killed after {delay:?}");
        assert_eq!(env.charge_count(), jobs, "killed after {delay:?}");
        assert!(env.open_intents().is_empty(), "killed after {delay:?}");
    }
}

#[test]
fn the_journal_contains_no_secret_and_no_user_text_but_the_label() {
    let label = "[mock:stuck] a red fox in the deep snow ";
    let prompt = format!("{label}canary");
    for (no_labels, is_kept) in [("", true), ("1", false)] {
        let env = TestEnv::new();
        let mut command = env.open_surface("image generate --model image-i --metadata who=canary");
        command.args(["--prompt", &prompt, "--timeout", "1"]).env("SVC_NO_LABELS", no_labels);
        CommandOutput::of(&mut command).assert_exit(9);
        std::fs::write(env.path("m.csv"), format!("model,prompt\nimage-i,{prompt}\n")).unwrap();
        let mut command = env.open_surface("batch run m.csv --timeout 1");
        command.args(["--param", r#"metadata={"who": "canary"}"#]);
        CommandOutput::of(command.env("SVC_NO_LABELS", no_labels)).assert_exit(9);
        let files = fs::read_dir(env.path("state/journal")).unwrap();
        let files = files.map(|file| file.unwrap().path()).filter(|path| path.is_file());
        let journals = files.chain([env.path("m.csv.journal.jsonl")]);
        for journal in journals {
            let text = String::from_utf8_lossy(&fs::read(&journal).unwrap()).into_owned();
            assert!(!text.contains("canary") && !text.contains("svc_open_demo"), "{text}");
            let is_request = text.contains("image_generate");
            assert_eq!(text.contains("a red fox"), is_request && is_kept, "{text}");
        }
        let shown = env.run("history -o json").json()[0]["label"].clone();
        let in_batch = env.run("batch status m.csv -o json").json()["items"][0]["label"].clone();
        for shown in [shown, in_batch] {
            assert_eq!(shown.as_str(), is_kept.then_some(label.trim_end()), "{no_labels}");
        }
    }
}

#[test]
fn what_ended_90_days_ago_is_removed_once_a_day() {
    let env = TestEnv::new();
    env.generate_image("an old fox", &[]).assert_exit(0);
    // The dates of the journal are those of last year.
    let now = env.path(".").metadata().unwrap().modified().unwrap();
    let now = jiff::Timestamp::try_from(now).unwrap().to_string();
    let year: u32 = now[..4].parse().unwrap();
    for file in fs::read_dir(env.path("state/journal")).unwrap() {
        let path = file.unwrap().path();
        if let Ok(text) = fs::read_to_string(&path) {
            let text = text.replace(&format!("\"{year}-"), &format!("\"{}-", year - 1));
            fs::write(&path, text).unwrap();
        }
    }
    let count = || {
        env.generate_image("a fox", &[]).assert_exit(0);
        env.run("history --all -o json").json().as_array().unwrap().len()
    };
    assert_eq!(count(), 2, "it was purged today");
    fs::remove_file(env.path("state/journal-purged")).unwrap();
    assert_eq!(count(), 2, "the first one is removed");
}
