//! Downloads.

use std::fs;

use crate::test_env::{FakeServer, TestEnv, start, wait_until};

#[test]
fn the_files_of_a_job_are_downloaded() {
    let env = TestEnv::new();
    let words =
        "image generate --model image-i --prompt [mock:seconds=0.1] --num-images 3 --download out";
    let run = env.run(words).assert_exit(0);
    let files = run.json()["files"].as_array().unwrap().clone();
    assert_eq!(files.len(), 3);
    for file in &files {
        let path = env.path(file["path"].as_str().unwrap());
        assert_eq!(fs::metadata(&path).unwrap().len(), file["bytes"].as_u64().unwrap());
        assert!(fs::read(&path).unwrap().starts_with(b"\x89PNG"));
    }
    assert_eq!(fs::read_dir(env.path("out")).unwrap().count(), 3);
}

#[test]
fn a_finished_job_is_downloaded_later_to_any_folder() {
    let env = TestEnv::new();
    let id = env.submit_image("[mock:seconds=0.1]");
    env.run(["job", "download", &id, "--dir", "deep/er"]).assert_exit(0);
    assert_eq!(fs::read_dir(env.path("deep/er")).unwrap().count(), 1);
    env.run(["job", "download", &id]).assert_exit(0);
}

#[test]
fn an_interrupted_download_is_retried() {
    let env = TestEnv::new();
    env.add_fault("artifact", "truncate", 2);
    env.generate_image("[mock:seconds=0.1]", &["--download", "out"]).assert_exit(0);
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn nothing_is_sent_if_the_folder_is_not_writable() {
    let env = TestEnv::new();
    fs::write(env.path("out"), "a file in the way").unwrap();
    for folder in ["out", "out/deeper", "/proc/nowhere"] {
        let words = format!("video generate --prompt 'a fox' --download '{folder}'");
        env.run(words).assert_exit(1).assert_stderr(folder).assert_stderr("not submitted");
    }
    env.run("job download job_1 --dir out").assert_exit(1).assert_stderr("out");
    assert!(env.mock.requests(0).is_empty());
}

#[test]
fn a_failed_download_can_be_resumed() {
    let env = TestEnv::new();
    let words = "video generate --prompt [mock:seconds=2] --download out -o json";
    let child = start(&mut env.open_surface(words));
    wait_until("the job is submitted", || env.job_count() == 1);
    fs::write(env.path("out"), "a file in the way").unwrap();
    let run = child.end().assert_exit(1);
    let id = env.mock.jobs()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(run.error()["resume"], format!("svc job download {id} --dir out --surface open"));
    assert_eq!(run.error()["job_id"], id.as_str());
    fs::remove_file(env.path("out")).unwrap();
    // The same command resumes the paid job.
    let run = env.run(words).assert_exit(0);
    assert_eq!(run.json()["files"].as_array().unwrap().len(), 1);
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn a_failed_job_has_no_files() {
    let env = TestEnv::new();
    let id = env.submit_image("[mock:seconds=0.1][mock:fail]");
    env.run(["job", "download", &id, "--dir", "out"]).assert_exit(7);
    assert!(!env.path("out").exists());
}

#[test]
fn a_rejected_download_leaves_no_file_and_does_not_suggest_another_key() {
    let env = TestEnv::new();
    let media = FakeServer::answering("403 Forbidden", "<Error>expired</Error>");
    let result = format!(
        r#"{{"data":{{"job_id":"job_1","status":"completed","terminal":true,"result_ready":true,"artifacts":[{{"id":"art_1","url":"{}/a.png"}}]}}}}"#,
        media.url
    );
    let service = FakeServer::answering("200 OK", &result);
    let words = "job download job_1 --dir out";
    let run = env
        .run_at(&service.url, words)
        .assert_exit(3)
        .assert_stderr("the link may have expired")
        .assert_stderr("svc job download job_1 --dir out");
    assert!(!run.err.contains("auth login"), "{}", run.err);
    assert_eq!(fs::read_dir(env.path("out")).unwrap().count(), 0);
}
