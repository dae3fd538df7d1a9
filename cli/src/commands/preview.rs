//! `svc preview`: previews of avatar videos.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::contract::Operation;

use crate::args::{SpeechFields, SubmitArgs};
use crate::error::Failure;
use crate::request_body::RequestBody;
use crate::session::Session;
use crate::submit;
use crate::tables;
use crate::types::SubmitRequest;

/// The subcommands of `svc preview`.
#[derive(Debug, Subcommand)]
pub(crate) enum Preview {
    /// Create a preview of an avatar video
    Create(Box<Create>),
    /// Show a preview
    Get {
        /// Preview id
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Regenerate a preview
    Regenerate(Box<PreviewIdArgs>),
    /// Generate the full video of a preview
    GenerateVideo(Box<PreviewIdArgs>),
}

/// The flags of `svc preview create`.
#[derive(Args, Debug)]
pub(crate) struct Create {
    #[command(flatten)]
    speech: SpeechFields,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// The flags of `svc preview regenerate` and `svc preview generate-video`.
#[derive(Args, Debug)]
pub(crate) struct PreviewIdArgs {
    /// Preview id
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, preview: Preview) -> Result<(), Failure> {
    match preview {
        Preview::Create(args) => {
            let body = RequestBody::read(&args.submit.body)?
                .speech(&args.speech)?
                .require_input("--script or --video-inputs")?
                .communication(&args.submit.communication)?
                .finish()?;
            let request = SubmitRequest {
                noun: "preview",
                operation: Operation::AvatarPreviewsCreate,
                segments: Vec::new(),
                body,
            };
            submit::developer(session, request, &args.submit).await
        }
        Preview::Get { id } => {
            let client = session.access::<Developer>()?.client;
            let preview = client.previews().get(&id).await?;
            session.printer.print_item(&preview, tables::avatar_video)
        }
        Preview::Regenerate(args) => {
            let operation = Operation::AvatarPreviewsRegenerate;
            submit_for_preview(session, "preview", operation, *args).await
        }
        Preview::GenerateVideo(args) => {
            let operation = Operation::AvatarPreviewsGenerateVideo;
            submit_for_preview(session, "avatar video", operation, *args).await
        }
    }
}

async fn submit_for_preview(
    session: &Session,
    noun: &'static str,
    operation: Operation,
    args: PreviewIdArgs,
) -> Result<(), Failure> {
    let body = RequestBody::read(&args.submit.body)?
        .communication(&args.submit.communication)?
        .finish()?;
    let request = SubmitRequest {
        noun,
        operation,
        segments: vec![args.id],
        body,
    };
    submit::developer(session, request, &args.submit).await
}
