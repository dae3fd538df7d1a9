//! API keys, configuration and top-ups.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::test_env::{CommandOutput, TestEnv, start};

/// Runs a command with a text on standard input.
pub(crate) fn with_stdin(command: &mut Command, text: &str) -> CommandOutput {
    let mut child = start(command.stdin(Stdio::piped()));
    let mut stdin = child.0.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    child.end()
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
