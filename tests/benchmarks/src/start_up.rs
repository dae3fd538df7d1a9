//! Start-up of the command line, beside a bare clap program.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::report::{Row, Unit};
use crate::timing::{Costs, wall_time};

/// The starts that a round consists of.
const STARTS: u32 = 10;

/// Returns the cargo that runs this program.
pub(crate) fn cargo() -> PathBuf {
    env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

pub(crate) fn rows() -> Outcome<Vec<Row>> {
    let built = Command::new(cargo())
        .args([
            "build",
            "--quiet",
            "--locked",
            "--release",
            "-p",
            "svc-cli",
            "-p",
            "svc-benchmarks",
            "--bins",
        ])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .status()?;
    if !built.success() {
        return Err("svc could not be built".into());
    }
    let folder = env::current_exe()?;
    let folder = folder.parent().ok_or("this program is in no folder")?;
    let (svc, bare) = (folder.join("svc"), folder.join("bare-clap"));
    let mut rows = Vec::new();
    for flag in ["--help", "--version"] {
        start(&svc, flag)?;
        start(&bare, flag)?;
        let costs = Costs::measure(
            30,
            [&mut || start(&svc, flag).unwrap_or(f64::NAN), &mut || {
                start(&bare, flag).unwrap_or(f64::NAN)
            }],
        );
        let [own, other] = costs.medians();
        rows.push(
            Row::new(format!("svc {flag}"), Unit::Milliseconds, own)
                .beside(
                    "a bare clap program with 80 subcommands",
                    other,
                    costs.ratio(1),
                )
                .goal("1.3x"),
        );
    }
    Ok(rows)
}

/// Returns the milliseconds of one start.
fn start(program: &PathBuf, flag: &str) -> Outcome<f64> {
    let began = wall_time();
    for _ in 0..STARTS {
        let status = Command::new(program)
            .arg(flag)
            .stdout(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(format!("{} {flag} failed", program.display()).into());
        }
    }
    Ok(wall_time().saturating_sub(began).as_secs_f64() * 1e3 / f64::from(STARTS))
}
