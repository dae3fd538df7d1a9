//! What is around it: the sandbox, the mock, completions, manual pages, the table of operations.

use std::fs;
use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::place::{Place, Run, interrupt, start};

#[test]
fn the_sandbox_needs_no_configuration_and_leaves_nothing() {
    let place = Place::new();
    let words = [
        "--sandbox",
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:seconds=0.1] a fox",
        "--download",
        "out",
    ];
    let run = Run::of(
        place
            .bare(words)
            .env("SVC_BASE_URL", "http://127.0.0.1:9")
            .env("SVC_PROFILE", "none"),
    );
    let run = run.ends(0).says("sandbox");
    assert_eq!(run.json()["files"].as_array().unwrap().len(), 1);
    assert!(!place.path("state").exists() && !place.path("config").exists());
    let run = Run::of(&mut place.bare(["--sandbox", "model", "list"])).ends(0);
    assert!(run.out.contains("lipsync-s"));
    Run::of(&mut place.bare(["--sandbox", "job", "list", "--surface", "developer"])).ends(0);
}

#[test]
fn the_sandbox_promises_no_way_back_into_it() {
    let place = Place::new();
    let words = [
        "--sandbox",
        "image",
        "generate",
        "--model",
        "image-i",
        "--prompt",
        "[mock:stuck]",
        "--timeout",
        "1",
    ];
    let run = Run::of(&mut place.bare(words)).ends(9);
    assert!(!run.err.contains("take it up"), "{}", run.err);
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_a_failure() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let place = Place::new();
    Run::of(place.bare(["--help"]).stdout(full)).ends(1);
}

#[test]
fn the_mock_is_served_until_it_is_asked_to_end() {
    let place = Place::new();
    let mut child = start(&mut place.bare(["mock", "serve", "--port-base", "0", "--speed", "50"]));
    let mut line = String::new();
    let mut stdout = BufReader::new(child.0.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    let addresses: Value = serde_json::from_str(&line).unwrap();
    let url = addresses["SVC_BASE_URL"].as_str().unwrap();
    let run = Run::of(
        place
            .bare([
                "image",
                "generate",
                "--model",
                "image-i",
                "--prompt",
                "[mock:seconds=0.1]",
            ])
            .env("SVC_BASE_URL", url)
            .env(
                "SVC_OPEN_API_KEY",
                addresses["SVC_OPEN_API_KEY"].as_str().unwrap(),
            ),
    );
    run.ends(0);
    let port = url.rsplit(':').next().unwrap();
    Run::of(&mut place.bare(["mock", "serve", "--port-base", port]))
        .ends(1)
        .says(port);
    interrupt(&child);
    child.end().ends(0);
}

#[test]
fn every_operation_is_listed_with_its_command() {
    let place = Place::new();
    let rows = Run::of(&mut place.bare(["operations", "-o", "json"]))
        .ends(0)
        .json();
    assert_eq!(
        rows.as_array().unwrap().len(),
        svc_sdk::contract::Operation::ALL.len()
    );
    let names = [
        "name", "method", "path", "surface", "auth", "scope", "budget", "retry", "cli", "summary",
    ];
    for row in rows.as_array().unwrap() {
        assert!(names.iter().all(|name| row.get(name).is_some()), "{row}");
    }
}

#[test]
fn completions_and_manual_pages_are_made() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = Run::of(&mut place.bare(["completions", shell])).ends(0);
        assert!(run.out.contains("top-up"), "{shell}");
    }
    Run::of(&mut place.bare(["man", "pages"])).ends(0);
    let page = fs::read_to_string(place.path("pages/svc-video-generate.1")).unwrap();
    assert!(page.contains("router/generate"), "{page}");
    fs::write(place.path("in-the-way"), "").unwrap();
    Run::of(&mut place.bare(["man", "in-the-way/pages"]))
        .ends(1)
        .says("in-the-way");
}

#[test]
fn help_and_version_are_data() {
    let place = Place::new();
    let run = Run::of(&mut place.bare(["--version"])).ends(0);
    assert!(run.out.starts_with("svc ") && run.err.is_empty());
    let run = Run::of(&mut place.bare(["video", "generate", "--help"])).ends(0);
    assert!(
        run.out
            .contains("POST /v1/video-router/generate (video_generate)")
            && run.err.is_empty()
    );
    Run::of(&mut place.bare([])).ends(2);
}
