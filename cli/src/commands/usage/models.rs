//! The models of jobs, from a few pages of the list of jobs.

use std::collections::{HashMap, HashSet};

use svc_sdk::developer::Client;

use super::net_spend::{Spend, Subject};
use crate::error::Failure;
use crate::session::Session;

/// The number of pages of jobs that are read at most.
const MAX_PAGES: usize = 3;

/// Returns the models of the jobs that money was spent for, as far as the newest jobs name them.
pub(super) async fn of_jobs(
    session: &Session,
    client: &Client,
    spends: &[Spend],
) -> HashMap<String, String> {
    let jobs = spends.iter().filter_map(|spend| match &spend.subject {
        Subject::Job(id) => Some(id.as_str()),
        _ => None,
    });
    let mut missing: HashSet<&str> = jobs.collect();
    let mut models = HashMap::new();
    if missing.is_empty() {
        return models;
    }
    let mut pages = client.jobs().list().pages();
    for _ in 0..MAX_PAGES {
        let page = match pages.next().await {
            Some(Ok(page)) => page,
            Some(Err(error)) => {
                let failure = Failure::from(error);
                let why = failure.headline();
                session
                    .printer
                    .warn(&format!("cannot read the models of the jobs: {why}"));
                break;
            }
            None => break,
        };
        for job in page {
            if missing.remove(job.id.as_str())
                && let Some(model) = job.model
            {
                models.insert(job.id.as_str().to_owned(), model);
            }
        }
        if missing.is_empty() {
            break;
        }
    }
    models
}
