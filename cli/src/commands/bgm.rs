//! `svc bgm`: background music, available without an API key.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::types::{MusicPick, MusicTrack};

use crate::error::Failure;
use crate::output::Table;
use crate::session::Session;

/// The subcommands of `svc bgm`.
#[derive(Debug, Subcommand)]
pub(crate) enum Bgm {
    /// List tracks
    List,
    /// List categories
    Categories,
    /// Let the service choose a track
    Pick(Pick),
}

/// The flags of `svc bgm pick`.
#[derive(Args, Debug)]
pub(crate) struct Pick {
    /// Only tracks in this category
    #[arg(long)]
    category: Option<String>,
    /// Only tracks with this mood
    #[arg(long)]
    mood: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, bgm: Bgm) -> Result<(), Failure> {
    let client = session.access_without_key::<Developer>()?.client;
    match bgm {
        Bgm::List => {
            let tracks = client.background_music().list().await?.items;
            session.printer.print_list(&tracks, |tracks| {
                let mut table = Table::new(["id", "title", "category", "mood", "seconds"]);
                for track in tracks {
                    let text = |field: &Option<String>| field.clone().unwrap_or_default();
                    table.row([
                        &text(&track.id),
                        &text(&track.title),
                        &text(&track.category),
                        &text(&track.mood),
                        &track
                            .duration
                            .map(|length| length.as_secs_f64().to_string())
                            .unwrap_or_default(),
                    ]);
                }
                table
            })
        }
        Bgm::Categories => {
            let categories = client.background_music().categories().await?.items;
            session.printer.print_list(&categories, |categories| {
                let mut table = Table::new(["id", "name"]);
                for category in categories {
                    let id = category.id.as_deref().unwrap_or_default();
                    table.row([id, category.name.as_deref().unwrap_or_default()]);
                }
                table
            })
        }
        Bgm::Pick(args) => {
            let mut body = MusicPick::new();
            if let Some(category) = args.category {
                body = body.category(category);
            }
            if let Some(mood) = args.mood {
                body = body.mood(mood);
            }
            let track = client.background_music().pick(&body).await?;
            session.printer.print_item(&track, track_table)
        }
    }
}

fn track_table(track: &MusicTrack) -> Table {
    let mut table = Table::key_value();
    table.field("id", track.id.as_ref());
    table.field("title", track.title.as_ref());
    table.field("category", track.category.as_ref());
    table.field("mood", track.mood.as_ref());
    table.field("seconds", track.duration.map(|it| it.as_secs_f64()));
    table.field("url", track.url.as_ref());
    table
}
