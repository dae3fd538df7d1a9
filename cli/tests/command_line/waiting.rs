//! Waiting for jobs and reading them.

use std::collections::BTreeSet;
use std::net::TcpListener;

use crate::test_env::{CommandOutput, TestEnv, interrupt, start, wait_until};

#[test]
fn several_jobs_are_waited_for_and_printed_in_the_given_order() {
    let env = TestEnv::new();
    let ids = ["[mock:seconds=0.5]", "[mock:seconds=0.2]", "[mock:seconds=0.1]"]
        .map(|prompt| env.submit_image(prompt));
    let run = CommandOutput::of(env.open_surface("job wait").args(&ids)).assert_exit(0);
    let finished = run.json();
    let got: Vec<_> =
        finished.as_array().unwrap().iter().map(|job| job["job_id"].as_str().unwrap()).collect();
    assert_eq!(got, ids);
}

#[test]
fn the_most_important_failure_decides_the_exit_code() {
    let env = TestEnv::new();
    let ids = ["[mock:seconds=0.1]", "[mock:seconds=0.1][mock:fail]", "[mock:stuck]"]
        .map(|prompt| env.submit_image(prompt));
    let run = CommandOutput::of(env.open_surface("job wait --timeout 1").args(&ids)).assert_exit(7);
    assert_eq!(run.json().as_array().unwrap().len(), 2);
    assert_eq!(run.json()[1]["status"], "failed");
    assert!(
        run.err.contains(&ids[1]) && run.err.contains(&format!("svc job wait {}", ids[2])),
        "{}",
        run.err
    );
    let run = CommandOutput::of(
        env.open_surface("job wait --timeout 1 -o json").args([&ids[2], &ids[1], "job_none"]),
    )
    .assert_exit(7);
    let error = run.only_error();
    assert_eq!(error["message"], "3 of 3 jobs did not complete");
    assert_eq!(error["resume"], format!("svc job wait {} --surface open", ids[2]));
    let parts = error["details"]["errors"].as_array().unwrap();
    let codes: Vec<_> = parts.iter().map(|part| &part["exit_code"]).collect();
    assert_eq!(codes, [9, 7, 4]);
    assert_eq!(parts[1]["job_id"], ids[1]);
    assert!(parts.iter().all(|part| part["resume"].is_null()));
    let run = env.run("job wait job_none job_nowhere -o json").assert_exit(4);
    assert_eq!(run.only_error()["code"], "job_not_found");
}

#[test]
fn watch_prints_a_line_for_each_change_of_status() {
    let env = TestEnv::new();
    let ids = ["[mock:seconds=0.5]", "[mock:seconds=0.2][mock:fail]"]
        .map(|prompt| env.submit_image(prompt));
    let run = CommandOutput::of(env.open_surface("job watch").args(&ids)).assert_exit(7);
    for (id, last) in ids.iter().zip(["completed", "failed"]) {
        let lines = run.out.lines().map(|line| serde_json::from_str(line).unwrap());
        let statuses: Vec<(String, bool)> = lines
            .filter(|line: &serde_json::Value| line["job_id"] == id.as_str())
            .map(|line| {
                assert!(line["at"].is_string(), "{line}");
                let status = line["status"].as_str().unwrap().to_owned();
                (status, line["terminal"].as_bool().unwrap())
            })
            .collect();
        let (end, earlier) = statuses.split_last().unwrap();
        assert_eq!(*end, (last.to_owned(), true));
        assert!(earlier.iter().all(|(_, is_terminal)| !is_terminal), "{statuses:?}");
    }
    assert!(run.err.contains(&ids[1]), "{}", run.err);

    let canceled = env.submit_image("[mock:seconds=9000]");
    env.run(["job", "cancel", &canceled]).assert_exit(0);
    let words = ["job", "watch", &canceled, &ids[1], "-o", "json"];
    let error = env.run(words).assert_exit(7).only_error();
    assert_eq!(error["message"], "2 of 2 jobs did not complete");
}

#[test]
fn watch_ends_by_its_time_limit_and_says_how_to_continue() {
    let env = TestEnv::new();
    let id = env.submit_image("[mock:stuck]");
    let run = env.run(["job", "watch", "--timeout", "1", &id]).assert_exit(9);
    assert!(run.err.contains(&format!("svc job watch {id}")), "{}", run.err);
    // The limit includes the first read.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    env.run_at(url, ["job", "watch", "--timeout", "1", &id]).assert_exit(9);
    // Without a terminal, a watch without ids would never end.
    env.run("job watch").assert_exit(2);
}

