//! `svc video`.

use clap::{Args, Subcommand};
use svc_sdk::contract::Operation;

use crate::args::{SubmitArgs, VideoFields};
use crate::body::Body;
use crate::failure::Failure;
use crate::session::Session;
use crate::submit::{self, Order};

/// Videos.
#[derive(Debug, Subcommand)]
pub(crate) enum Video {
    /// Makes a video, waits for it, and prints where it is.
    Generate(Box<Generate>),
}

/// The flags of `svc video generate`.
#[derive(Args, Debug)]
pub(crate) struct Generate {
    #[command(flatten)]
    fields: VideoFields,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// Runs it.
pub(crate) async fn run(session: &Session, Video::Generate(args): Video) -> Result<(), Failure> {
    let body = Body::read(&args.submit.body)?
        .video(&args.fields)?
        .communication(&args.submit.communication)?
        .otherwise("model", "auto")
        .finish()?;
    let order = Order {
        noun: "video",
        operation: Operation::VideoGenerate,
        body,
    };
    submit::run(session, order, &args.submit).await
}
