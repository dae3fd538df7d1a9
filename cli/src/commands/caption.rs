//! `svc caption`: captions of videos.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::contract::Operation;
use svc_sdk::types::VideoCaptions;

use crate::args::{SubmitArgs, headings};
use crate::error::Failure;
use crate::output::Table;
use crate::request_body::RequestBody;
use crate::session::Session;
use crate::submit;
use crate::tables::add_artifacts;
use crate::types::SubmitRequest;

/// The subcommands of `svc caption`.
#[derive(Debug, Subcommand)]
pub(crate) enum Caption {
    /// Add captions to a video
    Create(Box<Create>),
    /// Show a captioned video
    Get {
        /// Caption id
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// The flags of `svc caption create`.
#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Video to caption (public HTTPS; required)
    #[arg(long, value_name = "URL", help_heading = headings::INPUT)]
    video_url: Option<String>,
    /// Language of the captions, such as en
    #[arg(long, help_heading = headings::GENERATION)]
    language: Option<String>,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, caption: Caption) -> Result<(), Failure> {
    match caption {
        Caption::Create(args) => {
            let body = RequestBody::read(&args.submit.body)?
                .with("video_url", args.video_url.clone())?
                .with("language", args.language.clone())?
                .require_input("--video-url")?
                .communication(&args.submit.communication)?
                .finish()?;
            let request = SubmitRequest {
                noun: "captioned video",
                operation: Operation::VideoCaptionsCreate,
                segments: Vec::new(),
                body,
            };
            submit::developer(session, request, &args.submit).await
        }
        Caption::Get { id } => {
            let client = session.access::<Developer>()?.client;
            let captions = client.captions().get(&id).await?;
            session.printer.print_item(&captions, captions_table)
        }
    }
}

fn captions_table(captions: &VideoCaptions) -> Table {
    let mut table = Table::key_value();
    table.field("id", Some(&captions.id));
    table.status_field("status", captions.status.as_ref());
    table.field("video", captions.video_url.as_ref());
    table.field("job", captions.job_id.as_ref());
    add_artifacts(&mut table, &captions.artifacts);
    table
}
