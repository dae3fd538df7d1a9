//! `svc trending`.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::types::Search;

use crate::failure::Failure;
use crate::output::Table;
use crate::session::Session;

/// Trending videos.
#[derive(Debug, Subcommand)]
pub(crate) enum Trending {
    /// Searches trending videos.
    Search(SearchArgs),
}

/// The flags of a search.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// What is looked for.
    #[arg(value_name = "QUERY")]
    query: String,
    /// How many at most.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

impl SearchArgs {
    /// The request's body.
    pub(crate) fn body(self) -> Search {
        let search = Search::new(self.query);
        match self.limit {
            Some(limit) => search.limit(limit),
            None => search,
        }
    }
}

/// Runs it.
pub(crate) async fn run(
    session: &Session,
    Trending::Search(args): Trending,
) -> Result<(), Failure> {
    let client = session.access::<Developer>()?.client;
    let videos = client
        .trending_videos_search(&args.body())
        .send()
        .await?
        .items;
    session.printer.many(&videos, |videos| {
        let mut table = Table::new(["id", "title", "views", "url"]);
        for video in videos {
            table.row([
                video.id.as_deref().unwrap_or_default(),
                video.title.as_deref().unwrap_or_default(),
                &video
                    .views
                    .map(|views| views.to_string())
                    .unwrap_or_default(),
                video.url.as_deref().unwrap_or_default(),
            ]);
        }
        table
    })
}
