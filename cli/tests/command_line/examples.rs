//! The examples in the help, run against the sandbox.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use crate::test_env::{CommandOutput, TestEnv};

const THREADS: usize = 8;

/// What an example needs besides the sandbox, as words in it: something that was submitted before, a
/// terminal, a server, a signature, another program, a configuration, or an answer.
const NEEDS_MORE: [&str; 19] = [
    "_123",
    "--last",
    "svc job watch",
    "svc batch status",
    "svc mock serve",
    "svc mock exec -- cargo",
    "-- npm",
    "svc mcp serve",
    "svc webhook inbox",
    "svc webhook replay",
    "svc webhook listen",
    "svc webhook trigger",
    "svc webhook verify",
    "svc webhook secret rotate",
    "svc schema check --against",
    "svc init",
    "svc auth",
    "svc config",
    "svc profile",
];

const FILES: [(&str, &str); 10] = [
    ("prompt.txt", "a red fox"),
    ("script.txt", "Good morning!"),
    ("brief.txt", "A teaser for a bakery"),
    ("secret.txt", "whsec_of_an_example"),
    ("body.json", "{}"),
    ("estimate.json", r#"{"model": "video-f", "input": {"prompt": "a fox", "duration": 5}}"#),
    (
        "shot.json",
        r#"{"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}"#,
    ),
    ("prompts.jsonl", r#"{"body": {"model": "video-h", "prompt": "a fox", "duration": 5}}"#),
    ("prompts.csv", "prompt,model\na fox,image-i\n"),
    ("shoes.csv", "instruction\na red shoe\na blue shoe\n"),
];

fn subcommands(page: &str) -> Vec<String> {
    let commands = page.split("\nCommands:\n").nth(1).unwrap_or_default();
    let lines = commands.lines().take_while(|line| !line.is_empty());
    // The lines of a long description are indented further.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

fn examples(env: &TestEnv, words: &[String], found: &mut Vec<String>) {
    let mut command = env.unconfigured("");
    command.args(words);
    // Examples stay on one line, so that they can be pasted.
    let page = CommandOutput::of(command.arg("--help").env("COLUMNS", "40")).assert_exit(0);
    let subcommands = subcommands(&page.out);
    for name in &subcommands {
        examples(env, &[words, std::slice::from_ref(name)].concat(), found);
    }
    if subcommands.is_empty() {
        let section = page.out.split("\nExamples:\n").nth(1).unwrap_or_default();
        let lines = section.lines().take_while(|line| !line.is_empty());
        let commands = lines.map(str::trim).filter(|line| line.starts_with("svc "));
        found.extend(commands.map(str::to_owned));
    }
}

#[test]
fn examples_work_in_the_sandbox() {
    let env = TestEnv::new();
    let root = env.run_unconfigured("help all").assert_exit(0);
    let mut found = Vec::new();
    for line in root.out.lines() {
        if let Some(line) = line.strip_prefix("  ") {
            let name = line.split(' ').next().unwrap().to_owned();
            examples(&env, &[name], &mut found);
        }
    }
    assert!(found.len() > 150, "{found:?}");
    found.retain(|line| !NEEDS_MORE.iter().any(|words| line.contains(words)));
    assert!(found.len() > 80, "{found:?}");
    let run = |line: &str, folder: &Path| {
        fs::create_dir(folder).unwrap();
        for (name, text) in FILES {
            fs::write(folder.join(name), text).unwrap();
        }
        let mut command = env.unconfigured("--sandbox");
        command.current_dir(folder).args(&shell_words::split(line).unwrap()[1..]);
        // An example of `svc mock exec` runs `svc`.
        let program = Path::new(env!("CARGO_BIN_EXE_svc"));
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths =
            program.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&paths));
        command.env("PATH", std::env::join_paths(paths).unwrap());
        let output = CommandOutput::of(&mut command);
        assert_eq!(output.code, Some(0), "{line}: {}", output.err);
    };
    let queue = Mutex::new(found.into_iter().enumerate());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some((number, line)) = next else { break };
                    run(&line, &env.path(&number.to_string()));
                }
            });
        }
    });
}
