//! Builds of the command line: cold, beside a skeleton that has its dependencies and no code, and after
//! a change; and the crates that they consist of.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;

use crate::Outcome;
use crate::report::{Row, Unit};
use crate::svc_process::cargo;
use crate::timing::wall_time;

pub(crate) fn rows() -> Outcome<Vec<Row>> {
    let (skeleton, target) = (tempfile::tempdir()?, tempfile::tempdir()?);
    make_skeleton(skeleton.path())?;
    let bare = build(skeleton.path(), &skeleton.path().join("target"))?;
    let cold = build(&workspace(), target.path())?;
    let row = Row::new("cold build of svc for debugging", Unit::Seconds, cold);
    let row = row.beside("a skeleton with the same dependencies", bare, cold / bare);
    let mut rows = vec![row.goal("75 s, 1.25x")];
    for (crate_name, file) in [("the SDK", "sdk/src/lib.rs"), ("svc", "cli/src/lib.rs")] {
        touch(file)?;
        let work = format!("… after a change of {crate_name}");
        rows.push(Row::new(work, Unit::Seconds, build(&workspace(), target.path())?));
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

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    src_path: PathBuf,
}

/// Copies the manifests of this workspace, and makes every source file that they name an empty one.
fn make_skeleton(folder: &Path) -> Outcome<()> {
    let output =
        cargo().args(["metadata", "--locked", "--no-deps", "--format-version=1"]).output()?;
    let Metadata { packages } = serde_json::from_slice(&output.stdout)?;
    let root = workspace().canonicalize()?;
    let write = |file: &Path, text: &[u8]| {
        let file = folder.join(file.strip_prefix(&root)?);
        std::fs::create_dir_all(file.parent().ok_or("a file without a folder")?)?;
        Outcome::Ok(std::fs::write(file, text)?)
    };
    for manifest in ["Cargo.toml", "Cargo.lock"] {
        write(&root.join(manifest), &std::fs::read(root.join(manifest))?)?;
    }
    for Package { manifest_path, targets } in packages {
        write(&manifest_path, &std::fs::read(&manifest_path)?)?;
        for Target { src_path } in targets {
            write(&src_path, b"#![allow(missing_docs, dead_code)] fn main() {}")?;
        }
    }
    Ok(())
}

fn workspace() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).to_owned()
}

/// Returns the seconds of a build.
fn build(workspace: &Path, target: &Path) -> Outcome<f64> {
    let began = wall_time();
    let status = cargo()
        .current_dir(workspace)
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
    File::options().append(true).open(workspace().join(file))?.set_modified(SystemTime::now())?;
    Ok(())
}
