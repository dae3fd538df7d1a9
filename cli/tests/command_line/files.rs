//! Names of downloaded files, existing files, and results of which files are missing.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::test_env::{CommandOutput, FakeServer, TestEnv};

/// Generates images and downloads them.
fn images(env: &TestEnv, prompt: &str, count: &str, flags: &[&str]) -> CommandOutput {
    let flags: Vec<_> =
        ["--num-images", count, "--new"].into_iter().chain(flags.iter().copied()).collect();
    env.generate_image(prompt, &flags)
}

fn names_in(env: &TestEnv, folder: &str) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(env.path(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "config" && name != "state")
        .collect();
    names.sort();
    names
}

/// Returns the path and the status of each file in a result.
fn files(run: &CommandOutput) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let result = run.json();
    let files = result["files"].as_array().unwrap();
    let pair = |file: &Value| (text(&file["path"]), text(&file["status"]));
    files.iter().map(pair).collect()
}

#[test]
fn files_are_named_by_a_template() {
    let env = TestEnv::new();
    let prompt = "[mock:seconds=0.1] A red fox, in snow!";
    let flags = ["--download", "out", "--name", "{slug}_{index}.{ext}"];
    images(&env, prompt, "2", &flags).assert_exit(0);
    let slug = "mock-seconds-0-1-a-red-fox-in-snow";
    let expected = [format!("{slug}_1.png"), format!("{slug}_2.png")];
    assert_eq!(names_in(&env, "out"), expected);

    let id = env.submit_image("[mock:seconds=0.1]");
    for (template, expected) in [
        ("{job}-{index}.{ext}", format!("{id}-1.png")),
        ("{slug}.{ext}", format!("{id}.png")),
        ("cover", "cover".to_owned()),
    ] {
        let words = ["job", "download", &id, "--dir", "deep", "--name", template];
        let run = env.run(words).assert_exit(0);
        assert_eq!(files(&run), [(format!("deep/{expected}"), "created".into())]);
    }
}

#[test]
fn artifacts_with_the_same_name_are_all_kept() {
    let env = TestEnv::new();
    let flags = ["--download", "out", "--name", "fox.{ext}"];
    for overwrite in [&[][..], &["--overwrite"]] {
        let flags = [&flags, overwrite].concat();
        images(&env, "[mock:seconds=0.1]", "3", &flags).assert_exit(0);
    }
    let names = names_in(&env, "out");
    assert!(names.len() >= 3, "{names:?}");
    for name in ["fox.png", "fox-1.png", "fox-2.png"] {
        assert!(names.iter().any(|found| found == name), "{names:?}");
    }

    let ids = [(); 2].map(|()| env.submit_image("[mock:seconds=0.1]"));
    let words =
        format!("job download '{}' '{}' --dir two --name {{index}}.{{ext}}", ids[0], ids[1]);
    CommandOutput::of(env.open_surface(&words).arg("--overwrite"))
        .assert_exit(2)
        .assert_stderr("{job}");
    env.run(&words).assert_exit(0);
    assert_eq!(names_in(&env, "two"), ["1-1.png", "1.png"]);
}

#[test]
fn invalid_templates_are_usage_errors() {
    let env = TestEnv::new();
    for (template, expected) in [
        ("{title}.{ext}", "{title}"),
        ("a/{id}.{ext}", "path separators"),
        ("a\\{id}.{ext}", "path separators"),
        ("..", "dot"),
        ("", "name"),
    ] {
        let flags = ["--download", "out", "--name", template];
        env.generate_image("a fox", &flags).assert_exit(2).assert_stderr(expected);
    }
    for flag in ["--overwrite", "--open", "--name=x", "--download-timeout=5s"] {
        env.generate_image("a fox", &[flag]).assert_exit(2).assert_stderr("requires --download");
    }
    assert_eq!(env.job_count(), 0);
}