#[test]
fn a_job_is_read_by_all_job_commands() {
    let env = TestEnv::new();
    let id = env.submit_image("[mock:seconds=0.1]");
    env.run(["job", "wait", &id]).assert_exit(0);
    assert_eq!(env.run(["job", "get", &id]).assert_exit(0).json()["status"], "completed");
    assert_eq!(env.run(["job", "status", &id]).assert_exit(0).json()["terminal"], true);
    assert!(
        env.run(["job", "result", &id]).assert_exit(0).json()["artifacts"][0]["url"].is_string()
    );
    let list = env.run("job list --status completed --type image_generation").assert_exit(0).json();
    assert_eq!(list[0]["id"], id.as_str());
    assert_eq!(env.run("job list --status failed").assert_exit(0).json(), serde_json::json!([]));
    env.run(["job", "cancel", &id]).assert_exit(1).assert_stderr("job_generation_already_started");
    let stuck = env.submit_image("[mock:seconds=9000]");
    assert_eq!(env.run(["job", "cancel", &stuck]).assert_exit(0).json()["status"], "canceled");
}

#[test]
fn both_surfaces_show_the_same_jobs() {
    let env = TestEnv::new();
    let id = env.submit_image("[mock:seconds=0.1]");
    let developer = |words: &[&str]| {
        CommandOutput::of(
            env.unconfigured("job")
                .args(words)
                .env("SVC_DEVELOPER_BASE_URL", env.mock.developer_base_url())
                .env("SVC_DEVELOPER_API_KEY", svc_mock_server::DEVELOPER_API_KEY),
        )
    };
    // Only the developer surface is configured, so it is the default.
    assert_eq!(developer(&["wait", &id]).assert_exit(0).json()["job_id"], id.as_str());
    developer(&["get", &id, "--surface", "open"]).assert_exit(2);
    let run = developer(&["wait", "job_none"]).assert_exit(4);
    assert!(!run.err.contains("resume with"), "there is nothing to resume: {}", run.err);
}

#[test]
fn quiet_prints_only_data_and_errors() {
    let env = TestEnv::new();
    let run = env.generate_image("[mock:seconds=0.1]", &["--quiet"]).assert_exit(0);
    assert_eq!(run.err, "");
    env.generate_image("[mock:seconds=0.1][mock:fail]", &["--quiet"])
        .assert_exit(7)
        .assert_stderr("error:");
}

#[test]
fn several_waits_that_time_out_print_one_command_that_resumes_all() {
    let env = TestEnv::new();
    let jobs = ["[mock:stuck]", "[mock:stuck] again"].map(|prompt| env.submit_image(prompt));
    let ids = format!("{} {} --surface open", jobs[0], jobs[1]);
    for verb in ["wait", "watch"] {
        let mut command = env.open_surface(["job", verb]);
        command.args(&jobs).args(["--timeout", "1", "-o", "json"]);
        let run = CommandOutput::of(&mut command).assert_exit(9);
        assert_eq!(run.err.matches("\"resume\"").count(), 1, "{}", run.err);
        let error = run.error();
        assert_eq!(error["resume"], format!("svc job {verb} {ids}"));
        assert_eq!(error["message"], "timed out; 2 jobs have not ended");
        assert_eq!(error["code"], "timed_out");
    }
}

#[test]
fn several_interrupted_waits_print_one_command_that_resumes_all() {
    let env = TestEnv::new();
    let jobs = ["[mock:stuck]", "[mock:stuck] again"].map(|prompt| env.submit_image(prompt));
    let mut command = env.open_surface("job wait");
    let child = start(command.args(&jobs).args(["-o", "json"]));
    wait_until("both jobs are polled", || {
        let requests = env.requests("jobs_status");
        let paths = requests.iter().map(|it| it["path"].to_string());
        paths.collect::<BTreeSet<_>>().len() == 2
    });
    interrupt(&child);
    let run = child.end().assert_exit(130);
    assert_eq!(run.err.matches("\"resume\"").count(), 1, "{}", run.err);
    let error = run.error();
    let resume = format!("svc job wait {} {} --surface open", jobs[0], jobs[1]);
    assert_eq!(error["resume"], resume);
    assert_eq!(error["message"], "interrupted; 2 jobs keep running");

    let mut command = env.open_surface("job wait --cancel-on-interrupt -o json");
    let requests = env.requests("jobs_status").len();
    let child = start(command.args(&jobs));
    wait_until("both jobs are polled", || {
        let requests = env.requests("jobs_status").split_off(requests);
        let paths = requests.iter().map(|it| it["path"].to_string());
        paths.collect::<BTreeSet<_>>().len() == 2
    });
    interrupt(&child);
    let error = child.end().assert_exit(130).only_error();
    assert_eq!(error["message"], "2 of 2 jobs did not complete");
    assert_eq!(error["details"]["errors"][1]["job_id"], jobs[1]);
}

#[test]
fn each_long_pause_between_failed_polls_is_a_line() {
    let env = TestEnv::new();
    let id = env.submit_image("[mock:seconds=9000]");
    let busy = serde_json::json!({"operation": "jobs_status", "kind": "status_503", "times": 2, "retry_after_seconds": 2});
    env.mock.add_fault(serde_json::from_value(busy).unwrap()).unwrap();
    let run = env.run(["job", "wait", &id, "--timeout", "5"]).assert_exit(9);
    let line = format!("{id}: service busy (503 database_busy), retrying in ");
    assert_eq!(run.err.matches(&line).count(), 2, "{}", run.err);
}
