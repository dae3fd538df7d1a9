//! `svc model`: models, and compatibility aliases.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value};
use svc_sdk::Open;
use svc_sdk::contract::Operation;
use svc_sdk::types::Model as Entry;

use crate::args::{
    AvatarFields, ListArgs, PromptArgs, SubmitArgs, VideoMedia, VideoProperties, headings,
};
use crate::commands::operations::command_of;
use crate::error::{Failure, Result};
use crate::listing::Listing;
use crate::output::Table;
use crate::output::layout::{cut, number, required, whole};
use crate::request::SubmitRequest;
use crate::request::body::RequestBody;
use crate::session::Session;
use crate::submit;

#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    /// List models
    List {
        /// Only models of this type
        #[arg(long = "type", value_name = "TYPE")]
        model_type: Option<ModelType>,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Show a model
    Get {
        /// Model id
        #[arg(value_name = "MODEL_ID")]
        id: String,
        /// Type of the model [default: search both]
        #[arg(long = "type", value_name = "TYPE")]
        model_type: Option<ModelType>,
    },
    /// Submit a request through a compatibility alias; prefer the canonical command
    Run(Box<RunAlias>),
}

#[derive(Args, Debug)]
pub(crate) struct RunAlias {
    /// Alias, such as image-1.0 or avatar/v1.0
    #[arg(value_name = "ALIAS", value_parser = parse_alias)]
    alias: Alias,
    #[command(flatten)]
    fields: AliasFields,
    #[command(flatten)]
    submit: SubmitArgs,
    /// Owner in the path [env: SVC_FIRST_PARTY_OWNER]
    #[arg(long, help_heading = headings::REQUEST)]
    owner: Option<String>,
}

/// Flags for the fields of all aliases. The service rejects those that an alias does not have.
#[derive(Args, Debug)]
struct AliasFields {
    #[command(flatten)]
    prompt: PromptArgs,
    #[command(flatten)]
    media: VideoMedia,
    #[command(flatten)]
    avatar: AvatarFields,
    #[command(flatten)]
    properties: VideoProperties,
    /// Number of images
    #[arg(long, value_name = "N", help_heading = headings::GENERATION)]
    num_images: Option<u64>,
}

fn parse_alias(name: &str) -> Result<Alias, String> {
    Alias::from_name(name).ok_or_else(|| {
        let known: Vec<_> = Alias::all().map(Alias::name).collect();
        format!("expected one of {}", known.join(", "))
    })
}

/// The type of a model's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelType {
    /// Image models
    Image,
    /// Video models
    Video,
}

pub(crate) async fn run(session: &Session, model: Model) -> Result {
    match model {
        Model::List { model_type, list: args } => list(session, model_type, &args).await,
        Model::Get { id, model_type } => get(session, &id, model_type).await,
        Model::Run(args) => run_alias(session, &args).await,
    }
}

async fn run_alias(session: &Session, args: &RunAlias) -> Result {
    let owner = session.first_party_owner(args.owner.as_deref())?;
    let body = alias_body(args)?;
    if let Some(canonical) = args.alias.canonical() {
        let preferred = command_of(canonical);
        session
            .printer
            .note(&format!("{} is a compatibility alias; prefer {preferred}", args.alias.name()));
    }
    let request = SubmitRequest {
        noun: "request",
        operation: args.alias.operation(),
        segments: vec![owner],
        body,
    };
    submit::developer(session, request, &args.submit).await
}

fn alias_body(args: &RunAlias) -> Result<Map<String, Value>> {
    let fields = &args.fields;
    if fields.prompt.given().is_some() && !args.alias.has_prompt() {
        let why = format!("{} does not take a prompt", args.alias.name());
        return Err(Failure::usage(why));
    }
    let body = RequestBody::read_with_prompt(&args.submit.body, &fields.prompt)?
        .flags(&fields.media)?
        .avatar(&fields.avatar)?
        .flags(&fields.properties)?
        .with("num_images", fields.num_images)?;
    let body = match args.alias.canonical() {
        Some(Operation::AvatarGenerate) => {
            body.moved_into("prompt", "input")?.moved_into("image_url", "input")?
        }
        _ => body,
    };
    let what_to_pass = "a prompt, or what the alias takes, such as --script";
    body.require_prompt(what_to_pass, None, &args.submit.options.download)?
        .communication(&args.submit.communication)?
        .finish()
}