#[test]
fn existing_files_are_kept() {
    let env = TestEnv::new();
    let id = env.submit_image("[mock:seconds=0.1]");
    let fetch = |flags: &[&str]| {
        let words = ["job", "download", &id, "--dir", "out", "--name", "fox.png"];
        CommandOutput::of(env.open_surface(words).args(flags)).assert_exit(0)
    };
    let file = |name: &str, status: &str| vec![(format!("out/{name}"), status.to_owned())];
    assert_eq!(files(&fetch(&[])), file("fox.png", "created"));
    let again = fetch(&[]).assert_stderr("kept out/fox.png");
    assert_eq!(files(&again), file("fox.png", "unchanged"));

    fs::write(env.path("out/fox.png"), "my own").unwrap();
    let other = fetch(&[]).assert_stderr("saved as out/fox-1.png");
    assert_eq!(files(&other), file("fox-1.png", "renamed"));
    assert_eq!(files(&fetch(&[])), file("fox-1.png", "unchanged"));
    assert_eq!(fs::read(env.path("out/fox.png")).unwrap(), b"my own");

    assert_eq!(files(&fetch(&["--overwrite"])), file("fox.png", "replaced"));
    assert!(fs::read(env.path("out/fox.png")).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(names_in(&env, "out"), ["fox-1.png", "fox.png"]);
}

#[test]
fn download_without_a_folder_uses_the_current_one() {
    let env = TestEnv::new();
    let words = "image generate [mock:seconds=0.1] --model image-i";
    let run = CommandOutput::of(env.open_surface(words).args(["--download", "--yes"]));
    let run = run.assert_exit(0);
    let files = files(&run);
    assert!(env.path(&files[0].0).is_file(), "{files:?}");
    assert_eq!(names_in(&env, "").len(), 1);
    assert!(!run.err.contains(" of 1"), "no bars in a pipe: {}", run.err);
}

/// A result with one artifact that can be fetched, one that cannot, and one without a URL.
fn incomplete_job(media: &FakeServer) -> FakeServer {
    let gone = "http://127.0.0.1:1/gone.png";
    let result = json!({"data": {
        "job_id": "job_1", "status": "completed", "terminal": true, "result_ready": true,
        "artifacts": [
            {"id": "art_1", "url": format!("{}/a.png", media.url)},
            {"id": "art_2"},
            {"id": "art_3", "url": gone},
        ]
    }});
    FakeServer::answering("200 OK", &result.to_string())
}

#[test]
fn files_that_could_be_fetched_are_listed_with_the_error() {
    let env = TestEnv::new();
    let media = FakeServer::answering("200 OK", "image data");
    let service = incomplete_job(&media);
    let words = "job download job_1 --dir out -o json";
    let mut command = env.open_surface(words);
    command.env("SVC_BASE_URL", &service.url);
    let run = CommandOutput::of(command.args(["--download-timeout", "5s"]));
    assert_ne!(run.code, Some(0), "{run:?}");
    assert_eq!(files(&run), [("out/art_1.png".to_owned(), "created".to_owned())]);
    let error = run.error();
    assert_eq!(error["code"], "download_failed");
    assert_eq!(error["files"], json!([{"path": "out/art_1.png", "bytes": 10}]));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("art_2") && message.contains("art_3"), "{message}");
    assert!(!message.contains("art_1 "), "{message}");
    assert_eq!(error["resume"], "svc job download job_1 --dir out --surface open");
    assert_eq!(fs::read(env.path("out/art_1.png")).unwrap(), b"image data");
}

#[test]
fn a_completed_job_without_files_is_pointed_out() {
    let env = TestEnv::new();
    let result = r#"{"data": {"job_id": "job_1", "status": "completed", "artifacts": []}}"#;
    let service = FakeServer::answering("200 OK", result);
    let run = env.run_at(&service.url, "job download job_1 --dir out -o json").assert_exit(0);
    assert_eq!(run.json()["files"], json!([]));
    run.assert_stderr("job job_1 completed without files");
}

#[test]
fn private_hosts_are_allowed_on_request() {
    let env = TestEnv::new();
    let result = json!({"data": {
        "job_id": "job_1", "status": "completed", "terminal": true, "result_ready": true,
        "artifacts": [{"id": "art_1", "url": "https://169.254.1.1/a.png"}]
    }});
    let service = FakeServer::answering("200 OK", &result.to_string());
    let fetch = |flags: &[&str]| {
        let words = "job download job_1 --download-timeout 1s";
        let mut command = env.open_surface(words);
        CommandOutput::of(command.env("SVC_BASE_URL", &service.url).args(flags))
    };
    let refused = "private or loopback address";
    assert!(fetch(&[]).err.contains(refused));
    let allowed = fetch(&["--allow-private-artifact-hosts"]);
    assert!(!allowed.err.contains(refused), "{}", allowed.err);
    assert_ne!(allowed.code, Some(0));
}

#[cfg(unix)]
#[test]
fn files_are_opened_with_the_default_application() {
    use std::os::unix::fs::PermissionsExt;

    let env = TestEnv::new();
    let launcher = env.path("bin/xdg-open");
    fs::create_dir(env.path("bin")).unwrap();
    fs::write(&launcher, "#!/bin/sh\necho \"$1\" >> opened\n").unwrap();
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
    let words = "--sandbox image generate 'a fox' --model image-i --download out --open --yes";
    let run = |path: String| {
        let mut command: Command = env.unconfigured(words);
        CommandOutput::of(command.env("PATH", path)).assert_exit(0)
    };
    let path = std::env::var("PATH").unwrap();
    let opened = run(format!("{}:{path}", env.path("bin").display()));
    let expected = format!("{}\n", files(&opened)[0].0);
    assert_eq!(fs::read_to_string(env.path("opened")).unwrap(), expected);

    // Without a launcher the files are there all the same.
    let failed = run(env.path("nothing").display().to_string());
    assert!(failed.err.contains("warning: cannot open out/"), "{}", failed.err);
}
