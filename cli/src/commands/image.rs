//! `svc image`: image generation.

use clap::{Args, Subcommand};
use svc_sdk::contract::Operation;

use crate::args::{ImageFields, PromptArgs, SubmitArgs, SurfaceChoice};
use crate::error::Failure;
use crate::request_body::RequestBody;
use crate::session::Session;
use crate::submit;
use crate::types::SubmitRequest;

/// The subcommands of `svc image`.
#[derive(Debug, Subcommand)]
pub(crate) enum Image {
    /// Generate an image, wait for it, and print the result
    Generate(Box<Generate>),
}

/// The flags of `svc image generate`.
#[derive(Args, Debug)]
pub(crate) struct Generate {
    #[command(flatten)]
    prompt: PromptArgs,
    #[command(flatten)]
    fields: ImageFields,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, Image::Generate(args): Image) -> Result<(), Failure> {
    let body = RequestBody::read_with_prompt(&args.submit.body, &args.prompt)?
        .image(&args.fields)?
        .require_prompt(
            "a prompt, for example: svc image generate \"a red fox\" --model image-i",
            &args.submit.options.download,
        )?
        .communication(&args.submit.communication)?
        .finish()?;
    let surface = session.surface(args.submit.surface.surface)?;
    if surface == SurfaceChoice::Open && !body.contains_key("model") {
        return Err(Failure::usage("--model is required")
            .hint("list the models with: svc model list --type image"));
    }
    let request = |operation| SubmitRequest {
        noun: "image",
        operation,
        segments: Vec::new(),
        body,
    };
    match surface {
        SurfaceChoice::Open => {
            submit::open(session, request(Operation::ImageGenerate), &args.submit).await
        }
        SurfaceChoice::Developer => {
            submit::developer(session, request(Operation::Image1Generate), &args.submit).await
        }
    }
}
