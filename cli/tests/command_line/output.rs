//! Closed output, the columns of tables, and the commands that messages name.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::deliveries::deliver;
use crate::test_env::{CommandOutput, TestEnv, start};

#[test]
fn a_closed_stdout_is_not_an_error() {
    let env = TestEnv::new();
    let mut child = start(&mut env.open_surface("operations -o json"));
    let mut first = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let run = child.end();
    assert_eq!(run.code, Some(0));
    assert_eq!(run.err, "");
}

#[test]
fn a_listener_exits_when_stdout_is_closed() {
    let env = TestEnv::new();
    let mut command = env.unconfigured("webhook listen --port 0");
    let mut process = start(command.env("SVC_WEBHOOK_SECRET", "whsec_newest"));
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let event = br#"{"event":"job.completed","job_id":"job_1"}"#;
    assert_eq!(deliver(ready["url"].as_str().unwrap(), event, &[]).code, Some(200));
    process.end().assert_exit(1).assert_stderr("standard output");
}

#[cfg(target_os = "linux")]
#[test]
fn a_write_error_on_stdout_is_an_error_and_the_job_can_be_resumed() {
    let env = TestEnv::new();
    let words = "image generate --model image-i --prompt [mock:seconds=0.1]";
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run = CommandOutput::of(env.open_surface(words).stdout(full));
    run.assert_exit(1).assert_stderr("standard output");
    env.run(words).assert_exit(0).assert_stderr("Resuming job_");
    assert_eq!(env.charge_count(), 1);
}

/// Columns that are made from several fields or from parts of one, such as the location of a file.
const DERIVED_COLUMNS: [&str; 12] = [
    "result",
    "location",
    "content",
    "day",
    "operation",
    "for",
    "address",
    "output",
    "per",
    "inputs",
    "origin",
    "stored keys",
];

#[test]
fn the_columns_of_tables_are_named_like_the_fields() {
    let env = TestEnv::new();
    let run = |words: &str| CommandOutput::of(&mut env.both_surfaces(words));
    run("image generate --model image-i 'a fox'").assert_exit(0);
    run("agent run 'a fox' --cap 1").assert_exit(0);
    std::fs::write(env.path("m.csv"), "model,prompt\nimage-i,one\nimage-i,[mock:fail]\n").unwrap();
    run("batch run m.csv").assert_exit(7);
    let (mut wrong, mut count) = (Vec::new(), 0);
    let tables = "job list\nhistory\nhistory --refresh\nmodel list\npricing list\nusage\nusage --since 7d\n\
        usage --since 7d --by operation\nusage --since 7d --entries\nbatch run m.csv --retry-failed\naction list\n\
        format list\ncatalog\navatar list\nbgm list\nbgm categories\nauth status\nconfig show\noperations";
    for words in tables.lines() {
        let json = run(&format!("{words} -o json")).json();
        let table = run(&format!("{words} -o table"));
        let mut names = Vec::new();
        collect_names(&json, &mut names);
        let header = table.out.lines().next().unwrap_or_default();
        for column in header.split("  ").map(str::trim).filter(|column| !column.is_empty()) {
            let column = column.to_lowercase();
            let is_part = |name: &String| format!("_{name}_").contains(&format!("_{column}_"));
            count += 1;
            if !names.iter().any(is_part) && !DERIVED_COLUMNS.contains(&column.as_str()) {
                wrong.push(format!("{words}: {column}"));
            }
        }
    }
    assert!(wrong.is_empty() && count > 60, "{count} {wrong:#?}");
}

fn collect_names(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                names.push(name.clone());
                collect_names(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        _ => {}
    }
}

#[test]
fn every_printed_command_keeps_the_profile() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.path("config")).unwrap();
    let config = format!("[profiles.work]\nbase_url = \"{}\"\n", env.mock.base_url());
    std::fs::write(env.path("config/config.toml"), config).unwrap();
    std::fs::write(env.path("m.csv"), "model,prompt\nnone,a fox\n").unwrap();
    std::fs::write(env.path("b.csv"), "model,prompt\nimage-i,[mock:fail]\nimage-i,x\n").unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    let failing = "image generate\nvideo generate\nmusic generate\navatar generate\n\
        image generate 'a fox'\nimage generate --model none 'a fox' --yes\n\
        video generate --model image-i 'a fox' --yes\nvideo generate 'a fox' --surface developer\n\
        image generate --model image-i '[mock:stuck]' --timeout 1\n\
        image generate --model image-i '[mock:stuck]' --no-wait --new\n\
        image generate --model image-i '[mock:fail]' --new\n\
        image generate --model image-i 'a fox' --max-price 0\njob get job_none\njob wait job_none\n\
        job cancel job_none\njob watch\njob download job_none\njob rm x\nmodel get none\nmodel list --type x\n\
        run get run_none\nrun wait run_none\naction run none\nformat run none\nformat bulk none\n\
        agent run 'a fox'\nbatch run none.csv\nbatch run m.csv\nbatch status m.csv\nbatch run b.csv\n\
        batch status b.csv\nhistory --unfinished\nhistory\ndoctor\nauth status\nconfig list\n\
        auth logout --surface developer\nprofile use none\nqueue get none\nqueue list\ntop-up get none\n\
        top-up create 1\nusage --by none\nusage --since x\nwebhook secret get\nwebhook verify m.csv\n\
        webhook inbox show none\nwebhook replay none\nmcp tools\nmcp call x\nme\nbalance --surface x\nlogin\n\
        whoami\nupload fox.png\ngenerate\nimage generate -o out.png\nimage generate --json x\n\
        estimate --model none --prompt x\npricing get none\npreview create\ncaption create\navatar get none";
    for words in failing.lines() {
        let run = env.run(format!("{words} --profile work").as_str());
        for line in run.err.lines().filter(|line| !line.starts_with("Usage:")) {
            for (at, _) in line.match_indices("svc ") {
                let (before, command) = line.split_at(at);
                let before = before.chars().last();
                let command = match before {
                    Some('`') => command.split('`').next().unwrap_or_default(),
                    Some(' ' | '(') | None => command,
                    _ => continue,
                };
                let noun = command.split([' ', ',', ';']).nth(1).unwrap_or_default();
                if ["mock", "help", "completions", ""].contains(&noun) {
                    continue;
                }
                count += 1;
                if !command.contains(" --profile ") {
                    wrong.push(format!("{words}: {line}"));
                }
            }
        }
    }
    assert!(wrong.is_empty() && count > 30, "{count}\n{}", wrong.join("\n"));
}
