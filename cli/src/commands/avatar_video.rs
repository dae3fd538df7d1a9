//! `svc avatar-video`: videos that avatars speak in.

use clap::Subcommand;
use svc_sdk::Developer;
use svc_sdk::types::AvatarVideo as Entry;

use crate::failure::Failure;
use crate::output::Table;
use crate::session::Session;

/// Videos that avatars speak in.
#[derive(Debug, Subcommand)]
pub(crate) enum AvatarVideo {
    /// Lists avatar videos.
    List,
    /// Shows an avatar video.
    Get {
        /// Its id.
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// Runs it.
pub(crate) async fn run(session: &Session, video: AvatarVideo) -> Result<(), Failure> {
    let client = session.access::<Developer>()?.client;
    match video {
        AvatarVideo::List => {
            let videos = client.avatar_videos_list().send().await?.items;
            session.printer.many(&videos, |videos| {
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
            let video = client.avatar_videos_get(&id).send().await?;
            session.printer.one(&video, entry_table)
        }
    }
}

/// An avatar video, or a preview of one.
pub(crate) fn entry_table(video: &Entry) -> Table {
    let mut table = Table::of_fields();
    table.field("id", Some(&video.id));
    table.field("status", video.status.as_ref());
    table.field("avatar", video.avatar_handle.as_ref());
    table.field("job", video.job_id.as_ref());
    for artifact in &video.artifacts {
        let kind = artifact.content_type.as_deref().unwrap_or("artifact");
        table.field(kind, Some(&artifact.url));
    }
    table
}
