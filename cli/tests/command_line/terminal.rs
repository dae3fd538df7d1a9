//! Control characters on a terminal.

use crate::pty::{Terminal, configured_svc};
use crate::test_env::{CommandOutput, FakeServer, TestEnv};

fn at_a_terminal(env: &TestEnv, words: &str, url: &str) -> CommandOutput {
    let mut command = configured_svc(env, words);
    command.env("SVC_BASE_URL", url);
    Terminal::start(command, 80).end()
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
