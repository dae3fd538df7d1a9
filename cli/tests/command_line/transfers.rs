//! Files: every one of them, whole, and only where they belong.

use std::fs;

use crate::test_env::{CommandOutput, FakeServer, TestEnv, start, wait_until};

#[test]
fn what_was_made_is_stored() {
    let env = TestEnv::new();
    let words = [
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:seconds=0.1]",
        "--num-images",
        "3",
        "--download",
        "out",
    ];
    let run = env.run(words).assert_exit(0);
    let files = run.json()["files"].as_array().unwrap().clone();
    assert_eq!(files.len(), 3);
    for file in &files {
        let path = env.path(file["path"].as_str().unwrap());
        assert_eq!(
            fs::metadata(&path).unwrap().len(),
            file["bytes"].as_u64().unwrap()
        );
        assert!(fs::read(&path).unwrap().starts_with(b"\x89PNG"));
    }
    assert_eq!(fs::read_dir(env.path("out")).unwrap().count(), 3);
}

#[test]
fn a_finished_job_is_stored_later_and_elsewhere() {
    let env = TestEnv::new();
    let run = env
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            "[mock:seconds=0.1]",
            "--no-wait",
        ])
        .assert_exit(0);
    let id = run.json()["job"]["id"].as_str().unwrap().to_owned();
    env.run(["job", "download", &id, "--dir", "deep/er"])
        .assert_exit(0);
    assert_eq!(fs::read_dir(env.path("deep/er")).unwrap().count(), 1);
    env.run(["job", "download", &id]).assert_exit(0);
}

#[test]
fn a_transfer_that_breaks_off_goes_on() {
    let env = TestEnv::new();
    env.add_fault("artifact", "truncate", 2);
    env.run([
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:seconds=0.1]",
        "--download",
        "out",
    ])
    .assert_exit(0);
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn where_nothing_can_be_stored_nothing_is_sent() {
    let env = TestEnv::new();
    fs::write(env.path("out"), "a file in the way").unwrap();
    for folder in ["out", "out/deeper", "/proc/nowhere"] {
        let words = [
            "video",
            "generate",
            "--prompt",
            "a fox",
            "--download",
            folder,
        ];
        env.run(words)
            .assert_exit(1)
            .assert_stderr(folder)
            .assert_stderr("nothing was sent");
    }
    env.run(["job", "download", "job_1", "--dir", "out"])
        .assert_exit(1)
        .assert_stderr("out");
    assert!(env.mock.requests(0).is_empty());
}

#[test]
fn a_disk_that_fails_later_does_not_lose_the_result() {
    let env = TestEnv::new();
    let words = [
        "video",
        "generate",
        "--prompt",
        "[mock:seconds=2]",
        "--download",
        "out",
        "-o",
        "json",
    ];
    let child = start(&mut env.open_surface(words));
    wait_until("it waits", || env.job_count() == 1);
    fs::write(env.path("out"), "a file in the way").unwrap();
    let run = child.end().assert_exit(1);
    let id = env.mock.jobs()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        run.error()["resume"],
        format!("svc job download {id} --dir out --surface open")
    );
    assert_eq!(run.error()["job_id"], id.as_str());
    fs::remove_file(env.path("out")).unwrap();
    // The same command goes on with the job that is paid for.
    let run = env.run(words).assert_exit(0);
    assert_eq!(run.json()["files"].as_array().unwrap().len(), 1);
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn the_files_of_a_job_that_failed_are_not_there() {
    let env = TestEnv::new();
    let run = env
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            "[mock:seconds=0.1][mock:fail]",
            "--no-wait",
        ])
        .assert_exit(0);
    let id = run.json()["job"]["id"].as_str().unwrap().to_owned();
    env.run(["job", "download", &id, "--dir", "out"])
        .assert_exit(7);
    assert!(!env.path("out").exists());
}

#[test]
fn a_file_that_is_refused_blames_no_key_and_leaves_nothing() {
    let env = TestEnv::new();
    let media = FakeServer::answering("403 Forbidden", "<Error>expired</Error>");
    let result = format!(
        r#"{{"data":{{"job_id":"job_1","status":"completed","terminal":true,"result_ready":true,"artifacts":[{{"id":"art_1","url":"{}/a.png"}}]}}}}"#,
        media.url
    );
    let service = FakeServer::answering("200 OK", &result);
    let words = ["job", "download", "job_1", "--dir", "out"];
    let run = CommandOutput::of(env.open_surface(words).env("SVC_BASE_URL", &service.url))
        .assert_exit(3)
        .assert_stderr("the link may have expired")
        .assert_stderr("svc job download job_1 --dir out");
    assert!(!run.err.contains("auth login"), "{}", run.err);
    assert_eq!(fs::read_dir(env.path("out")).unwrap().count(), 0);
}
