//! `svc model`, `svc pricing` and `svc estimate`: models, their prices, and compatibility aliases.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value};
use svc_sdk::Open;
use svc_sdk::contract::Operation;
use svc_sdk::types::{CatalogModel, Model as Entry};

use crate::args::{
    AvatarFields, BodyArgs, ListArgs, PromptArgs, SubmitArgs, VideoFields, VideoMedia,
    VideoProperties, headings,
};
use crate::commands::operations::command_of;
use crate::error::{Failure, Result};
use crate::listing::Listing;
use crate::output::Table;
use crate::output::layout::{cut, number, required, whole};
use crate::output::values::money;
use crate::request::body::RequestBody;
use crate::request::{SubmitRequest, pricing};
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
    alias: Operation,
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

fn parse_alias(name: &str) -> Result<Operation, String> {
    let alias = Operation::ALL.iter().find(|alias| alias_name(**alias) == Some(name));
    alias.copied().ok_or_else(|| {
        let known: Vec<_> = Operation::ALL.iter().filter_map(|alias| alias_name(*alias)).collect();
        format!("expected one of {}", known.join(", "))
    })
}

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
    if let Some(preferred) = canonical(args.alias).map(command_of) {
        let name = alias_name(args.alias).unwrap_or_default();
        session.printer.note(&format!("{name} is a compatibility alias; prefer {preferred}"));
    }
    let (operation, segments) = (args.alias, vec![owner]);
    let request = SubmitRequest { noun: "request", operation, segments, body };
    submit::developer(session, request, &args.submit).await
}

fn alias_body(args: &RunAlias) -> Result<Map<String, Value>> {
    let (fields, canonical) = (&args.fields, canonical(args.alias));
    let has_prompt = canonical.is_some_and(|it| it != Operation::AvatarTalkingVideo);
    if fields.prompt.given().is_some() && !has_prompt {
        let name = alias_name(args.alias).unwrap_or_default();
        return Err(Failure::usage(format!("{name} does not take a prompt")));
    }
    let body = RequestBody::read_with_prompt(&args.submit.body, &fields.prompt)?
        .flags(&fields.media)?
        .avatar(&fields.avatar)?
        .flags(&fields.properties)?
        .with("num_images", fields.num_images)?;
    let body = match canonical {
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

#[derive(Debug, Subcommand)]
pub(crate) enum Pricing {
    /// List models of the open surface with their prices
    List(ListArgs),
    /// Show the prices of a model
    Get {
        /// Model id
        #[arg(value_name = "MODEL_ID")]
        id: String,
    },
}

pub(crate) async fn pricing(session: &Session, pricing: Pricing) -> Result {
    let client = session.access::<Open>()?.client;
    match pricing {
        Pricing::List(list) => {
            let listing = Listing::new(session, &list, "models").without_limit_parameter();
            let call = || client.pricing().list();
            listing.print(call, |models| rates(models.iter())).await
        }
        Pricing::Get { id } => {
            let model = client.pricing().get(&id).await?;
            session.printer.print_item(&model, |model| rates(std::iter::once(model)))
        }
    }
}

fn rates<'a>(models: impl Iterator<Item = &'a CatalogModel>) -> Table {
    let mut table = Table::new([
        required("id"),
        whole("type"),
        whole("resolution"),
        number("price"),
        required("per"),
    ]);
    for model in models {
        let kind = model.model_type.as_deref().unwrap_or_default();
        match &model.pricing {
            Some(pricing) => {
                for rate in &pricing.rates {
                    let resolution = rate.resolution.as_deref().unwrap_or_default();
                    table.row([
                        &model.id,
                        kind,
                        resolution,
                        &money(rate.unit_price_usd),
                        &pricing.unit,
                    ]);
                }
            }
            None => table.row([&model.id, kind, "", "", ""]),
        }
    }
    table
}

#[derive(Args, Debug)]
pub(crate) struct Estimate {
    #[command(flatten)]
    prompt: PromptArgs,
    #[command(flatten)]
    fields: VideoFields,
    /// Number of images
    #[arg(long, value_name = "N", help_heading = headings::GENERATION)]
    num_images: Option<u64>,
    #[command(flatten)]
    body: BodyArgs,
}

pub(crate) async fn estimate(session: &Session, args: Estimate) -> Result {
    let mut body = RequestBody::read_with_prompt(&args.body, &args.prompt)?.flags(&args.fields)?;
    body.set("num_images", args.num_images)?;
    let body = body.with_default("model", "auto").finish()?;
    let client = session.access::<Open>()?.client;
    let estimate = client.estimates().create(pricing::estimate_request(&body)).await?;
    session.printer.print_item(&estimate, |estimate| {
        let mut table = Table::key_value();
        table.field("price", Some(money(estimate.price_usd)));
        if let (Some(units), Some(price)) = (estimate.units, estimate.unit_price_usd) {
            let unit = estimate.unit.as_deref().unwrap_or("unit");
            let text = format!("{units} × {} per {unit}", money(price));
            table.field("for", Some(text));
        }
        table.field("model", estimate.model.as_ref());
        table
    })
}

/// Returns the name of a compatibility alias: the part of its path between the owner and `/runs`.
fn alias_name(operation: Operation) -> Option<&'static str> {
    let path = operation.path().strip_prefix("/v1/models/{first_party_owner}/");
    path?.strip_suffix("/runs")
}

/// Returns the operation that is preferred to an alias, if there is one.
const fn canonical(alias: Operation) -> Option<Operation> {
    match alias {
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
