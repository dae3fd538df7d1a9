//! `svc health`, `svc catalog`, `svc bgm` and `svc trending`: what the service publishes.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::types::{MusicCategory, MusicPick, MusicTrack, ServiceCatalog, TrendingVideo};

use crate::args::{BodyArgs, ListArgs, SearchArgs};
use crate::error::Result;
use crate::listing::Listing;
use crate::output::Table;
use crate::output::layout::{cut, number, required, whole};
use crate::request::body::{RequestBody, search_query};
use crate::session::Session;

pub(crate) async fn health(session: &Session) -> Result {
    let client = session.access_without_key::<Developer>()?.client;
    let health = client.catalog().health().await?;
    session.printer.print_item(&health, |health| {
        let mut table = Table::key_value();
        table.status_field("status", health.status.as_ref());
        for (name, value) in health.extra.iter() {
            table.field(name, Some(value));
        }
        table
    })
}

pub(crate) async fn catalog(session: &Session) -> Result {
    let client = session.access_without_key::<Developer>()?.client;
    let catalog = client.catalog().get().await?;
    session.printer.print_item(&catalog, catalog_table)
}

fn catalog_table(catalog: &ServiceCatalog) -> Table {
    if catalog.models.is_empty() {
        return Table::of(catalog, "capabilities, runtime, pricing");
    }
    let columns = [required("id"), whole("type"), cut("name"), cut("pricing")];
    Table::rows(&catalog.models, columns)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bgm {
    /// List tracks
    List(ListArgs),
    /// List categories
    Categories(ListArgs),
    /// Let the service choose a track
    Pick(Pick),
}

#[derive(Args, Debug)]
pub(crate) struct Pick {
    /// Only tracks in this category
    #[arg(long)]
    category: Option<String>,
    /// Only tracks with this mood
    #[arg(long)]
    mood: Option<String>,
    #[command(flatten)]
    body: BodyArgs,
}

pub(crate) async fn bgm(session: &Session, bgm: Bgm) -> Result {
    let client = session.access_without_key::<Developer>()?.client;
    match bgm {
        Bgm::List(list) => {
            let listing = Listing::new(session, &list, "tracks").without_limit_parameter();
            let call = || client.background_music().list();
            listing.print(call, tracks_table).await
        }
        Bgm::Categories(list) => {
            let listing = Listing::new(session, &list, "categories").without_limit_parameter();
            let call = || client.background_music().categories();
            listing.print(call, categories_table).await
        }
        Bgm::Pick(args) => {
            let fields = RequestBody::read(&args.body)?
                .with("category", args.category)?
                .with("mood", args.mood)?
                .finish()?;
            let mut body = MusicPick::new();
            body.extra = fields.into();
            let track = client.background_music().pick(&body).await?;
            session.printer.print_item(&track, track_table)
        }
    }
}

fn tracks_table(tracks: &[MusicTrack]) -> Table {
    let seconds = number("seconds=duration_seconds");
    Table::rows(tracks, [required("id"), cut("title"), cut("category"), cut("mood"), seconds])
}

fn categories_table(categories: &[MusicCategory]) -> Table {
    Table::rows(categories, ["id", "name"].map(cut))
}

fn track_table(track: &MusicTrack) -> Table {
    Table::of(track, "id, title, category, mood, seconds=duration_seconds, url")
}

#[derive(Debug, Subcommand)]
pub(crate) enum Trending {
    /// Search trending videos
    Search(SearchArgs),
}

pub(crate) async fn trending(session: &Session, Trending::Search(args): Trending) -> Result {
    let client = session.access::<Developer>()?.client;
    let body = search_query(&args)?;
    let call = || client.trending().search(body.clone());
    let listing = Listing::new(session, &args.list, "videos").without_limit_parameter();
    listing.print(call, videos_table).await
}

fn videos_table(videos: &[TrendingVideo]) -> Table {
    Table::rows(videos, [required("id"), cut("title"), number("views"), whole("url")])
}
