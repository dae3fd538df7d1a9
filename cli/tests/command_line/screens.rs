//! Snapshots of what a terminal shows. `INSTA_UPDATE=always cargo test -p svc-cli screens` stores
//! them anew.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use svc_mock_server::Setup;
use svc_mock_server::engine::Time;

use crate::pty::{Terminal, configured_svc, markup, svc};
use crate::test_env::TestEnv;

/// What differs from run to run, and what stands for it. Ids keep their length, so that lines are
/// wrapped as before.
const FILTERS: [(&str, &str); 10] = [
    (r"\b(job|art|req|run|evt)_[0-9a-z]{20}\b", "${1}_00000000000000000000"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"\d+ (ms|trusted certificates)", "1 $1"),
    (r"[⠀-⣿] ", "⠿ "),
    (r"(?m)  \d+s(  |$)", "  0s$1"),
    (
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "00000000-0000-0000-0000-000000000000",
    ),
    // On a terminal of 40 columns.
    (
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{2}\n[0-9a-f]{2}-[0-9a-f]{12}",
        "00000000-0000-0000-00\n00-000000000000",
    ),
    (r",(\s)(next poll in \d+ s|polling)", ",${1}next poll in 1 s"),
    (r"(/[^ ]+)+/svc\.toml|/tmp/\.tmp[^ ]+|/var/folders/[^ ]+", "HOME"),
    (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME"),
];

/// Compares a text with the stored one.
macro_rules! assert_screen {
    ($name:expr, $text:expr) => {
        let mut settings = insta::Settings::clone_current();
        settings.set_omit_expression(true);
        settings.set_prepend_module_to_snapshot(false);
        for (pattern, replacement) in FILTERS {
            settings.add_filter(pattern, replacement);
        }
        let text = $text;
        settings.bind(|| insta::assert_snapshot!($name, text));
    };
}

fn shown(env: &TestEnv, words: &str, columns: u16, code: i32) -> Terminal {
    let mut terminal = Terminal::start(svc(env, words), columns);
    terminal.end().assert_exit(code);
    terminal
}

fn answered(env: &TestEnv, words: &str, columns: u16, code: i32) -> Terminal {
    let mut terminal = Terminal::start(configured_svc(env, words), columns);
    terminal.end().assert_exit(code);
    terminal
}

/// A mock whose time stands still, three hours ago: so ages of jobs do not depend on how long a test
/// takes.
fn still() -> TestEnv {
    let epoch = ago(Duration::from_secs(3 * 3600 + 1200));
    TestEnv::with(Setup::default().clock_manual().epoch(epoch))
}

#[allow(clippy::disallowed_methods, reason = "svc compares with the real time")]
pub(crate) fn ago(time: Duration) -> Time {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Time::from_micros((now - time).as_micros().try_into().unwrap())
}

#[test]
fn the_welcome_and_the_help() {
    let env = still();
    assert_screen!("welcome_80", shown(&env, "", 80, 0).screen());
    assert_screen!("welcome_40", shown(&env, "", 40, 0).screen());
    let help = shown(&env, "--help", 80, 0).screen();
    assert_eq!(help, shown(&env, "--help", 200, 0).screen(), "wider than 80");
    assert_screen!("help_80", help);
    let colored = shown(&env, "--help", 80, 0).styled_lines();
    assert_screen!("help_80_color", markup(&colored));
    let words = "video generate --help";
    assert_screen!("video_generate_help_80", shown(&env, words, 80, 0).screen());
    assert_screen!("video_generate_help_40", shown(&env, words, 40, 0).screen());
}

#[test]
fn a_video_in_the_sandbox() {
    let env = still();
    let words = "--sandbox video generate 'a red fox in snow' --duration 5 --download out --yes";
    let mut terminal = Terminal::start(svc(&env, words), 80);
    terminal.wait_for("processing");
    terminal.end().assert_exit(0);
    assert_screen!("sandbox_video_80", terminal.screen());
    assert_screen!("sandbox_video_80_color", markup(&terminal.styled_lines()));
}

#[test]
fn a_wait_for_a_job() {
    let env = still();
    let words = "image generate 'a red fox in snow' --model image-i --yes";
    for columns in [40, 80, 200] {
        let mut terminal = Terminal::start(configured_svc(&env, words), columns);
        terminal.wait_for("queued");
        assert_screen!(format!("wait_queued_{columns}"), terminal.screen());
        env.mock.advance(Duration::from_secs(600)).unwrap();
        terminal.end().assert_exit(0);
        assert_screen!(format!("wait_completed_{columns}"), terminal.screen());
        let lines = markup(&terminal.styled_lines());
        assert_screen!(format!("wait_completed_{columns}_color"), lines);
    }
}

#[test]
fn an_interrupted_wait() {
    let env = still();
    let words = "image generate 'a red fox in snow' --model image-i --yes";
    for columns in [40, 80, 200] {
        let mut terminal =
            Terminal::start(configured_svc(&env, &format!("{words} --new")), columns);
        terminal.wait_for("queued");
        terminal.type_text("\x03");
        terminal.end().assert_exit(130);
        assert!(terminal.is_restored());
        assert_screen!(format!("wait_interrupted_{columns}"), terminal.screen());
    }
}

#[test]
fn a_table() {
    let env = still();
    for columns in [40, 80, 200] {
        let words = "model list --type video --limit 8";
        let plain = answered(&env, &format!("{words} --color never"), columns, 0);
        assert_screen!(format!("model_list_{columns}"), plain.screen());
        let colored = answered(&env, words, columns, 0);
        assert_eq!(plain.screen(), colored.screen());
    }
}

#[test]
fn the_status_of_jobs_in_color() {
    let env = still();
    for prompt in ["[mock:fail]", "a red fox", "[mock:stuck]"] {
        env.submit_image(prompt);
    }
    env.mock.advance(Duration::from_secs(600)).unwrap();
    let id = env.submit_image("a blue fox");
    env.run(format!("job cancel {id}")).assert_exit(0);
    for columns in [40, 80, 200] {
        let terminal = answered(&env, "job list", columns, 0);
        assert_screen!(format!("job_list_{columns}_color"), markup(&terminal.styled_lines()));
    }
    let mut command = configured_svc(&env, "job list");
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(command, 80);
    terminal.end().assert_exit(0);
    assert_eq!(markup(&terminal.styled_lines()), terminal.screen());
}

#[test]
fn errors() {
    let env = still();
    for columns in [40, 80, 200] {
        let unknown = answered(&env, "job get job_unknown", columns, 4);
        let lines = markup(&unknown.styled_lines());
        assert_screen!(format!("error_not_found_{columns}_color"), lines);
        let unconfigured = shown(&env, "balance", columns, 2);
        assert_screen!(format!("error_unconfigured_{columns}"), unconfigured.screen());
    }
    let usage = shown(&env, "vidoe generate", 80, 2);
    assert_screen!("error_usage_80_color", markup(&usage.styled_lines()));
    let env = TestEnv::new();
    let failed = answered(
        &env,
        "image generate '[mock:seconds=0.1][mock:fail]' --model image-i --yes",
        80,
        7,
    );
    assert_screen!("error_failed_job_80", failed.screen());
}

#[test]
fn a_pause_before_a_retry() {
    let env = still();
    let busy = serde_json::json!({"operation": "jobs_list", "kind": "status_503", "times": 1, "retry_after_seconds": 2});
    for columns in [40, 80, 200] {
        let busy = serde_json::from_value(busy.clone()).unwrap();
        env.mock.add_fault(busy).unwrap();
        let mut terminal = Terminal::start(configured_svc(&env, "job list"), columns);
        terminal.wait_for("service busy");
        assert_screen!(format!("retry_pause_{columns}"), terminal.screen());
        terminal.end().assert_exit(0);
        assert_screen!(format!("retry_done_{columns}"), terminal.screen());
        let lines = markup(&terminal.styled_lines());
        assert_screen!(format!("retry_done_{columns}_color"), lines);
    }
}

fn manifest(env: &TestEnv) {
    let prompts = ["a red fox", "a blue fox", "[mock:fail]", "a green fox"];
    let lines = prompts.map(|prompt| {
        let body = serde_json::json!({"model": "image-i", "prompt": prompt});
        format!("{}\n", serde_json::json!({"operation": "image_generate", "body": body}))
    });
    std::fs::write(env.path("foxes.jsonl"), lines.concat()).unwrap();
}

#[test]
fn a_batch() {
    let env = still();
    manifest(&env);
    for columns in [40, 80] {
        let words =
            format!("batch run foxes.jsonl --yes --concurrency 4 --journal {columns}.journal");
        let mut terminal = Terminal::start(configured_svc(&env, &words), columns);
        terminal.wait_for("4 in flight");
        assert_screen!(format!("batch_running_{columns}"), terminal.screen());
        terminal.type_text("\x03");
        terminal.end().assert_exit(130);
        assert_screen!(format!("batch_interrupted_{columns}"), terminal.screen());
    }
    // One item at a time, so that they end in their order.
    let env = TestEnv::new();
    manifest(&env);
    for columns in [40, 80, 200] {
        let words =
            format!("batch run foxes.jsonl --yes --concurrency 1 --journal {columns}.journal");
        let ended = answered(&env, &words, columns, 7);
        assert_screen!(format!("batch_ended_{columns}_color"), markup(&ended.styled_lines()));
    }
    let status = answered(&env, "batch status foxes.jsonl --journal 80.journal", 80, 0);
    assert_screen!("batch_status_80_color", markup(&status.styled_lines()));
}

/// Starts `svc job watch` with three jobs: one completed, one failed, one in progress.
fn watch(env: &TestEnv, columns: u16) -> Terminal {
    let terminal = Terminal::with_size(configured_svc(env, "job watch"), 16, columns);
    // A frame arrives in parts, the lower rows and the right columns last.
    let ages = if columns < 72 { 0 } else { 3 };
    terminal.wait_until_screen("three jobs", |screen| {
        let statuses = ["completed", "failed", "processing"];
        statuses.iter().all(|status| screen.contains(status))
            && screen.matches("3 h ago").count() == ages
            && screen.contains("q quit")
    });
    terminal
}

fn three_jobs() -> TestEnv {
    let env = still();
    for prompt in ["a red fox", "[mock:fail]", "[mock:stuck]"] {
        env.submit_image(prompt);
    }
    env.mock.advance(Duration::from_secs(600)).unwrap();
    env
}

#[test]
fn a_watched_list_follows_the_width() {
    let env = three_jobs();
    let resized = watch(&env, 80);
    assert_screen!("watch_80", resized.screen());
    assert_screen!("watch_80_color", markup(&resized.styled_lines()));
    for columns in [200, 40] {
        let mut opened = watch(&env, columns);
        let expected = opened.screen();
        assert_screen!(format!("watch_{columns}"), &expected);
        resized.resize(16, columns);
        resized.wait_until_screen("the screen of this width", |screen| screen == expected);
        opened.type_text("q");
        opened.end().assert_exit(0);
        assert!(opened.is_restored());
    }
    resized.type_text("\r");
    resized.wait_until_screen("details", |screen| {
        ["price    $0.005", "q quit"].iter().all(|text| screen.contains(text))
    });
    assert_screen!("watch_details_40", resized.screen());
}

#[test]
fn a_log_is_printed_when_the_watched_screen_is_closed() {
    let env = three_jobs();
    let mut terminal = Terminal::with_size(configured_svc(&env, "-v job watch"), 16, 80);
    terminal.wait_for("job_");
    assert!(!terminal.screen().contains("GET /v1/jobs"));
    terminal.type_text("q");
    terminal.end().assert_exit(0);
    assert!(terminal.is_restored());
    let screen = terminal.screen();
    assert!(screen.contains("GET /v1/jobs 200 in "), "{screen}");
    assert!(!screen.contains("q quit"), "{screen}");
}

#[test]
fn a_watched_terminal_is_restored_after_signals() {
    let env = three_jobs();
    let mut terminal = watch(&env, 80);
    terminal.type_text("\x03");
    terminal.end().assert_exit(130);
    assert!(terminal.is_restored());
    assert_screen!("watch_interrupted_80", terminal.screen());
    let mut terminal = watch(&env, 80);
    terminal.terminate();
    terminal.end().assert_exit(143);
    assert!(terminal.is_restored());
    assert_screen!("watch_terminated_80", terminal.screen());
}

// Elsewhere the keyring of the platform would be used.
#[cfg(target_os = "linux")]
#[test]
fn the_first_run() {
    for columns in [80, 200] {
        let env = still();
        let svc = |words: &str| {
            let mut command = svc(&env, words);
            // A path of the same length on every machine.
            command.env("PATH", "/nonexistent").env("SVC_CONFIG", "svc.toml");
            command
        };
        let mut init = Terminal::start(svc("init"), columns);
        init.wait_for("URL of the open surface");
        init.type_text(&format!("{}\n", env.mock.base_url()));
        init.wait_for("API key of the open surface");
        init.wait_for_hidden_input();
        init.type_text("svc_open_demo\n");
        for prompt in ["URL of the developer surface", "URL of the MCP endpoint"] {
            init.wait_for(prompt);
            init.type_text("\n");
        }
        init.end().assert_exit(0);
        assert!(init.is_restored());
        assert_screen!(format!("init_{columns}"), init.screen());
        if columns == 200 {
            let home = env.path("").display().to_string();
            let mut doctor = Terminal::start(svc("doctor"), columns);
            doctor.end().assert_exit(0);
            let lines = markup(&doctor.styled_lines());
            assert_screen!("doctor_200_color", lines.replace(&home, "HOME/"));
        }
    }
}
