//! `svc avatar-video`: videos in which avatars speak.

use clap::Subcommand;
use svc_sdk::Developer;

use crate::error::Failure;
use crate::output::Table;
use crate::session::Session;
use crate::tables;

/// The subcommands of `svc avatar-video`.
#[derive(Debug, Subcommand)]
pub(crate) enum AvatarVideo {
    /// List avatar videos
    List,
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
        AvatarVideo::List => {
            let videos = client.avatar_videos().list().await?.items;
            session.printer.print_list(&videos, |videos| {
                let mut table = Table::new(["id", "status", "avatar", "job"]);
                for video in videos {
                    table.row([
                        &video.id,
                        video.status.as_deref().unwrap_or_default(),
                        video.avatar_handle.as_deref().unwrap_or_default(),
                        video.job_id.as_ref().map_or("", |id| id.as_str()),
                    ]);
                }
                table
            })
        }
        AvatarVideo::Get { id } => {
            let video = client.avatar_videos().get(&id).await?;
            session.printer.print_item(&video, tables::avatar_video)
        }
    }
}
