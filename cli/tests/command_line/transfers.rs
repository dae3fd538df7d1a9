//! Files: every one of them, whole, and only where they belong.

use std::fs;

use crate::place::{Fake, Place, Run, start, until};

#[test]
fn what_was_made_is_stored() {
    let place = Place::new();
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
    let run = place.run(words).ends(0);
    let files = run.json()["files"].as_array().unwrap().clone();
    assert_eq!(files.len(), 3);
    for file in &files {
        let path = place.path(file["path"].as_str().unwrap());
        assert_eq!(
            fs::metadata(&path).unwrap().len(),
            file["bytes"].as_u64().unwrap()
        );
        assert!(fs::read(&path).unwrap().starts_with(b"\x89PNG"));
    }
    assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), 3);
}

#[test]
fn a_finished_job_is_stored_later_and_elsewhere() {
    let place = Place::new();
    let run = place
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            "[mock:seconds=0.1]",
            "--no-wait",
        ])
        .ends(0);
    let id = run.json()["job"]["id"].as_str().unwrap().to_owned();
    place
        .run(["job", "download", &id, "--dir", "deep/er"])
        .ends(0);
    assert_eq!(fs::read_dir(place.path("deep/er")).unwrap().count(), 1);
    place.run(["job", "download", &id]).ends(0);
}

#[test]
fn a_transfer_that_breaks_off_goes_on() {
    let place = Place::new();
    place.fault("artifact", "truncate", 2);
    place
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            "[mock:seconds=0.1]",
            "--download",
            "out",
        ])
        .ends(0);
    assert_eq!(place.charges(), 1);
}

#[test]
fn where_nothing_can_be_stored_nothing_is_sent() {
    let place = Place::new();
    fs::write(place.path("out"), "a file in the way").unwrap();
    for folder in ["out", "out/deeper", "/proc/nowhere"] {
        let words = [
            "video",
            "generate",
            "--prompt",
            "a fox",
            "--download",
            folder,
        ];
        place
            .run(words)
            .ends(1)
            .says(folder)
            .says("nothing was sent");
    }
    place
        .run(["job", "download", "job_1", "--dir", "out"])
        .ends(1)
        .says("out");
    assert!(place.mock.requests(0).is_empty());
}

#[test]
fn a_disk_that_fails_later_does_not_lose_the_result() {
    let place = Place::new();
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
    let child = start(&mut place.svc(words));
    until("it waits", || place.jobs() == 1);
    fs::write(place.path("out"), "a file in the way").unwrap();
    let run = child.end().ends(1);
    let id = place.mock.jobs()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        run.error()["resume"],
        format!("svc job download {id} --dir out --surface open")
    );
    assert_eq!(run.error()["job_id"], id.as_str());
    fs::remove_file(place.path("out")).unwrap();
    // The same command goes on with the job that is paid for.
    let run = place.run(words).ends(0);
    assert_eq!(run.json()["files"].as_array().unwrap().len(), 1);
    assert_eq!(place.charges(), 1);
}

#[test]
fn the_files_of_a_job_that_failed_are_not_there() {
    let place = Place::new();
    let run = place
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            "[mock:seconds=0.1][mock:fail]",
            "--no-wait",
        ])
        .ends(0);
    let id = run.json()["job"]["id"].as_str().unwrap().to_owned();
    place.run(["job", "download", &id, "--dir", "out"]).ends(7);
    assert!(!place.path("out").exists());
}

#[test]
fn a_file_that_is_refused_blames_no_key_and_leaves_nothing() {
    let place = Place::new();
    let media = Fake::answering("403 Forbidden", "<Error>expired</Error>");
    let result = format!(
        r#"{{"data":{{"job_id":"job_1","status":"completed","terminal":true,"result_ready":true,"artifacts":[{{"id":"art_1","url":"{}/a.png"}}]}}}}"#,
        media.url
    );
    let service = Fake::answering("200 OK", &result);
    let words = ["job", "download", "job_1", "--dir", "out"];
    let run = Run::of(place.svc(words).env("SVC_BASE_URL", &service.url))
        .ends(3)
        .says("the link may have expired")
        .says("svc job download job_1 --dir out");
    assert!(!run.err.contains("auth login"), "{}", run.err);
    assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), 0);
}
