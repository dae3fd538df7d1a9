//! `svc pricing`: the prices of models.

use clap::{Args, Subcommand};
use svc_sdk::Open;
use svc_sdk::types::CatalogModel;

use crate::args::{BodyArgs, ListArgs, PromptArgs, VideoFields, headings};
use crate::error::Result;
use crate::listing::Listing;
use crate::output::Table;
use crate::output::layout::{number, required, whole};
use crate::output::values::money;
use crate::request::body::RequestBody;
use crate::request::pricing;
use crate::session::Session;

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
