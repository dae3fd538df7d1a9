//! `svc avatar-video`: videos in which avatars speak.

use clap::Subcommand;
use svc_sdk::Developer;
use svc_sdk::types::AvatarVideo as Entry;

use crate::args::ListArgs;
use crate::error::Failure;
use crate::listing::Listing;
use crate::output::{Column, Table};
use crate::session::Session;
use crate::tables;

/// The subcommands of `svc avatar-video`.
#[derive(Debug, Subcommand)]
pub(crate) enum AvatarVideo {
    /// List avatar videos
    List(ListArgs),
    /// Show an avatar video
    Get {
        /// Avatar video id
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// Runs the command.
pub(crate) async fn run(session: &Session, video: AvatarVideo) -> Result<(), Failure> {
    let client = session.access::<Developer>()?.client;
    match video {
        AvatarVideo::List(list) => {
            let listing = Listing::new(session, &list, "avatar videos");
            let call = || client.avatar_videos().list();
            listing.print(call, list_table).await
        }
        AvatarVideo::Get { id } => {
            let video = client.avatar_videos().get(&id).await?;
            session.printer.print_item(&video, tables::avatar_video)
        }
    }
}

fn list_table(videos: &[Entry]) -> Table {
    let mut table = Table::new([
        Column::required("id"),
        Column::status("status"),
        Column::whole("avatar"),
        Column::whole("job"),
    ]);
    for video in videos {
        table.row([
            &video.id,
            video.status.as_deref().unwrap_or_default(),
            video.avatar_handle.as_deref().unwrap_or_default(),
            video.job_id.as_ref().map_or("", |id| id.as_str()),
        ]);
    }
    table
}
