//! The session in the README, as text and as an image: run here, and compared with what is stored.
//! `UPDATE=1 cargo test -p svc-cli tour` stores it anew.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use svc_mock_server::Setup;

use crate::pty::{Style, StyledText, TALL, Terminal};
use crate::svg;
use crate::test_env::{TestEnv, ago};

const COLUMNS: u16 = 88;
const BEGIN: &str =
    "<!-- The output of the commands, from cli/tests/command_line/tour.rs -->\n```console\n";
const END: &str = "```\n";

/// The commands of the tour, and their exit codes. The first three need no configuration. `q` is typed to one
/// with a screen, as soon as that has some words.
const STEPS: [(&str, i32, &[&str]); 10] = [
    ("", 0, &[]),
    ("--sandbox video generate \"a red fox in snow\" --duration 5 --download out --yes", 0, &[]),
    ("balance", 2, &[]),
    ("model list --type video", 0, &[]),
    ("estimate \"a red fox in snow\" --model video-f --duration 5", 0, &[]),
    ("image generate \"a red fox\" --model image-i --max-price 0.01 --download out --yes", 0, &[]),
    ("batch run foxes.jsonl --concurrency 1 --max-spend 1 --yes", 7, &[]),
    ("job watch", 0, &["4 jobs", "failed", "$0.015", "q quit"]),
    ("job list --status failed --jq \".[].id\"", 0, &[]),
    ("job get job_unknown", 4, &[]),
];

fn session(env: &TestEnv) -> Vec<Vec<StyledText>> {
    let lines = ["a red fox", "a blue fox", "[mock:fail]"].map(|prompt| {
        let body = serde_json::json!({"model": "image-i", "prompt": prompt});
        format!("{}\n", serde_json::json!({"operation": "image_generate", "body": body}))
    });
    fs::write(env.path("foxes.jsonl"), lines.concat()).unwrap();
    let mut session = Vec::new();
    for (index, (words, code, screen)) in STEPS.iter().enumerate() {
        let command = match index {
            0..=2 => env.unconfigured(words),
            _ => env.both_surfaces(words),
        };
        if index > 0 {
            session.push(Vec::new());
        }
        session.extend(typed(format!("svc {words}").trim_end()));
        session.extend(run(command, *code, screen));
    }
    let mut ids = StableIds::default();
    for run in session.iter_mut().flatten() {
        run.text = ids.replace(&with_default_ports(&run.text, env));
    }
    session
}

fn run(command: std::process::Command, code: i32, words: &[&str]) -> Vec<Vec<StyledText>> {
    if words.is_empty() {
        let mut terminal = Terminal::start(command, TALL, COLUMNS);
        terminal.end().assert_exit(code);
        return terminal.styled_lines();
    }
    let mut terminal = Terminal::start(command, 12, COLUMNS);
    let is_shown = |screen: &str| words.iter().all(|word| screen.contains(word));
    terminal.wait_until_screen("the words", is_shown);
    let lines = terminal.styled_lines();
    terminal.type_text("q");
    terminal.end().assert_exit(code);
    lines
}

fn typed(command: &str) -> Vec<Vec<StyledText>> {
    let run = |text: &str, is_bold| StyledText {
        style: Style { is_bold, ..Style::default() },
        text: text.to_owned(),
    };
    let prompt = StyledText {
        style: Style { foreground: vt100::Color::Idx(2), ..Style::default() },
        text: "$ ".to_owned(),
    };
    vec![vec![prompt, run(command, true)]]
}

fn with_default_ports(text: &str, env: &TestEnv) -> String {
    text.replace(env.mock.base_url(), "http://127.0.0.1:4010")
        .replace(env.mock.developer_base_url(), "http://127.0.0.1:4011")
        .replace(env.mock.media_url(), "http://127.0.0.1:4012")
}

/// Ids that do not depend on how many requests a command made, in the order in which they are shown.
#[derive(Default)]
struct StableIds {
    shown: Vec<(String, String)>,
}

impl StableIds {
    /// Replaces each id and name of a file by another one of the same length.
    fn replace(&mut self, text: &str) -> String {
        const PREFIXES: [&str; 4] = ["job_", "art_", "req_", "/artifacts/"];
        let (mut replaced, mut rest) = (String::new(), text);
        while let Some((start, prefix)) =
            PREFIXES.iter().filter_map(|prefix| Some((rest.find(prefix)?, prefix))).min()
        {
            let (before, id) = rest.split_at(start + prefix.len());
            let end = id.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(id.len());
            let (id, after) = id.split_at(end);
            replaced += before;
            // `job_unknown` and `job_not_found` are not ids of the mock.
            let is_word = id.len() < 20 && *prefix != "/artifacts/";
            replaced += if is_word { id } else { self.stable(id) };
            rest = after;
        }
        replaced + rest
    }

    fn stable(&mut self, id: &str) -> &str {
        // What does not fit on a line is cut.
        let known = self.shown.iter().position(|(shown, _)| shown.starts_with(id));
        let index = known.unwrap_or_else(|| {
            let index = self.shown.len();
            let letters = b"0123456789abcdefghjkmnpqrstvwxyz";
            let letter = |at: usize| letters[(11 * index + 7 * at * at + 5 * at + 17) % 32] as char;
            self.shown.push((id.to_owned(), (0..id.len()).map(letter).collect()));
            index
        });
        &self.shown[index].1[..id.len()]
    }
}

fn plain_text(lines: &[Vec<StyledText>]) -> String {
    let text = |line: &Vec<StyledText>| -> String {
        let line: String = line.iter().map(|run| run.text.as_str()).collect();
        format!("{}\n", line.trim_end())
    };
    lines.iter().map(text).collect()
}

#[test]
fn the_tour_in_the_readme_is_current() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let (image, readme) = (root.join("tour.svg"), root.join("../README.md"));
    // The mock catches up with the real time only after minutes, so that ages are always the same.
    let setup = Setup::default()
        .speed("20".parse().unwrap())
        .epoch(ago(Duration::from_secs(3 * 3600 + 50 * 60)));
    let session = session(&TestEnv::with(setup));
    let drawn = svg::image(&session, COLUMNS, "A session with svc");
    let stored = fs::read_to_string(&readme).unwrap();
    let (before, rest) = stored.split_once(BEGIN).expect("the README has a session");
    let (text, after) = rest.split_once(END).unwrap();
    let shown = plain_text(&session);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&image, drawn).unwrap();
        fs::write(&readme, format!("{before}{BEGIN}{shown}{END}{after}")).unwrap();
        return;
    }
    let hint = "run `UPDATE=1 cargo test -p svc-cli tour`";
    assert_eq!(text, shown, "the README is not current: {hint}");
    assert_eq!(fs::read_to_string(&image).unwrap(), drawn, "cli/tour.svg is not current: {hint}");
}
