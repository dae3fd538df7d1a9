//! Builds of the command line: cold, and after a change.

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
        vec![Row::new("cold build of svc for debugging", Unit::Seconds, cold).goal("60 s")];
    for (crate_name, file) in [("the SDK", "sdk/src/lib.rs"), ("svc", "cli/src/main.rs")] {
        touch(file)?;
        let work = format!("… after a change of {crate_name}");
        rows.push(Row::new(work, Unit::Seconds, build(target.path())?));
    }
    Ok(rows)
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
