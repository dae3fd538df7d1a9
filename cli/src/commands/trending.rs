//! `svc trending`: trending videos.

use clap::Subcommand;
use svc_sdk::Developer;
use svc_sdk::types::TrendingVideo;

use crate::args::SearchArgs;
use crate::error::Failure;
use crate::listing::Listing;
use crate::output::{Column, Table};
use crate::request_body::search_query;
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
    let body = search_query(&args)?;
    let call = || client.trending().search(body.clone());
    let listing = Listing::new(session, &args.list, "videos").without_limit_parameter();
    listing.print(call, table).await
}

fn table(videos: &[TrendingVideo]) -> Table {
    let mut table = Table::new([
        Column::required("id"),
        Column::text("title"),
        Column::number("views"),
        Column::whole("url"),
    ]);
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
}
