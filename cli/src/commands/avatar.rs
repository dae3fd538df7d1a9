//! `svc avatar`, `svc avatar-video` and `svc preview`: avatars, and videos in which they speak.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::contract::Operation;
use svc_sdk::types::{Avatar as AvatarEntry, AvatarVideo as AvatarVideoEntry};

use crate::args::{
    ListArgs, PromptArgs, SceneFields, SearchArgs, SpeechFields, SubmitArgs, headings,
};
use crate::error::Result;
use crate::listing::Listing;
use crate::output::layout::{cut, required, status, whole};
use crate::output::{Table, values};
use crate::request::SubmitRequest;
use crate::request::body::{RequestBody, search_query};
use crate::session::Session;
use crate::submit;

#[derive(Debug, Subcommand)]
pub(crate) enum Avatar {
    /// Generate an avatar from a prompt, traits or a photo
    Generate(Box<Generate>),
    /// Generate a video in which an avatar speaks
    TalkingVideo(Box<TalkingVideo>),
    /// List avatars
    List {
        /// Include avatars of others that the key can see
        #[arg(long)]
        any: bool,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Show an avatar
    Get {
        /// Avatar id
        #[arg(value_name = "AVATAR_ID")]
        id: String,
        /// Allow avatars of others that the key can see
        #[arg(long)]
        any: bool,
    },
    /// Search the avatar catalog
    Search(SearchArgs),
}

#[derive(Args, Debug)]
pub(crate) struct Generate {
    #[command(flatten)]
    prompt: PromptArgs,
    /// Handle of the new avatar (required)
    #[arg(long, value_name = "HANDLE", help_heading = headings::INPUT)]
    avatar_handle: Option<String>,
    /// Traits (input.props): JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", help_heading = headings::INPUT)]
    props: Option<String>,
    /// Photo (input.image_url; public HTTPS)
    #[arg(long, visible_alias = "photo", value_name = "URL", help_heading = headings::INPUT)]
    image_url: Option<String>,
    #[command(flatten)]
    submit: SubmitArgs,
}

#[derive(Args, Debug)]
pub(crate) struct TalkingVideo {
    #[command(flatten)]
    speech: SpeechFields,
    #[command(flatten)]
    scene: SceneFields,
    #[command(flatten)]
    submit: SubmitArgs,
}

pub(crate) async fn avatar(session: &Session, avatar: Avatar) -> Result {
    match avatar {
        Avatar::Generate(args) => generate(session, &args).await,
        Avatar::TalkingVideo(args) => talking_video(session, &args).await,
        Avatar::List { any, list } => {
            let client = session.access::<Developer>()?.client;
            let call = || if any { client.avatars().list_any() } else { client.avatars().list() };
            let listing = Listing::new(session, &list, "avatars");
            listing.print(call, avatars_table).await
        }
        Avatar::Get { id, any } => {
            let client = session.access::<Developer>()?.client;
            let avatar = match any {
                true => client.avatars().get_any(&id).await?,
                false => client.avatars().get(&id).await?,
            };
            let fields = "id, handle=avatar_handle, name, image=image_url";
            session.printer.print_item(&avatar, |avatar| Table::of(avatar, fields))
        }
        Avatar::Search(args) => {
            let client = session.access::<Developer>()?.client;
            let body = search_query(&args)?;
            let call = || client.avatars().search(body.clone());
            let listing = Listing::new(session, &args.list, "avatars").without_limit_parameter();
            listing.print(call, avatars_table).await
        }
    }
}

async fn generate(session: &Session, args: &Generate) -> Result {
    let body = RequestBody::read_with_prompt(&args.submit.body, &args.prompt)?
        .moved_into("prompt", "input")?
        .with("avatar_handle", args.avatar_handle.clone())?
        .props(args.props.as_deref())?
        .with_nested("input", "image_url", args.image_url.clone())?
        .require_prompt(
            "a prompt, --props or --image-url",
            Some((&["avatar", "generate"], "\"a friendly chef\" --avatar-handle chef")),
            &args.submit.options.download,
        )?
        .communication(&args.submit.communication)?
        .finish()?;
    let request = SubmitRequest::new("avatar", Operation::AvatarGenerate, body);
    submit::developer(session, request, &args.submit).await
}

async fn talking_video(session: &Session, args: &TalkingVideo) -> Result {
    let body = RequestBody::read(&args.submit.body)?
        .speech(&args.speech)?
        .scene(&args.scene)?
        .require_input("--script or --video-inputs")?
        .communication(&args.submit.communication)?
        .finish()?;
    let request = SubmitRequest::new("avatar video", Operation::AvatarTalkingVideo, body);
    submit::developer(session, request, &args.submit).await
}

fn avatars_table(avatars: &[AvatarEntry]) -> Table {
    let columns =
        [required("id"), whole("handle=avatar_handle"), cut("name"), whole("image=image_url")];
    Table::rows(avatars, columns)
}

#[derive(Debug, Subcommand)]
pub(crate) enum AvatarVideo {
    /// List avatar videos
    List(ListArgs),
    /// Show an avatar video
    Get {
        /// Avatar video id
        #[arg(value_name = "ID")]
        id: String,
    },
}

pub(crate) async fn avatar_video(session: &Session, video: AvatarVideo) -> Result {
    let client = session.access::<Developer>()?.client;
    match video {
        AvatarVideo::List(list) => {
            let listing = Listing::new(session, &list, "avatar videos");
            let call = || client.avatar_videos().list();
            listing.print(call, videos_table).await
        }
        AvatarVideo::Get { id } => {
            let video = client.avatar_videos().get(&id).await?;
            session.printer.print_item(&video, values::avatar_video)
        }
    }
}

fn videos_table(videos: &[AvatarVideoEntry]) -> Table {
    let columns =
        [required("id"), status("status"), whole("avatar=avatar_handle"), whole("job=job_id")];
    Table::rows(videos, columns)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Preview {
    /// Create a preview of an avatar video
    Create(Box<CreatePreview>),
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

#[derive(Args, Debug)]
pub(crate) struct CreatePreview {
    #[command(flatten)]
    speech: SpeechFields,
    #[command(flatten)]
    submit: SubmitArgs,
}

#[derive(Args, Debug)]
pub(crate) struct PreviewIdArgs {
    /// Preview id
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    submit: SubmitArgs,
}

pub(crate) async fn preview(session: &Session, preview: Preview) -> Result {
    match preview {
        Preview::Create(args) => {
            let body = RequestBody::read(&args.submit.body)?
                .speech(&args.speech)?
                .require_input("--script or --video-inputs")?
                .communication(&args.submit.communication)?
                .finish()?;
            let request = SubmitRequest::new("preview", Operation::AvatarPreviewsCreate, body);
            submit::developer(session, request, &args.submit).await
        }
        Preview::Get { id } => {
            let client = session.access::<Developer>()?.client;
            let preview = client.previews().get(&id).await?;
            session.printer.print_item(&preview, values::avatar_video)
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
) -> Result {
    let body = RequestBody::read(&args.submit.body)?
        .communication(&args.submit.communication)?
        .finish()?;
    let request = SubmitRequest { noun, operation, segments: vec![args.id], body };
    submit::developer(session, request, &args.submit).await
}
