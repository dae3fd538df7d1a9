//! `svc` as a process: the program itself, and the mock that it serves.

use std::collections::HashMap;
use std::env;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::Outcome;

/// Returns the cargo that runs this program.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    cargo
}

/// Builds the programs of this workspace that are measured, and returns the folder that they are in.
pub(crate) fn build() -> Outcome<PathBuf> {
    let built = cargo()
        .args(["build", "--quiet", "--locked", "--release", "--bins"])
        .args(["-p", "svc-cli", "-p", "svc-benchmarks"])
        .status()?;
    if !built.success() {
        return Err("svc could not be built".into());
    }
    let program = env::current_exe()?;
    let folder = program.parent().ok_or("this program is in no folder")?;
    Ok(folder.to_owned())
}

/// A mock server of its own process, which runs until this is dropped.
pub(crate) struct MockProcess {
    child: Child,
    variables: HashMap<String, String>,
    home: TempDir,
}

impl MockProcess {
    /// Starts a mock whose rate limits do not matter: their windows last milliseconds.
    pub(crate) fn start(svc: &PathBuf) -> Outcome<Self> {
        let home = tempfile::tempdir()?;
        let mut child = Command::new(svc)
            .args(["mock", "serve", "--port-base", "0", "--env"])
            .args(["--plan", "enterprise", "--speed", "10000"])
            .args(["--balance-usd", "1000000"])
            .env("HOME", home.path())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("svc has no standard output")?;
        let mut mock = Self { child, variables: HashMap::new(), home };
        for line in BufReader::new(output).lines() {
            let line = line?;
            let assignment = line.strip_prefix("export ").and_then(|it| it.split_once('='));
            let (name, value) = assignment.ok_or_else(|| format!("not a variable: {line}"))?;
            let value = value.trim_matches('\'').to_owned();
            mock.variables.insert(name.to_owned(), value);
            if name == "SVC_WEBHOOK_SECRET" {
                return Ok(mock);
            }
        }
        Err("the mock did not start".into())
    }

    /// Returns a variable that `svc mock serve --env` prints.
    pub(crate) fn variable(&self, name: &str) -> &str {
        self.variables.get(name).map_or("", String::as_str)
    }

    /// Lets a command use the mock, with neither settings nor journals of this machine.
    pub(crate) fn configure<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("HOME", self.home.path()).envs(&self.variables)
    }

    /// Returns the resident memory in bytes, now and at most since [`reset_peak`](Self::reset_peak).
    /// Only Linux tells.
    pub(crate) fn memory(&self) -> Option<(f64, f64)> {
        resident_memory(&self.proc("status"))
    }

    pub(crate) fn reset_peak(&self) {
        let _ = std::fs::write(self.proc("clear_refs"), "5");
    }

    fn proc(&self, file: &str) -> String {
        format!("/proc/{}/{file}", self.child.id())
    }
}

/// Returns the resident memory of a process in bytes, now and at most, from its status file.
pub(crate) fn resident_memory(status: &str) -> Option<(f64, f64)> {
    let status = std::fs::read_to_string(status).ok()?;
    let kilobytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_end_matches("kB").trim().parse::<f64>().ok()
    };
    Some((kilobytes("VmRSS:")? * 1024.0, kilobytes("VmHWM:")? * 1024.0))
}

impl Drop for MockProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
