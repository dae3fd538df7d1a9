//! `svc image`, `svc video`, `svc music` and `svc caption`: images, videos and music from prompts.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::contract::Operation;
use svc_sdk::types::VideoCaptions;

use crate::args::{ImageFields, PromptArgs, SubmitArgs, SurfaceChoice, VideoFields, headings};
use crate::error::{Failure, Result, Suggestion};
use crate::output::Table;
use crate::output::values::add_artifacts;
use crate::request::SubmitRequest;
use crate::request::body::RequestBody;
use crate::session::Session;
use crate::submit;

#[derive(Debug, Subcommand)]
pub(crate) enum Image {
    /// Generate an image, wait for it, and print the result
    Generate(Box<GenerateImage>),
}

#[derive(Args, Debug)]
pub(crate) struct GenerateImage {
    #[command(flatten)]
    prompt: PromptArgs,
    #[command(flatten)]
    fields: ImageFields,
    #[command(flatten)]
    submit: SubmitArgs,
}

pub(crate) async fn image(session: &Session, Image::Generate(args): Image) -> Result {
    let body = RequestBody::read_with_prompt(&args.submit.body, &args.prompt)?
        .flags(&args.fields)?
        .require_prompt(
            "a prompt",
            Some((&["image", "generate"], "\"a red fox\" --model image-i")),
            &args.submit.options.download,
        )?
        .communication(&args.submit.communication)?
        .finish()?;
    let surface = session.surface(args.submit.surface.surface)?;
    if surface == SurfaceChoice::Open && !body.contains_key("model") {
        return Err(Failure::usage("--model is required").hint(
            Suggestion::from("list the models with: ").svc(["model", "list", "--type", "image"]),
        ));
    }
    let request = |operation| SubmitRequest::new("image", operation, body);
    match surface {
        SurfaceChoice::Open => {
            submit::open(session, request(Operation::ImageGenerate), &args.submit).await
        }
        SurfaceChoice::Developer => {
            submit::developer(session, request(Operation::Image1Generate), &args.submit).await
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Video {
    /// Generate a video, wait for it, and print the result
    Generate(Box<GenerateVideo>),
}

#[derive(Args, Debug)]
pub(crate) struct GenerateVideo {
    #[command(flatten)]
    prompt: PromptArgs,
    #[command(flatten)]
    fields: VideoFields,
    #[command(flatten)]
    submit: SubmitArgs,
}

pub(crate) async fn video(session: &Session, Video::Generate(args): Video) -> Result {
    let body = RequestBody::read_with_prompt(&args.submit.body, &args.prompt)?
        .flags(&args.fields)?
        .require_prompt(
            "a prompt or a media URL such as --image-url",
            Some((&["video", "generate"], "\"a red fox\"")),
            &args.submit.options.download,
        )?
        .communication(&args.submit.communication)?;
    match session.surface(args.submit.surface.surface)? {
        SurfaceChoice::Open => {
            let body = body.with_default("model", "auto").finish()?;
            let request = SubmitRequest::new("video", Operation::VideoGenerate, body);
            submit::open(session, request, &args.submit).await
        }
        SurfaceChoice::Developer => {
            let request = SubmitRequest::new("video", Operation::Video1Generate, body.finish()?);
            submit::developer(session, request, &args.submit).await
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Music {
    /// Generate music, wait for it, and print the result
    Generate(Box<GenerateMusic>),
}

#[derive(Args, Debug)]
pub(crate) struct GenerateMusic {
    #[command(flatten)]
    prompt: PromptArgs,
    /// Length of the track in seconds
    #[arg(long, value_name = "SECONDS", help_heading = headings::GENERATION)]
    duration: Option<u64>,
    #[command(flatten)]
    submit: SubmitArgs,
}

pub(crate) async fn music(session: &Session, Music::Generate(args): Music) -> Result {
    let body = RequestBody::read_with_prompt(&args.submit.body, &args.prompt)?
        .with("duration", args.duration)?
        .require_prompt(
            "a prompt",
            Some((&["music", "generate"], "\"calm piano\"")),
            &args.submit.options.download,
        )?
        .communication(&args.submit.communication)?
        .finish()?;
    let request = SubmitRequest::new("music track", Operation::Music1Generate, body);
    submit::developer(session, request, &args.submit).await
}

#[derive(Debug, Subcommand)]
pub(crate) enum Caption {
    /// Add captions to a video
    Create(Box<CreateCaptions>),
    /// Show a captioned video
    Get {
        /// Caption id
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Args, Debug)]
pub(crate) struct CreateCaptions {
    /// Video to caption (public HTTPS; required)
    #[arg(long, value_name = "URL", help_heading = headings::INPUT)]
    video_url: Option<String>,
    /// Language of the captions, such as en
    #[arg(long, help_heading = headings::GENERATION)]
    language: Option<String>,
    #[command(flatten)]
    submit: SubmitArgs,
}

pub(crate) async fn caption(session: &Session, caption: Caption) -> Result {
    match caption {
        Caption::Create(args) => {
            let body = RequestBody::read(&args.submit.body)?
                .with("video_url", args.video_url.clone())?
                .with("language", args.language.clone())?
                .require_input("--video-url")?
                .communication(&args.submit.communication)?
                .finish()?;
            let request =
                SubmitRequest::new("captioned video", Operation::VideoCaptionsCreate, body);
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
    let mut table = Table::of(captions, "id, status, video=video_url, job=job_id");
    add_artifacts(&mut table, &captions.artifacts);
    table
}
