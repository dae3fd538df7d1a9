//! Builds of the command line: cold, and after a change; and the crates that they consist of.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use crate::Outcome;
use crate::report::{Row, Unit};
use crate::svc_process::cargo;
use crate::timing::wall_time;

pub(crate) fn rows() -> Outcome<Vec<Row>> {
    let target = tempfile::tempdir()?;
    let cold = build(target.path())?;
    let mut rows =
        vec![Row::new("cold build of svc for debugging", Unit::Seconds, cold).goal("75 s")];
    for (crate_name, file) in [("the SDK", "sdk/src/lib.rs"), ("svc", "cli/src/main.rs")] {
        touch(file)?;
        let work = format!("… after a change of {crate_name}");
        rows.push(Row::new(work, Unit::Seconds, build(target.path())?));
    }
    for (name, goal) in [("svc-cli", "220 crates"), ("svc-sdk", "100 crates")] {
        let work = format!("crates in the default build of {name}");
        rows.push(Row::new(work, Unit::Crates, crates(name)?).goal(goal));
    }
    Ok(rows)
}

/// Returns the number of crates that a crate is built from.
fn crates(name: &str) -> Outcome<f64> {
    let output = cargo()
        .args(["tree", "--locked", "--package", name, "--edges", "normal,build"])
        .args(["--prefix", "none", "--format", "{p}"])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    // Repeated crates end with `(*)`, local ones with their folder.
    let names = text.lines().map(|line| line.split(" (").next().unwrap_or_default());
    Ok(names.filter(|name| !name.is_empty()).collect::<BTreeSet<_>>().len() as f64)
}

/// Returns the seconds of a build.
fn build(target: &Path) -> Outcome<f64> {
    let began = wall_time();
    let status = cargo()
        .args(["build", "--quiet", "--locked", "-p", "svc-cli"])
        .env("CARGO_TARGET_DIR", target)
        .status()?;
    match status.success() {
        true => Ok(wall_time().saturating_sub(began).as_secs_f64()),
        false => Err("svc could not be built".into()),
    }
}

/// Lets cargo believe that a file was changed.
#[expect(clippy::disallowed_methods, reason = "the time of a file")]
fn touch(file: &str) -> Outcome<()> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(file);
    File::options().append(true).open(path)?.set_modified(SystemTime::now())?;
    Ok(())
}
