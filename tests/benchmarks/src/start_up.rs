//! Start-up and size of the command line, beside a bare clap program and curl.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::report::{Row, Unit};
use crate::svc_process::{self, MockProcess};
use crate::timing::{Costs, wall_time};

/// The starts that a round consists of.
const STARTS: u32 = 10;
const ROUNDS: usize = 30;

pub(crate) fn rows() -> Outcome<Vec<Row>> {
    let folder = svc_process::build()?;
    let (svc, bare) = (folder.join("svc"), folder.join("bare-clap"));
    let mut rows = Vec::new();
    for flag in ["--help", "--version"] {
        let command = |program: &Path| {
            let mut command = Command::new(program);
            command.arg(flag);
            command
        };
        let costs = compare(command(&svc), command(&bare))?;
        let peer = "a bare clap program with 128 subcommands";
        let row = Row::compared(format!("svc {flag}"), Unit::Milliseconds, peer, &costs);
        rows.push(row.goal("1.15x"));
    }

    let size = std::fs::metadata(&svc)?.len() as f64 / f64::from(1 << 20);
    rows.push(Row::new("svc: size of the program", Unit::Mebibytes, size).goal("15.3 MiB"));

    let mock = MockProcess::start(&svc)?;
    let mut list = Command::new(&svc);
    mock.configure(list.args(["pricing", "list"]));
    let mut curl = Command::new("curl");
    let key = mock.variable("SVC_OPEN_API_KEY");
    let url = format!("{}/v1/open/catalog", mock.variable("SVC_BASE_URL"));
    curl.args(["--silent", "--fail", "--header"])
        .arg(format!("authorization: Bearer {key}"))
        .arg(url);
    let costs = compare(list, curl)?;
    rows.push(Row::compared("svc pricing list", Unit::Milliseconds, "curl", &costs).goal("1x"));
    Ok(rows)
}

/// Lets two commands take turns.
fn compare(mut own: Command, mut other: Command) -> Outcome<Costs<2>> {
    start(&mut own)?;
    start(&mut other)?;
    Ok(Costs::measure(
        ROUNDS,
        [&mut || start(&mut own).unwrap_or(f64::NAN), &mut || {
            start(&mut other).unwrap_or(f64::NAN)
        }],
    ))
}

/// Returns the milliseconds of one start.
fn start(command: &mut Command) -> Outcome<f64> {
    let began = wall_time();
    for _ in 0..STARTS {
        let status = command.stdout(Stdio::null()).status()?;
        if !status.success() {
            return Err(format!("{command:?} failed").into());
        }
    }
    Ok(wall_time().saturating_sub(began).as_secs_f64() * 1e3 / f64::from(STARTS))
}
