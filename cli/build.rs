//! Tells the program its version: the commit, its date in seconds since 1970, the target and the features.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    // Without git's log of heads, the commit stays that of the first build.
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(head) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={head}");
    }
    let unknown = || "unknown".to_owned();
    let commit = git(&["rev-parse", "--short=9", "HEAD"]).unwrap_or_else(unknown);
    let epoch = env::var("SOURCE_DATE_EPOCH").ok();
    let epoch = epoch.or_else(|| git(&["log", "-1", "--format=%ct"])).unwrap_or_else(unknown);
    let mut features: Vec<_> = env::vars()
        .filter_map(|(name, _)| Some(name.strip_prefix("CARGO_FEATURE_")?.to_lowercase()))
        .filter(|feature| feature != "default")
        .collect();
    features.sort();
    println!("cargo::rustc-env=SVC_COMMIT={commit}");
    println!("cargo::rustc-env=SVC_EPOCH={epoch}");
    println!("cargo::rustc-env=SVC_TARGET={}", env::var("TARGET").unwrap_or_default());
    println!("cargo::rustc-env=SVC_FEATURES={}", features.join(" "));
}

/// Returns what git prints, if this is a repository and git is installed.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
