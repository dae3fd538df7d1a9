//! The application that `application.py` kills: one job for each order, whatever crashes.
//!
//! `orders STORE LAST` submits the orders 1 to LAST through a journal, and `orders STORE FIRST-LAST` those,
//! eight at a time. STORE is a folder, or the URL of a PostgreSQL database. It prints `done ORDER JOB` when
//! a job has ended, and `undecided ORDER` if it is unknown whether it exists. The service does not document
//! that it recognizes the key of every third order. With the environment variable `STOP_BEFORE_SEND` it stops
//! itself (SIGSTOP) between the record of a submit in the journal and its first byte. The order that
//! `SETTLE_UNDECIDED` names is settled as not executed if it is undecided, and submitted again.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints")]

use std::error::Error;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use deadpool_postgres::{Manager, Pool};
use svc_journal_postgres::{PostgresOptions, PostgresStore};
use svc_sdk::journal::{Journal, JournalError, Settled};
use svc_sdk::transport::{self, ResponseFuture, Transport};
use svc_sdk::types::{Music1Generate, VideoGenerate};
use svc_sdk::{developer, open};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

const AT_ONCE: usize = 8;

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, orders] = arguments.as_slice() else {
        return Err("expected STORE and ORDERS".into());
    };
    let (first, last) = orders.split_once('-').unwrap_or(("1", orders));
    let journal = journal(store).await?;
    let transport: Arc<dyn Transport> = match std::env::var_os("STOP_BEFORE_SEND") {
        Some(_) => Arc::new(StopBeforeSend(transport::hyper(), AtomicBool::new(false))),
        None => transport::hyper(),
    };
    let open = open::ClientBuilder::from_env()?
        .journal(journal.clone())
        .transport(Arc::clone(&transport))
        .build()?;
    let developer = developer::ClientBuilder::from_env()?
        .journal(journal.clone())
        .transport(transport)
        .build()?;

    let mut tasks = JoinSet::new();
    let mut code = ExitCode::SUCCESS;
    for number in first.parse()?..=last.parse()? {
        if tasks.len() >= AT_ONCE
            && let Some(ended) = tasks.join_next().await
            && !ended?
        {
            code = ExitCode::FAILURE;
        }
        tasks.spawn(run_order(number, open.clone(), developer.clone(), journal.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        if !ended? {
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Stops this process before it sends its first submit.
struct StopBeforeSend(Arc<dyn Transport>, AtomicBool);

impl Transport for StopBeforeSend {
    fn send(&self, request: http::Request<Bytes>) -> ResponseFuture {
        if request.method() == http::Method::POST && !self.1.swap(true, Ordering::Relaxed) {
            let id = std::process::id().to_string();
            let status = Command::new("kill").args(["-STOP", &id]).status();
            assert!(status.is_ok_and(|status| status.success()), "not stopped");
        }
        self.0.send(request)
    }
}

async fn journal(store: &str) -> Result<Journal, Box<dyn Error>> {
    if !store.starts_with("postgres://") {
        return Ok(Journal::create(store).await?);
    }
    let pool = Pool::builder(Manager::new(store.parse()?, NoTls)).build()?;
    let mut options = PostgresOptions::default();
    // Each restart waits so long for the process that was killed.
    options.owner_timeout = Duration::from_secs(1);
    let store = PostgresStore::with_options(pool, &options).await?;
    Ok(Journal::with_store(store))
}

/// Returns whether it is known what became of the order.
async fn run_order(
    number: u32,
    open: open::Client,
    developer: developer::Client,
    journal: Journal,
) -> bool {
    let order = format!("order-{number}");
    let submit = async || match number % 3 {
        0 => music(&developer, &order).await,
        _ => video(&open, &order).await,
    };
    let mut result = submit().await;
    if let Err(error) = &result
        && let Some(JournalError::Undecided(undecided)) = error.journal()
        && std::env::var("SETTLE_UNDECIDED").is_ok_and(|settled| settled == order)
    {
        if let Err(error) = journal.settle(&undecided.id, Settled::NotExecuted).await {
            eprintln!("{order}: {error}");
            return false;
        }
        result = submit().await;
    }
    match result {
        Ok(job) => println!("done {order} {job}"),
        Err(error) if error.is_ambiguous() => println!("undecided {order}"),
        Err(error) => {
            eprintln!("{order}: {error}");
            return false;
        }
    }
    true
}

async fn video(client: &open::Client, order: &str) -> svc_sdk::Result<String> {
    let body = VideoGenerate::new("auto").prompt(format!("a red fox for {order}"));
    let job = client.videos().generate(body).submission_id(order).await?;
    job.wait().await?;
    job.acknowledge().await?;
    Ok(job.id().to_string())
}

async fn music(client: &developer::Client, order: &str) -> svc_sdk::Result<String> {
    let body = Music1Generate::new(format!("jazz for {order}"));
    let job = client.music().generate(body).submission_id(order).await?;
    job.wait().await?;
    job.acknowledge().await?;
    Ok(job.id().to_string())
}
