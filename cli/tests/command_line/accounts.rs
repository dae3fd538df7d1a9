//! API keys, configuration and top-ups.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::test_env::{CommandOutput, FakeServer, TestEnv, Words, start};

/// Runs a command with a text on standard input.
pub(crate) fn with_stdin(command: &mut Command, text: &str) -> CommandOutput {
    let mut child = start(command.stdin(Stdio::piped()));
    let mut stdin = child.0.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    child.end()
}

fn login(env: &TestEnv, words: impl Words, key: &str) -> CommandOutput {
    with_stdin(env.unconfigured("auth login").args(words.words()), key)
}

/// Returns a `PATH` without the keyring program.
pub(crate) fn without_keyring(env: &TestEnv) -> String {
    let empty = env.path("no-programs");
    fs::create_dir_all(&empty).unwrap();
    empty.display().to_string()
}

#[test]
fn login_verifies_and_stores_a_key_and_logout_removes_it() {
    let env = TestEnv::new();
    let url = env.mock.base_url().to_owned();
    let path = without_keyring(&env);
    let mut command = env.unconfigured(["auth", "login", "--base-url", &url]);
    let run = with_stdin(command.env("PATH", &path), "svc_open_demo\n")
        .assert_exit(0)
        .assert_stderr("the key is valid")
        .assert_stderr("the keyring was not used");
    assert!(!run.err.contains("svc_open_demo") && run.out.is_empty());

    let file = env.path("config/credentials.toml");
    assert!(fs::read_to_string(&file).unwrap().contains("svc_open_demo"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    env.run_unconfigured("job list").assert_exit(0);
    let status = env.run_unconfigured("auth status").assert_exit(0);
    assert!(!status.out.contains("svc_open_demo") && status.out.contains("credentials.toml"));

    // A stored key is not sent to another host.
    let other = TestEnv::new();
    let run =
        env.run_unconfigured(["job", "list", "--base-url", other.mock.base_url()]).assert_exit(3);
    run.assert_stderr("is not sent to");
    assert!(other.mock.requests(0).is_empty());

    env.run_unconfigured("auth logout").assert_exit(0);
    assert!(!fs::read_to_string(&file).unwrap().contains("svc_open_demo"));
    env.run_unconfigured("auth status").assert_exit(3);
    env.run_unconfigured("job list").assert_exit(3);
}

#[test]
fn login_does_not_store_an_invalid_key() {
    let env = TestEnv::new();
    let url = env.mock.base_url().to_owned();
    login(&env, ["--base-url", &url], "svc_wrong")
        .assert_exit(3)
        .assert_stderr("nothing was stored");
    login(&env, ["--base-url", &url], "").assert_exit(2);
    assert!(!env.path("config").exists());
}

#[test]
fn login_warns_of_variables_that_override_what_it_stores() {
    let env = TestEnv::new();
    let path = without_keyring(&env);
    fs::write(env.path("key"), "svc_open_demo").unwrap();
    let login = |variables: &[(&str, &str)]| {
        let words = "auth login --key-file key --base-url";
        let mut command = env.unconfigured(words);
        command.arg(env.mock.base_url()).env("PATH", &path);
        CommandOutput::of(command.envs(variables.iter().copied())).assert_exit(0)
    };
    assert!(!login(&[]).err.contains("overrides"));
    let run = login(&[("SVC_OPEN_API_KEY", "svc_open_other")]);
    run.assert_stderr("SVC_OPEN_API_KEY overrides the stored key");
    let run = login(&[("SVC_BASE_URL", "http://127.0.0.1:9")]);
    run.assert_stderr("SVC_BASE_URL overrides the stored URL");
    let run = login(&[("SVC_DEVELOPER_API_KEY", "svc_dev_other")]);
    assert!(!run.err.contains("overrides"), "{}", run.err);
}

#[test]
fn a_rejected_key_is_named_in_redacted_form_with_its_origin() {
    let env = TestEnv::new();
    let path = without_keyring(&env);
    let run = CommandOutput::of(
        env.open_surface("job list").env("SVC_OPEN_API_KEY", "svc_open_0123456789abcdef"),
    )
    .assert_exit(3)
    .assert_stderr("svc_open_…cdef from environment SVC_OPEN_API_KEY")
    .assert_stderr("correct or unset SVC_OPEN_API_KEY");
    assert!(!run.err.contains("0123456789"), "{}", run.err);

    let service = FakeServer::answering("200 OK", r#"{"data":[]}"#);
    let words = ["auth", "login", "--base-url", &service.url];
    let mut command = env.unconfigured(words);
    with_stdin(command.env("PATH", path), "svc_open_stored").assert_exit(0);
    service
        .answer("401 Unauthorized", r#"{"error":{"code":"unauthorized","message":"unknown key"}}"#);
    let words = "job list -o json";
    let error = env.run_unconfigured(words).assert_exit(3).error();
    let used = &error["api_keys"][0];
    assert_eq!(used["redacted"], "svc_open_…");
    let origin = used["origin"].as_str().unwrap();
    assert!(
        origin.starts_with("profile default (file ") && origin.contains("credentials.toml"),
        "{origin}"
    );
}

#[test]
fn hints_for_a_rejected_key_name_its_surface_and_its_profile() {
    let env = TestEnv::new();
    let url = env.mock.developer_base_url();
    let words = ["--surface", "developer", "--developer-base-url", url];
    let words = [&words[..], &["--profile", "work"]].concat();
    login(&env, words, "svc_wrong").assert_exit(3).assert_stderr(&format!(
        "next: store a valid API key of the developer surface: \
         svc auth login --surface developer --profile work --developer-base-url {url}\n"
    ));

    let mut command = env.developer_surface("me");
    command.env("SVC_DEVELOPER_API_KEY", "svc_wrong");
    let run = CommandOutput::of(&mut command).assert_exit(3);
    assert!(!run.err.contains("auth login"), "{}", run.err);
    run.assert_stderr("next: correct or unset SVC_DEVELOPER_API_KEY");

    // The surfaces are mistaken for each other.
    command.env("SVC_DEVELOPER_API_KEY", "svc_open_demo").env("SVC_OPEN_API_KEY", "svc_open_demo");
    CommandOutput::of(&mut command)
        .assert_exit(3)
        .assert_stderr("the same key is configured for the open surface");
    command
        .env("SVC_DEVELOPER_API_KEY", "svc_dev_demo")
        .env("SVC_DEVELOPER_BASE_URL", env.mock.base_url())
        .env("SVC_BASE_URL", env.mock.base_url());
    let run = CommandOutput::of(&mut command).assert_exit(3);
    run.assert_stderr("is configured for both surfaces");

    fs::create_dir_all(env.path("config")).unwrap();
    fs::write(env.path("config/config.toml"), "[profiles.empty]\n").unwrap();
    env.run_unconfigured("job list --profile empty")
        .assert_exit(2)
        .assert_stderr("next: set it up together with an API key: svc init --profile empty\n");
}

#[test]
fn login_verifies_a_developer_key_at_the_developer_host() {
    let env = TestEnv::new();
    let service = FakeServer::answering("200 OK", r#"{"data":{"key":{"id":"key_1"}}}"#);
    let key = env.path("key");
    fs::write(&key, "svc_dev_demo\n").unwrap();
    let words = "auth login --surface developer --profile work --key-file key --base-url";
    let path = without_keyring(&env);
    CommandOutput::of(env.unconfigured(words).arg(&service.url).env("PATH", path)).assert_exit(0);
    assert!(service.heads.lock().unwrap()[0].starts_with("GET /v1/me HTTP/1.1"));
    let run = env.run_unconfigured("config get developer_base_url --profile work");
    assert_eq!(run.assert_exit(0).out.trim_end(), service.url);
    env.run_unconfigured("auth status --profile work").assert_exit(0);

    let url = env.mock.developer_base_url();
    login(&env, ["--surface", "developer", "--base-url", url], "svc_open_demo").assert_exit(3);
}

#[cfg(target_os = "linux")]
#[test]
fn login_uses_a_working_keyring_and_falls_back_to_a_file() {
    use std::os::unix::fs::PermissionsExt;

    let env = TestEnv::new();
    let url = env.mock.base_url().to_owned();
    let tool = |script: &str| {
        let folder = env.path("tools");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("secret-tool");
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        format!("{}:/usr/bin:/bin", folder.display())
    };
    let login_with = |path: &str| {
        let mut command = env.unconfigured(["auth", "login", "--base-url", &url]);
        with_stdin(command.env("PATH", path), "svc_open_demo")
    };
    let ring = env.path("ring").display().to_string();
    let good = tool(&format!(
        "echo \"$@\" >> {ring}.words\ncase $1 in store) cat > {ring};; lookup) cat {ring};; clear) rm {ring};; esac"
    ));
    login_with(&good).assert_exit(0).assert_stderr("in the keyring");
    assert!(
        !fs::read_to_string(env.path("config/credentials.toml")).unwrap().contains("svc_open_demo")
    );
    assert!(
        !fs::read_to_string(format!("{ring}.words")).unwrap().contains("svc_open_demo"),
        "never an argument"
    );
    CommandOutput::of(env.unconfigured("job list").env("PATH", &good)).assert_exit(0);
    CommandOutput::of(env.unconfigured("auth logout").env("PATH", &good)).assert_exit(0);
    assert!(!env.path("ring").exists());

    for (script, why) in [
        ("case $1 in store) cat > /dev/null;; lookup) echo other;; esac", "a different key"),
        ("exit 1", "failed"),
        ("sleep 30", "3 seconds"),
    ] {
        login_with(&tool(script))
            .assert_exit(0)
            .assert_stderr(why)
            .assert_stderr("credentials.toml");
    }
}

#[test]
fn config_show_prints_the_origin_of_each_value() {
    let env = TestEnv::new();
    env.run_unconfigured("config set base_url https://profile.example").assert_exit(0);
    env.run_unconfigured("config set first_party_owner studio").assert_exit(0);
    let shown = CommandOutput::of(
        env.unconfigured("config show --origin").env("SVC_BASE_URL", "https://variable.example"),
    );
    let shown = shown.assert_exit(0).json();
    let row = |name: &str| {
        shown.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
    };
    assert_eq!(row("base_url")["origin"], "environment SVC_BASE_URL");
    assert_eq!(row("first_party_owner")["origin"], "profile default");
    assert!(row("mcp_url")["value"].is_null());
    assert_eq!(row("config_file")["origin"], "environment SVC_CONFIG");

    let run = env.run_unconfigured("config get base_url").assert_exit(0);
    assert_eq!(run.out, "https://profile.example\n");
    env.run_unconfigured("config unset base_url").assert_exit(0);
    env.run_unconfigured("config get base_url").assert_exit(2);
    for url in
        ["no url", "ftp://files.example", "http://plain.example", "https://me:canary@a.example"]
    {
        let run = env.run_unconfigured(["config", "set", "base_url", url]).assert_exit(2);
        assert!(!run.err.contains("canary"), "{}", run.err);
    }
    env.run_unconfigured("config get base_url").assert_exit(2);
    env.run_unconfigured("config set colour red").assert_exit(2);
    let run = env.run_unconfigured("config path").assert_exit(0);
    assert_eq!(run.out.trim_end(), env.path("config/config.toml").display().to_string());
}

#[test]
fn a_top_up_is_created_and_waited_for() {
    let env = TestEnv::new();
    let run = env.run("top-up create --amount-usd-cents 2000 --idempotency-key t-1").assert_exit(0);
    let top_up = run.json();
    assert!(top_up["checkout_url"].as_str().unwrap().starts_with("http"));
    let id = top_up["id"].as_str().unwrap();
    run.assert_stderr(&format!("svc top-up wait {id}"));
    let again =
        env.run("top-up create --amount-usd-cents 2000 --idempotency-key t-1").assert_exit(0);
    assert_eq!(again.json()["id"], id);
    let run = env
        .run(["top-up", "wait", id, "--timeout", "1"])
        .assert_exit(9)
        .assert_stderr(&format!("svc top-up wait {id}"));
    assert!(!run.err.contains("job"), "{}", run.err);
    env.mock.pay_top_up(id).unwrap();
    assert_eq!(env.run(["top-up", "wait", id]).assert_exit(0).json()["status"], "paid");
    assert_eq!(env.run(["top-up", "get", id]).assert_exit(0).json()["status"], "paid");
    for (status, code) in [("failed", 7), ("expired", 8)] {
        let run = env.run("top-up create --amount-usd-cents 500").assert_exit(0);
        let id = run.json()["id"].as_str().unwrap().to_owned();
        env.mock.settle_top_up(&id, status.into()).unwrap();
        env.run(["top-up", "wait", &id]).assert_exit(code);
    }
    env.run("top-up create --amount-usd-cents 1 -o json")
        .assert_exit(1)
        .assert_stderr("invalid_amount");
    env.run("top-up create --amount-usd-cents 1.5").assert_exit(2);
}
