//! `svc avatar`: avatars, and what they say.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::contract::Operation;
use svc_sdk::types::Avatar as Entry;

use crate::args::{SearchArgs, SpeechFields, SubmitArgs};
use crate::error::Failure;
use crate::input::read_json;
use crate::output::Table;
use crate::request_body::RequestBody;
use crate::session::Session;
use crate::submit;
use crate::types::SubmitRequest;

/// Avatars.
#[derive(Debug, Subcommand)]
pub(crate) enum Avatar {
    /// Makes an avatar: of --prompt, --props or --image-url.
    Generate(Box<Generate>),
    /// Makes a video that an avatar speaks in.
    TalkingVideo(Box<TalkingVideo>),
    /// Lists the avatars.
    List {
        /// All that the key can see, through the other path.
        #[arg(long)]
        all: bool,
    },
    /// Shows an avatar.
    Get {
        /// Its id.
        #[arg(value_name = "AVATAR_ID")]
        id: String,
        /// Any that the key can see, through the other path.
        #[arg(long)]
        any: bool,
    },
    /// Searches the catalog.
    Search(SearchArgs),
}

/// The flags of `svc avatar generate`.
#[derive(Args, Debug)]
pub(crate) struct Generate {
    /// What the avatar will be called in requests.
    #[arg(long, value_name = "HANDLE", help_heading = "Body")]
    avatar_handle: Option<String>,
    /// Traits: JSON, @FILE, or - for standard input (`input.props`).
    #[arg(long, value_name = "JSON|@FILE|-", help_heading = "Body")]
    props: Option<String>,
    /// A photo (public HTTPS; `input.image_url`).
    #[arg(long, value_name = "URL", help_heading = "Body")]
    image_url: Option<String>,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// The flags of `svc avatar talking-video`.
#[derive(Args, Debug)]
pub(crate) struct TalkingVideo {
    #[command(flatten)]
    speech: SpeechFields,
    /// A product to be shown (public HTTPS).
    #[arg(long, value_name = "URL", help_heading = "Body")]
    product_image: Option<String>,
    /// A picture of where it plays (public HTTPS; `scene.image_url`).
    #[arg(long, value_name = "URL", help_heading = "Body")]
    scene_image_url: Option<String>,
    #[command(flatten)]
    submit: SubmitArgs,
}

/// Runs it.
pub(crate) async fn run(session: &Session, avatar: Avatar) -> Result<(), Failure> {
    match avatar {
        Avatar::Generate(args) => generate(session, &args).await,
        Avatar::TalkingVideo(args) => talking_video(session, &args).await,
        Avatar::List { all } => {
            let client = session.access::<Developer>()?.client;
            let avatars = match all {
                true => client.avatars().list_any().await?,
                false => client.avatars().list().await?,
            };
            session.printer.print_list(&avatars.items, avatars_table)
        }
        Avatar::Get { id, any } => {
            let client = session.access::<Developer>()?.client;
            let avatar = match any {
                true => client.avatars().get_any(&id).await?,
                false => client.avatars().get(&id).await?,
            };
            session.printer.print_item(&avatar, |avatar| {
                let mut table = Table::key_value();
                table.field("id", Some(&avatar.id));
                table.field("handle", avatar.avatar_handle.as_ref());
                table.field("name", avatar.name.as_ref());
                table.field("image", avatar.image_url.as_ref());
                table
            })
        }
        Avatar::Search(args) => {
            let client = session.access::<Developer>()?.client;
            let avatars = client.avatars().search(&args.body()).await?;
            session.printer.print_list(&avatars.items, avatars_table)
        }
    }
}

async fn generate(session: &Session, args: &Generate) -> Result<(), Failure> {
    let props = args.props.as_ref();
    let props = props.map(|json| read_json("--props", json)).transpose()?;
    let body = RequestBody::read(&args.submit.body)?
        .moved_into("prompt", "input")?
        .with("avatar_handle", args.avatar_handle.clone())?
        .with_nested("input", "props", props)?
        .with_nested("input", "image_url", args.image_url.clone())?
        .communication(&args.submit.communication)?
        .finish()?;
    let request = SubmitRequest {
        noun: "avatar",
        operation: Operation::AvatarGenerate,
        segments: Vec::new(),
        body,
    };
    submit::developer(session, request, &args.submit).await
}

async fn talking_video(session: &Session, args: &TalkingVideo) -> Result<(), Failure> {
    let body = RequestBody::read(&args.submit.body)?
        .speech(&args.speech)?
        .with("product_image", args.product_image.clone())?
        .with_nested("scene", "image_url", args.scene_image_url.clone())?
        .communication(&args.submit.communication)?
        .finish()?;
    let request = SubmitRequest {
        noun: "avatar video",
        operation: Operation::AvatarTalkingVideo,
        segments: Vec::new(),
        body,
    };
    submit::developer(session, request, &args.submit).await
}

fn avatars_table(avatars: &[Entry]) -> Table {
    let mut table = Table::new(["id", "handle", "name", "image"]);
    for avatar in avatars {
        table.row([
            &avatar.id,
            avatar.avatar_handle.as_deref().unwrap_or_default(),
            avatar.name.as_deref().unwrap_or_default(),
            avatar.image_url.as_deref().unwrap_or_default(),
        ]);
    }
    table
}
