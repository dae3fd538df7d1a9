//! Dynamic shell completion.

use std::fs;
use std::net::TcpListener;

use crate::test_env::{CommandOutput, TestEnv};

/// Returns the candidates for the last word.
fn complete(env: &TestEnv, words: &[&str], variables: &[(&str, &str)]) -> CommandOutput {
    let mut command = env.open_surface([]);
    command
        .env("SVC_DEVELOPER_BASE_URL", env.mock.developer_base_url())
        .env("SVC_DEVELOPER_API_KEY", svc_mock_server::DEVELOPER_API_KEY)
        .env("COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
        .arg("--")
        .args(words)
        .envs(variables.iter().copied());
    CommandOutput::of(&mut command)
}

fn candidates(env: &TestEnv, words: &[&str]) -> Vec<String> {
    let run = complete(env, words, &[]).assert_exit(0);
    assert!(run.err.is_empty(), "{}", run.err);
    let values = run.out.lines().map(str::to_owned);
    values.filter(|value| !value.starts_with('-')).collect()
}

#[test]
fn models_are_completed_by_the_type_of_the_command() {
    let env = TestEnv::new();
    assert_eq!(candidates(&env, &["svc", "image", "generate", "--model", ""]), ["image-i"]);
    let videos = candidates(&env, &["svc", "video", "generate", "--model", "video-"]);
    assert_eq!(videos, ["video-f", "video-l", "video-h", "video-r"]);
    let any = candidates(&env, &["svc", "model", "get", "i"]);
    assert_eq!(any, ["image-i"]);
    // The catalog of the developer surface, where only that is configured.
    let words = ["svc", "video", "generate", "--model", "video-"];
    let run = complete(&env, &words, &[("SVC_BASE_URL", "")]).assert_exit(0);
    assert!(run.out.lines().any(|id| id == "video-1.0"), "{}", run.out);
    let sandbox = ["svc", "--sandbox", "image", "generate", "--model", "i"];
    let run = complete(&env, &sandbox, &[("SVC_BASE_URL", "http://127.0.0.1:9")]);
    assert_eq!(run.assert_exit(0).out.trim(), "image-i");
}

#[test]
fn formats_are_completed_by_address_and_id() {
    let env = TestEnv::new();
    let formats = candidates(&env, &["svc", "format", "run", ""]);
    assert!(formats.contains(&"demo/teaser".to_owned()), "{formats:?}");
    assert!(!formats.contains(&"fmt_demo".to_owned()), "{formats:?}");
    assert_eq!(candidates(&env, &["svc", "format", "get", "fmt_d"]), ["fmt_demo"]);
}

#[test]
fn a_list_is_fetched_once_in_a_while() {
    let env = TestEnv::new();
    for _ in 0..3 {
        candidates(&env, &["svc", "image", "generate", "--model", ""]);
    }
    assert_eq!(env.requests("image_models_list").len(), 1);
    // Another key may see other models.
    complete(
        &env,
        &["svc", "image", "generate", "--model", ""],
        &[("SVC_OPEN_API_KEY", "svc_open_other")],
    );
    assert_eq!(env.requests("image_models_list").len(), 2);
}

#[test]
fn ids_are_completed_from_the_history() {
    let env = TestEnv::new();
    let first = env.submit_image("a fox");
    let second = env.submit_image("another fox");
    assert_eq!(candidates(&env, &["svc", "job", "get", ""]), [second.as_str(), &first]);
    assert_eq!(candidates(&env, &["svc", "job", "wait", &first, &second]), [second.as_str()]);
    assert!(candidates(&env, &["svc", "run", "get", ""]).is_empty());
    let words = "format run demo/teaser --instruction hello --no-wait";
    let run = env.developer(words).assert_exit(0).json();
    let id = run["run_id"].as_str().unwrap();
    assert_eq!(candidates(&env, &["svc", "run", "get", ""]), [id]);
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

#[test]
fn profiles_and_commands_are_completed() {
    let env = TestEnv::new();
    fs::create_dir_all(env.path("config")).unwrap();
    fs::write(
        env.path("config/config.toml"),
        "[profiles.default]\n[profiles.work]\nbase_url = 'https://a.example'\n",
    )
    .unwrap();
    assert_eq!(candidates(&env, &["svc", "--profile", ""]), ["default", "work"]);
    assert_eq!(candidates(&env, &["svc", "job", "list", "--profile", "w"]), ["work"]);
    assert_eq!(candidates(&env, &["svc", "doc"]), ["doctor"]);
}

#[test]
fn failures_mean_no_candidates_and_no_messages() {
    let env = TestEnv::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let rows: &[&[(&str, &str)]] = &[
        &[("SVC_BASE_URL", &url)],
        &[("SVC_BASE_URL", "http://127.0.0.1:9")],
        &[("SVC_BASE_URL", "not a URL")],
        &[("SVC_OPEN_API_KEY", "svc_open_wrong"), ("SVC_LOG", "trace")],
        &[("SVC_OPEN_API_KEY", "")],
        &[("SVC_CONFIG", "/dev/null/x"), ("SVC_BASE_URL", "")],
        &[("SVC_STATE_DIR", "/dev/null/x"), ("SVC_OPEN_API_KEY", "x")],
        &[("SVC_PROFILE", "nowhere"), ("SVC_BASE_URL", "")],
    ];
    for variables in rows {
        let words = ["svc", "image", "generate", "--model", "i"];
        let run = complete(&env, &words, variables).assert_exit(0);
        assert_eq!((run.out.as_str(), run.err.as_str()), ("", ""), "{variables:?}");
    }
    let run = complete(&env, &["svc", "job", "get", "j"], &[("SVC_STATE_DIR", "/dev/null/x")]);
    assert_eq!((run.out.as_str(), run.err.as_str()), ("", ""));
    // An index outside the line.
    let run = complete(&env, &["svc", "job"], &[("_CLAP_COMPLETE_INDEX", "9")]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(1), "", ""));
}

#[test]
fn a_stored_key_is_not_sent_to_another_host() {
    let env = TestEnv::new();
    let other = TestEnv::new();
    fs::create_dir_all(env.path("config")).unwrap();
    let stored = format!(
        "[profiles.default.open]\norigin = \"{}\"\nkey = \"svc_open_demo\"\n",
        env.mock.base_url()
    );
    fs::write(env.path("config/credentials.toml"), stored).unwrap();
    let words = ["svc", "image", "generate", "--model", "i"];
    let variables = [("SVC_BASE_URL", other.mock.base_url()), ("SVC_OPEN_API_KEY", "")];
    // The file is also readable by others, which other commands warn of.
    let run = complete(&env, &words, &variables).assert_exit(0);
    assert_eq!((run.out.as_str(), run.err.as_str()), ("", ""));
    assert!(other.mock.requests(0).is_empty());
    let variables = [("SVC_BASE_URL", env.mock.base_url()), ("SVC_OPEN_API_KEY", "")];
    let run = complete(&env, &words, &variables).assert_exit(0);
    assert_eq!((run.out.as_str(), run.err.as_str()), ("image-i", ""));
}

#[test]
fn the_variable_prints_the_script_of_the_shell() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = CommandOutput::of(env.unconfigured([]).env("COMPLETE", shell)).assert_exit(0);
        assert!(run.out.contains("COMPLETE"), "{shell}: {}", run.out);
    }
    CommandOutput::of(env.unconfigured([]).env("COMPLETE", "tcsh"))
        .assert_exit(2)
        .assert_stderr("tcsh");
    let run = CommandOutput::of(env.unconfigured("--version").env("COMPLETE", ""));
    assert!(run.assert_exit(0).out.starts_with("svc "));
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
    let svc = env.open_surface([]);
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
