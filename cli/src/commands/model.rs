//! `svc model`.

use clap::{Args, Subcommand, ValueEnum};
use svc_sdk::Open;
use svc_sdk::types::Model as Entry;

use crate::args::SubmitArgs;
use crate::error::Failure;
use crate::operation_commands::command_of;
use crate::output::Table;
use crate::request_body::RequestBody;
use crate::session::Session;
use crate::submit;
use crate::types::{Alias, SubmitRequest};

/// Models.
#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    /// Lists models: of both types, unless one is named.
    List {
        /// Which type.
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<Kind>,
    },
    /// Shows a model. Looks in both types, unless one is named.
    Get {
        /// The model's id.
        #[arg(value_name = "MODEL_ID")]
        id: String,
        /// Which type.
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<Kind>,
    },
    /// Submits through a compatibility alias; the canonical command is preferred.
    Run(Box<Run>),
}

/// The flags of `svc model run`.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The alias, such as `image-1.0` or `avatar/v1.0`.
    #[arg(value_name = "ALIAS", value_parser = alias)]
    alias: Alias,
    /// The owner in the path [env: SVC_FIRST_PARTY_OWNER].
    #[arg(long)]
    owner: Option<String>,
    #[command(flatten)]
    submit: SubmitArgs,
}

fn alias(name: &str) -> Result<Alias, String> {
    Alias::from_name(name).ok_or_else(|| {
        let known: Vec<_> = Alias::ALL.iter().map(|alias| alias.name()).collect();
        format!("no such alias; there are {}", known.join(", "))
    })
}

/// What a model makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Images.
    Image,
    /// Videos.
    Video,
}

/// Runs it.
pub(crate) async fn run(session: &Session, model: Model) -> Result<(), Failure> {
    match model {
        Model::List { kind } => list(session, kind).await,
        Model::Get { id, kind } => get(session, &id, kind).await,
        Model::Run(args) => run_alias(session, &args).await,
    }
}

async fn run_alias(session: &Session, args: &Run) -> Result<(), Failure> {
    let owner = session.first_party_owner(args.owner.as_deref())?;
    let body = RequestBody::read(&args.submit.body)?
        .communication(&args.submit.communication)?
        .finish()?;
    if let Some(canonical) = args.alias.canonical() {
        let preferred = command_of(canonical);
        session.printer.note(&format!(
            "an alias, which goes on working: {preferred} is preferred"
        ));
    }
    let request = SubmitRequest {
        noun: "run",
        operation: args.alias.operation(),
        segments: vec![owner],
        body,
    };
    submit::developer(session, request, &args.submit).await
}

async fn list(session: &Session, kind: Option<Kind>) -> Result<(), Failure> {
    let client = session.access::<Open>()?.client;
    let mut models = Vec::new();
    if kind != Some(Kind::Video) {
        models.extend(client.models().list_images().await?.items);
    }
    if kind != Some(Kind::Image) {
        models.extend(client.models().list_videos().await?.items);
    }
    session.printer.print_list(&models, |models| {
        let mut table = Table::new(["id", "type", "inputs", "seconds", "resolutions", "name"]);
        for model in models {
            let takes = model.capabilities.as_ref();
            table.row([
                &model.id,
                model.model_type.as_deref().unwrap_or_default(),
                &takes.map_or_else(String::new, |it| it.inputs.join(", ")),
                &seconds(model),
                &takes.map_or_else(String::new, |it| it.resolutions.join(", ")),
                model.name.as_deref().unwrap_or_default(),
            ]);
        }
        table
    })
}

async fn get(session: &Session, id: &str, kind: Option<Kind>) -> Result<(), Failure> {
    let client = session.access::<Open>()?.client;
    let model = match kind {
        Some(Kind::Image) => client.models().get_image(id).await?,
        Some(Kind::Video) => client.models().get_video(id).await?,
        None => match client.models().get_video(id).await {
            Err(error) if error.is_not_found() => client.models().get_image(id).await?,
            answer => answer?,
        },
    };
    session.printer.print_item(&model, |model| {
        let takes = model.capabilities.as_ref();
        let mut table = Table::key_value();
        table.field("id", Some(&model.id));
        table.field("name", model.name.as_ref());
        table.field("type", model.model_type.as_ref());
        table.field("inputs", takes.map(|it| it.inputs.join(", ")));
        table.field(
            "seconds",
            Some(seconds(model)).filter(|text| !text.is_empty()),
        );
        table.field("resolutions", takes.map(|it| it.resolutions.join(", ")));
        table.field("aspect ratios", takes.map(|it| it.aspect_ratios.join(", ")));
        table.field("pricing", model.pricing.as_ref());
        table
    })
}

fn seconds(model: &Entry) -> String {
    let takes = model.capabilities.as_ref();
    let bounds = takes.and_then(|it| it.duration_seconds.as_ref());
    bounds
        .map(|bounds| format!("{} to {}", bounds.min, bounds.max))
        .unwrap_or_default()
}
