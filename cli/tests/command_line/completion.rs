//! Dynamic shell completion with a shell, and while the journal is in use.

use std::fs;

use crate::test_env::{CommandOutput, TestEnv};

fn candidates(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let mut command = env.open_surface("");
    command.env("COMPLETE", "bash").env("_CLAP_IFS", "\n");
    command.env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string()).arg("--").args(words);
    let run = CommandOutput::of(&mut command).assert_exit(0);
    assert!(run.err.is_empty(), "{}", run.err);
    let values = run.out.lines().map(str::to_owned);
    values.filter(|value| !value.starts_with('-')).collect()
}

#[test]
fn the_history_is_read_as_it_is() {
    let env = TestEnv::new();
    let id = env.submit_image("a fox");
    let lock = fs::File::open(env.path("state/journal/lock")).unwrap();
    lock.lock().unwrap();
    assert!(candidates(&env, &["svc", "job", "get", ""]).is_empty());
    lock.unlock().unwrap();
    // What an earlier version left cannot be converted.
    env.leave_to_an_earlier_version(env.run("history -o json").json()[0].take());
    fs::create_dir(env.path("state/conversion.lock")).unwrap();
    assert_eq!(candidates(&env, &["svc", "job", "get", ""]), [&*id]);
    let output = env.run("history -o json").assert_exit(0);
    assert_eq!(output.json()[0]["job_id"], id);
    assert_eq!(output.err, "");
    let output = env.run("job wait --last -o json").assert_exit(0);
    assert_eq!(output.json()["job_id"], id);
    let output = env.generate_image("a fox", &[]).assert_exit(1);
    output.assert_stderr("nothing was sent").assert_stderr("--no-journal");
}

#[cfg(target_os = "linux")]
#[test]
fn bash_completes_with_the_script() {
    let env = TestEnv::new();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_svc"));
    let folder = program.parent().unwrap().display();
    let script = format!(
        "PATH={folder}:$PATH; source <(svc completions bash); \
         COMP_WORDS=(svc image generate --model im); COMP_CWORD=4; \
         _clap_complete_svc svc im --model; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let svc = env.open_surface("");
    let mut bash = std::process::Command::new("bash");
    bash.args(["--norc", "-c", &script]).current_dir(env.path(""));
    for (name, value) in svc.get_envs() {
        if let Some(value) = value {
            bash.env(name, value);
        }
    }
    let run = CommandOutput::of(&mut bash).assert_exit(0);
    assert_eq!(run.out.trim(), "image-i", "{}", run.err);
}
