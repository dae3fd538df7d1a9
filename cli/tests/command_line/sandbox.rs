//! `--sandbox`, next to a configuration and a state that it must not touch.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::test_env::{CommandOutput, TestEnv, Words};

const GARBAGE: [&str; 13] = [
    "SVC_BASE_URL",
    "SVC_DEVELOPER_BASE_URL",
    "SVC_MCP_URL",
    "SVC_OPEN_API_KEY",
    "SVC_DEVELOPER_API_KEY",
    "SVC_PROFILE",
    "SVC_FIRST_PARTY_OWNER",
    "SVC_WEBHOOK_SECRET",
    "SVC_WEBHOOK_SECRET_FILE",
    "SVC_CONFIG_DIR",
    "SVC_LOG",
    "SVC_SURFACE",
    "SVC_OUTPUT",
];

/// Creates a command with an invalid configuration, unusable variables, and a keyring program that
/// leaves a trace.
fn misconfigured(env: &TestEnv, words: impl Words) -> Command {
    let mut command = env.unconfigured("--sandbox");
    for name in GARBAGE {
        command.env(name, "\u{1}:// not valid");
    }
    command
        .env("XDG_CONFIG_HOME", env.path("config"))
        .env("XDG_STATE_HOME", env.path("state"))
        .env("PATH", env.path("tools"))
        .args(words.words());
    command
}

/// Returns the content of all files below a folder.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(snapshot(&path)),
            false => {
                files.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

fn prepare(env: &TestEnv) {
    for folder in ["config/svc", "state/open", "state/history", "tools"] {
        fs::create_dir_all(env.path(folder)).unwrap();
    }
    for file in [
        "config/config.toml",
        "config/credentials.toml",
        "config/svc/config.toml",
        "config/svc/credentials.toml",
        "state/open/x.jsonl",
    ] {
        fs::write(env.path(file), "[profiles").unwrap();
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        let tool = env.path("tools/secret-tool");
        let trace = env.path("keyring-was-used");
        fs::write(&tool, format!("#!/bin/sh\necho > {}\n", trace.display())).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn the_sandbox_neither_reads_nor_changes_the_configuration_and_the_state() {
    let env = TestEnv::new();
    prepare(&env);
    let before = snapshot(&env.path("."));
    let rows: &[&[&str]] = &[
        &["image", "generate", "--model", "image-i", "--prompt", "a fox", "--no-wait"],
        &["video", "generate", "--prompt", "a fox", "--no-wait"],
        &["music", "generate", "--prompt", "a waltz", "--no-wait"],
        &["model", "run", "image-1.0", "--prompt", "x", "--no-wait"],
        &["format", "run", "fmt_demo", "--instruction", "x", "--no-wait"],
        &["agent", "run", "--instruction", "x", "--cap", "1", "--no-wait"],
        &["action", "run", "act_daily", "--no-wait"],
        &["top-up", "create", "--amount-usd-cents", "500"],
        &["estimate", "--model", "video-f", "--prompt", "a fox"],
        &["job", "list"],
        &["job", "list", "--surface", "developer"],
        &["model", "list"],
        &["history"],
        &["me"],
        &["usage"],
        &["balance"],
        &["catalog"],
        &["health"],
        &["doctor"],
        &["webhook", "sign", "config/config.toml"],
        &["schema", "fetch"],
        &["webhook", "secret", "show"],
        &["api", "get", "/v1/me"],
        #[cfg(feature = "mcp")]
        &["mcp", "tools"],
        #[cfg(feature = "mcp")]
        &["mcp", "call", "image_generate", "--arg", "prompt=x"],
    ];
    for words in rows {
        let run = CommandOutput::of(&mut misconfigured(&env, words));
        assert_eq!(run.code, Some(0), "{words:?}: {}", run.err);
        assert_eq!(before, snapshot(&env.path(".")), "{words:?}");
    }
}

#[test]
fn commands_for_the_configuration_are_rejected_in_the_sandbox() {
    let env = TestEnv::new();
    prepare(&env);
    let before = snapshot(&env.path("."));
    let rows: &[&[&str]] = &[
        &["auth", "status"],
        &["auth", "logout"],
        &["init"],
        &["config", "show"],
        &["config", "path"],
        &["config", "get", "base_url"],
        &["config", "set", "first_party_owner", "studio"],
        &["config", "unset", "base_url"],
    ];
    for words in rows {
        CommandOutput::of(&mut misconfigured(&env, words))
            .assert_exit(2)
            .assert_stderr("cannot be used with --sandbox");
        assert_eq!(before, snapshot(&env.path(".")), "{words:?}");
    }
}
