//! `svc video`: video generation.

use clap::{Args, Subcommand};
use svc_sdk::contract::Operation;

use crate::args::{PromptArgs, SubmitArgs, SurfaceChoice, VideoFields};
use crate::error::Failure;
use crate::request_body::RequestBody;
use crate::session::Session;
use crate::submit;
use crate::types::SubmitRequest;

/// The subcommands of `svc video`.
#[derive(Debug, Subcommand)]
pub(crate) enum Video {
    /// Generate a video, wait for it, and print the result
    Generate(Box<Generate>),
}

/// The flags of `svc video generate`.
#[derive(Args, Debug)]
pub(crate) struct Generate {
    #[command(flatten)]
    prompt: PromptArgs,
    #[command(flatten)]
    fields: VideoFields,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, Video::Generate(args): Video) -> Result<(), Failure> {
    let body = RequestBody::read_with_prompt(&args.submit.body, &args.prompt)?
        .video(&args.fields)?
        .require_prompt(
            "a prompt or a media URL such as --image-url, for example: svc video generate \"a red fox\"",
            &args.submit.options.download,
        )?
        .communication(&args.submit.communication)?;
    let request = |operation, body| SubmitRequest {
        noun: "video",
        operation,
        segments: Vec::new(),
        body,
    };
    match session.surface(args.submit.surface.surface)? {
        SurfaceChoice::Open => {
            let body = body.with_default("model", "auto").finish()?;
            let request = request(Operation::VideoGenerate, body);
            submit::open(session, request, &args.submit).await
        }
        SurfaceChoice::Developer => {
            let request = request(Operation::Video1Generate, body.finish()?);
            submit::developer(session, request, &args.submit).await
        }
    }
}
