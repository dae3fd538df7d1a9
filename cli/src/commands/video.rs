//! `svc video`.

use clap::{Args, Subcommand};
use svc_sdk::contract::Operation;

use crate::args::{SubmitArgs, SurfaceChoice, VideoFields};
use crate::error::Failure;
use crate::request_body::Body;
use crate::session::Session;
use crate::submit;
use crate::types::Order;

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
        .communication(&args.submit.communication)?;
    let order = |operation, body| Order {
        noun: "video",
        operation,
        segments: Vec::new(),
        body,
    };
    match session.surface(args.submit.surface.surface)? {
        SurfaceChoice::Open => {
            let body = body.otherwise("model", "auto").finish()?;
            let order = order(Operation::VideoGenerate, body);
            submit::open(session, order, &args.submit).await
        }
        SurfaceChoice::Developer => {
            let order = order(Operation::Video1Generate, body.finish()?);
            submit::developer(session, order, &args.submit).await
        }
    }
}
