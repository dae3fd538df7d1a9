//! `svc caption`: captions of videos.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::contract::Operation;
use svc_sdk::types::VideoCaptions;

use crate::args::SubmitArgs;
use crate::error::Failure;
use crate::output::Table;
use crate::request_body::RequestBody;
use crate::session::Session;
use crate::submit;
use crate::tables::add_artifacts;
use crate::types::SubmitRequest;

/// Captions of videos.
#[derive(Debug, Subcommand)]
pub(crate) enum Caption {
    /// Captions a video.
    Create(Box<Create>),
    /// Shows a captioning.
    Get {
        /// Its id.
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// The flags of `svc caption create`.
#[derive(Args, Debug)]
pub(crate) struct Create {
    /// The video (public HTTPS).
    #[arg(long, value_name = "URL", help_heading = "Body")]
    video_url: Option<String>,
    /// The language of the captions, as `en`.
    #[arg(long, help_heading = "Body")]
    language: Option<String>,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// Runs it.
pub(crate) async fn run(session: &Session, caption: Caption) -> Result<(), Failure> {
    match caption {
        Caption::Create(args) => {
            let body = RequestBody::read(&args.submit.body)?
                .with("video_url", args.video_url.clone())?
                .with("language", args.language.clone())?
                .communication(&args.submit.communication)?
                .finish()?;
            let request = SubmitRequest {
                noun: "captioning",
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
    table.field("status", captions.status.as_ref());
    table.field("video", captions.video_url.as_ref());
    table.field("job", captions.job_id.as_ref());
    add_artifacts(&mut table, &captions.artifacts);
    table
}