async fn list(session: &Session, model_type: Option<ModelType>, args: &ListArgs) -> Result {
    let client = session.access::<Open>()?.client;
    let images = || client.models().list_images();
    let videos = || client.models().list_videos();
    let listing = Listing::new(session, args, "models").without_limit_parameter();
    match model_type {
        Some(ModelType::Image) => listing.print(images, list_table).await,
        Some(ModelType::Video) => listing.print(videos, list_table).await,
        None => listing.print_joined(&[&images, &videos], list_table).await,
    }
}

fn list_table(models: &[Entry]) -> Table {
    let mut table = Table::new([
        required("id"),
        whole("type"),
        cut("name"),
        number("seconds"),
        cut("resolutions"),
        cut("inputs"),
    ]);
    for model in models {
        let capabilities = model.capabilities.as_ref();
        table.row([
            &model.id,
            model.model_type.as_deref().unwrap_or_default(),
            model.name.as_deref().unwrap_or_default(),
            &seconds(model),
            &capabilities.map_or_else(String::new, |it| it.resolutions.join(", ")),
            &capabilities.map_or_else(String::new, |it| it.inputs.join(", ")),
        ]);
    }
    table
}

async fn get(session: &Session, id: &str, model_type: Option<ModelType>) -> Result {
    let client = session.access::<Open>()?.client;
    let model = match model_type {
        Some(ModelType::Image) => client.models().get_image(id).await?,
        Some(ModelType::Video) => client.models().get_video(id).await?,
        None => match client.models().get_video(id).await {
            Err(error) if error.is_not_found() => client.models().get_image(id).await?,
            result => result?,
        },
    };
    session.printer.print_item(&model, |model| {
        let capabilities = model.capabilities.as_ref();
        let mut table = Table::key_value();
        table.fields(model, "id, name, type, inputs=capabilities.inputs");
        table.field("seconds", Some(seconds(model)).filter(|text| !text.is_empty()));
        table.field("resolutions", capabilities.map(|it| it.resolutions.join(", ")));
        table.field("aspect ratios", capabilities.map(|it| it.aspect_ratios.join(", ")));
        table.field("prices", Some(session.command(&["pricing", "get", &model.id])));
        table
    })
}

fn seconds(model: &Entry) -> String {
    let capabilities = model.capabilities.as_ref();
    let bounds = capabilities.and_then(|it| it.duration_seconds.as_ref());
    bounds
        .map(|bounds| match bounds.min == bounds.max {
            true => bounds.min.to_string(),
            false => format!("{} to {}", bounds.min, bounds.max),
        })
        .unwrap_or_default()
}

/// A compatibility alias of an operation, under `/v1/models`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alias(Operation);

impl Alias {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let all = Operation::ALL.iter().copied().map(Self);
        all.filter(|alias| alias.segment().is_some())
    }

    pub(crate) const fn operation(self) -> Operation {
        self.0
    }

    /// Returns the canonical operation, which is preferred, if there is one.
    pub(crate) const fn canonical(self) -> Option<Operation> {
        match self.0 {
            Operation::AliasAvatarV10 | Operation::AliasAvatar10Generate => {
                Some(Operation::AvatarGenerate)
            }
            Operation::AliasAvatar10TalkingVideo | Operation::AliasAvatarVideoV10 => {
                Some(Operation::AvatarTalkingVideo)
            }
            Operation::AliasImage10 => Some(Operation::Image1Generate),
            Operation::AliasVideo10 => Some(Operation::Video1Generate),
            Operation::AliasMusic10 => Some(Operation::Music1Generate),
            _ => None,
        }
    }

    pub(crate) fn has_prompt(self) -> bool {
        self.canonical().is_some_and(|operation| operation != Operation::AvatarTalkingVideo)
    }

    /// Returns the name: the part of the path between the owner and `/runs`.
    pub(crate) fn name(self) -> &'static str {
        self.segment().unwrap_or_default()
    }

    fn segment(self) -> Option<&'static str> {
        let path = self.0.path().strip_prefix("/v1/models/{first_party_owner}/");
        path?.strip_suffix("/runs")
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|alias| alias.name() == name)
    }
}
