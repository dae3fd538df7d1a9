//! `svc music`: music generation.

use clap::{Args, Subcommand};
use svc_sdk::contract::Operation;

use crate::args::{PromptArgs, SubmitArgs, headings};
use crate::error::Failure;
use crate::request_body::RequestBody;
use crate::session::Session;
use crate::submit;
use crate::types::SubmitRequest;

/// The subcommands of `svc music`.
#[derive(Debug, Subcommand)]
pub(crate) enum Music {
    /// Generate music, wait for it, and print the result
    Generate(Box<Generate>),
}

/// The flags of `svc music generate`.
#[derive(Args, Debug)]
pub(crate) struct Generate {
    #[command(flatten)]
    prompt: PromptArgs,
    /// Length of the track in seconds
    #[arg(long, value_name = "SECONDS", help_heading = headings::GENERATION)]
    duration: Option<u64>,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, Music::Generate(args): Music) -> Result<(), Failure> {
    let body = RequestBody::read_with_prompt(&args.submit.body, &args.prompt)?
        .with("duration", args.duration)?
        .require_prompt(
            "a prompt, for example: svc music generate \"calm piano\"",
            &args.submit.options.download,
        )?
        .communication(&args.submit.communication)?
        .finish()?;
    let request = SubmitRequest {
        noun: "music track",
        operation: Operation::Music1Generate,
        segments: Vec::new(),
        body,
    };
    submit::developer(session, request, &args.submit).await
}
