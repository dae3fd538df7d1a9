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

/// Previews of avatar videos.
#[derive(Debug, Subcommand)]
pub(crate) enum Preview {
    /// Makes a preview.
    Create(Box<Create>),
    /// Shows a preview.
    Get {
        /// Its id.
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Makes a preview again.
    Regenerate(Box<PreviewIdArgs>),
    /// Makes the video of a preview.
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

/// The flags of a submit that goes on with a preview.
#[derive(Args, Debug)]
pub(crate) struct PreviewIdArgs {
    /// The preview's id.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// Runs it.
pub(crate) async fn run(session: &Session, preview: Preview) -> Result<(), Failure> {
    match preview {
        Preview::Create(args) => {
            let body = RequestBody::read(&args.submit.body)?
                .speech(&args.speech)?
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
