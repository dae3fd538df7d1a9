//! `svc init`: the first run.

use std::fs;
use std::process::Command;

use crate::accounts::{with_stdin, without_keyring};
use crate::test_env::{CommandOutput, FakeServer, TestEnv, Words};

fn init(env: &TestEnv, words: impl Words) -> Command {
    let mut command = env.unconfigured("init");
    command.args(words.words()).env("PATH", without_keyring(env));
    command
}

#[test]
fn a_mocks_environment_is_verified_and_stored() {
    let env = TestEnv::new();
    let mut command = init(&env, []);
    command.envs(env.mock.environment());
    let run = CommandOutput::of(&mut command).assert_exit(0);
    let report = run.json();
    assert_eq!(report["profile"], "default");
    let names: Vec<_> = report["endpoints"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 3, "{report}");
    assert_eq!((&names[0]["name"], &names[0]["status"]), (&"open".into(), &"ok".into()));
    #[cfg(feature = "mcp")]
    assert_eq!(names[2]["message"], "12 tools");
    assert!(run.err.contains("next: svc video generate"), "{}", run.err);
    assert!(!run.err.contains("svc_open_demo") && !run.out.contains("svc_open_demo"));

    // What was stored is enough for other commands, and for another run of the same.
    for words in [["job", "list"], ["me", "--quiet"], ["init", "--quiet"]] {
        env.run_unconfigured(words).assert_exit(0);
    }
    let run = env.run_unconfigured("doctor").assert_exit(0);
    assert!(run.out.contains("profile default (file "), "{}", run.out);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        let file = fs::metadata(env.path("config/credentials.toml")).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn flags_files_and_stdin_give_urls_and_keys() {
    let env = TestEnv::new();
    let (open, developer) = (env.mock.base_url(), env.mock.developer_base_url());
    fs::write(env.path("key"), "svc_dev_demo\n").unwrap();
    let words = format!(
        "--profile work --base-url '{open}' --open-key-file - --developer-base-url \
        '{developer}' --developer-key-file key"
    );
    let run = with_stdin(&mut init(&env, words), "svc_open_demo\n").assert_exit(0);
    run.assert_stderr("--profile work");
    env.run_unconfigured("job list --profile work").assert_exit(0);
    env.run_unconfigured("me --profile work").assert_exit(0);

    // The only missing key is read from standard input.
    let words = ["--base-url", open];
    with_stdin(&mut init(&env, words), "svc_open_demo").assert_exit(0);
    env.run_unconfigured("job list").assert_exit(0);
}

#[test]
fn missing_input_is_named() {
    let env = TestEnv::new();
    let (open, developer) = (env.mock.base_url(), env.mock.developer_base_url());
    let run = CommandOutput::of(&mut init(&env, [])).assert_exit(2);
    for name in ["--base-url", "--open-key-file", "SVC_OPEN_API_KEY", "--developer-key-file"] {
        assert!(run.err.contains(name), "{name}: {}", run.err);
    }
    CommandOutput::of(&mut init(&env, ["--base-url", open]))
        .assert_exit(2)
        .assert_stderr("--open-key-file");
    let both = ["--base-url", open, "--developer-base-url", developer];
    with_stdin(&mut init(&env, both), "svc_open_demo")
        .assert_exit(2)
        .assert_stderr("SVC_OPEN_API_KEY");
    CommandOutput::of(&mut init(&env, "--open-key-file key"))
        .assert_exit(2)
        .assert_stderr("--base-url URL");
    let twice = ["--open-key-file", "-", "--developer-key-file", "-"];
    CommandOutput::of(&mut init(&env, twice)).assert_exit(2);
    assert!(!env.path("config").exists());
}

#[test]
fn nothing_is_stored_if_a_key_does_not_work() {
    let env = TestEnv::new();
    let mut command = init(&env, []);
    command.envs(env.mock.environment()).env("SVC_DEVELOPER_API_KEY", "svc_dev_wrong");
    CommandOutput::of(&mut command)
        .assert_exit(3)
        .assert_stderr("the key of the developer surface; nothing was stored")
        .assert_stderr("svc_dev_… from environment SVC_DEVELOPER_API_KEY");
    command.env("SVC_DEVELOPER_API_KEY", "svc_dev_demo").env("SVC_BASE_URL", "http://127.0.0.1:9");
    command.args(["--retries", "0"]);
    CommandOutput::of(&mut command).assert_exit(10);
    assert!(!env.path("config").exists());
}

#[test]
fn an_answer_that_is_not_the_services_does_not_verify_a_key() {
    let env = TestEnv::new();
    let page = FakeServer::answering("200 OK", "");
    for body in ["<html>captive portal</html>", "{}", "null", "\"\"", "[]"] {
        page.answer("200 OK", body);
        let words = ["--developer-base-url", &page.url];
        let run = with_stdin(&mut init(&env, words), "svc_dev_x").assert_exit(1);
        run.assert_stderr("the key of the developer surface; nothing was stored");
        let mut doctor = env.developer_surface("doctor -o json");
        let run = CommandOutput::of(doctor.env("SVC_DEVELOPER_BASE_URL", &page.url));
        let report = run.assert_exit(1).json();
        let status = |name| {
            let mut checks = report.as_array().unwrap().iter();
            checks.find(|it| it["check"] == name).unwrap()["status"].clone()
        };
        assert_eq!(status("developer_surface"), "failed", "{body}: {report}");
        assert_eq!(status("developer_key"), "skipped", "{body}: {report}");
    }
    assert!(!env.path("config").exists());
}

#[cfg(unix)]
mod terminal {
    use crate::pty::{Terminal, svc};
    use crate::terminal::dialogue;
    use crate::test_env::TestEnv;

    #[test]
    fn signals_at_a_prompt_leave_a_clean_terminal() {
        let env = TestEnv::new();
        let mut command = svc(&env, "init");
        command.envs(env.mock.environment());
        let mut terminal = Terminal::start(command, 80);
        terminal.wait_for("[Y/n]");
        terminal.type_text("\x03");
        terminal.end().assert_exit(130);
        assert!(terminal.is_restored());

        let login = "auth login --base-url http://127.0.0.1:9";
        let mut terminal = Terminal::start(svc(&env, login), 80);
        terminal.wait_for_hidden_input();
        terminal.terminate();
        terminal.end().assert_exit(143);
        assert!(terminal.is_restored());
    }

    #[test]
    fn the_dialogue_asks_for_urls_and_keys_and_each_can_be_skipped() {
        let env = TestEnv::new();
        let url = env.mock.base_url();
        let answers = [
            ("URL of the open surface", format!("{url}\n")),
            ("API key of the open surface", "svc_open_wrong\n".to_owned()),
            ("URL of the open surface", format!("{url}\n")),
            ("API key of the open surface", "svc_open_demo\n".to_owned()),
            ("URL of the developer surface", "http://127.0.0.1:9\n".to_owned()),
            ("API key of the developer surface", "\n".to_owned()),
            ("URL of the MCP endpoint", "\n".to_owned()),
        ];
        let run = dialogue(&env, "init --color never", &answers, &[]).assert_exit(0);
        assert!(run.out.contains("could not verify the key"), "{}", run.out);
        assert!(run.out.contains("works on the open surface"), "{}", run.out);
        assert!(run.out.contains("One is enough"), "{}", run.out);
        let skipped = "skipped: http://127.0.0.1:9 is not stored without a key";
        assert!(run.out.contains(skipped), "{}", run.out);
        assert_eq!(run.out.matches("[hidden]").count(), 2, "{}", run.out);
        assert!(run.out.contains("next: svc video generate"), "{}", run.out);
        assert!(!run.out.contains("svc_open_demo") && !run.out.contains("svc_open_wrong"));
        env.run_unconfigured("job list").assert_exit(0);
        let skipped = env.run_unconfigured("me");
        skipped.assert_exit(2);
    }

    #[test]
    fn the_environment_of_a_mock_is_offered() {
        let env = TestEnv::new();
        let answers = [("Use its URLs and keys?", "y\n".to_owned())];
        let variables = env.mock.environment();
        let run = dialogue(&env, "init", &answers, &variables).assert_exit(0);
        assert!(run.out.contains("developer"), "{}", run.out);
        env.run_unconfigured("me").assert_exit(0);
    }
}
