//! A download of 1 GiB, beside curl.

use std::path::Path;
use std::process::Command;

use svc_sdk::{ApiKey, open};
use tokio::runtime::Builder;

use crate::Outcome;
use crate::report::{Row, Unit};
use crate::server::{self, FILE_BYTES};
use crate::timing::{Costs, wall_time};

pub(crate) fn rows() -> Outcome<Vec<Row>> {
    let server = server::axum()?;
    let folder = tempfile::tempdir()?;
    let (own_folder, curl_file) = (folder.path().join("own"), folder.path().join("curl"));
    let client = open::Client::builder()
        .base_url(server.url())
        .api_key(ApiKey::new("svc_open_demo")?)
        .allow_private_artifact_hosts(true)
        .build()?;
    let url = format!("{}/file", server.url());

    own(&client, &own_folder)?;
    curl(&url, &curl_file)?;
    let mut peak = 0;
    let costs = Costs::measure(
        5,
        [
            &mut || {
                let mut seconds = f64::NAN;
                let memory = allocation_counter::measure(|| {
                    seconds = own(&client, &own_folder).unwrap_or(f64::NAN);
                });
                peak = peak.max(memory.bytes_max);
                seconds
            },
            &mut || curl(&url, &curl_file).unwrap_or(f64::NAN),
        ],
    );
    Ok(vec![
        Row::compared("download of 1 GiB", Unit::Seconds, "curl", &costs),
        Row::new("its memory at most", Unit::Mebibytes, peak as f64 / f64::from(1 << 20))
            .goal("8 MiB"),
    ])
}

fn own(client: &open::Client, folder: &Path) -> Outcome<f64> {
    let _ = std::fs::remove_dir_all(folder);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let began = wall_time();
    let files = runtime.block_on(async { client.jobs().handle("job_1").download(folder).await })?;
    let seconds = wall_time().saturating_sub(began).as_secs_f64();
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    if bytes == FILE_BYTES { Ok(seconds) } else { Err("the file is not complete".into()) }
}

fn curl(url: &str, file: &Path) -> Outcome<f64> {
    let _ = std::fs::remove_file(file);
    let began = wall_time();
    let status = Command::new("curl")
        .args(["--silent", "--fail", "--output"])
        .arg(file)
        .arg(url)
        .status()?;
    let seconds = wall_time().saturating_sub(began).as_secs_f64();
    if status.success() { Ok(seconds) } else { Err("curl failed".into()) }
}
