//! Names of downloaded files, existing files, and results of which files are missing.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::test_env::{CommandOutput, TestEnv};

fn files(run: &CommandOutput) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let result = run.json();
    let files = result["files"].as_array().unwrap();
    let pair = |file: &Value| (text(&file["path"]), text(&file["status"]));
    files.iter().map(pair).collect()
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

    let mut top_up = env.open_surface("top-up create 20 --open");
    top_up.env("PATH", format!("{}:{path}", env.path("bin").display()));
    let top_up = CommandOutput::of(&mut top_up).assert_exit(0);
    let url = top_up.json()["checkout_url"].as_str().unwrap().to_owned();
    assert_eq!(fs::read_to_string(env.path("opened")).unwrap(), format!("{expected}{url}\n"));

    // Without a launcher the files are there all the same.
    let failed = run(env.path("nothing").display().to_string());
    assert!(failed.err.contains("warning: cannot open out/"), "{}", failed.err);
}
