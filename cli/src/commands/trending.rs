//! `svc trending`: trending videos.

use clap::Subcommand;
use svc_sdk::Developer;

use crate::args::SearchArgs;
use crate::error::Failure;
use crate::output::Table;
use crate::session::Session;

/// The subcommands of `svc trending`.
#[derive(Debug, Subcommand)]
pub(crate) enum Trending {
    /// Search trending videos
    Search(SearchArgs),
}

/// Runs the command.
pub(crate) async fn run(
    session: &Session,
    Trending::Search(args): Trending,
) -> Result<(), Failure> {
    let client = session.access::<Developer>()?.client;
    let videos = client.trending().search(args.into_body()).await?.items;
    session.printer.print_list(&videos, |videos| {
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
