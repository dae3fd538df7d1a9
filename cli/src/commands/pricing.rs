//! `svc pricing`: the prices of models.

use clap::Subcommand;
use svc_sdk::Open;
use svc_sdk::types::CatalogModel;

use crate::args::ListArgs;
use crate::error::Failure;
use crate::listing::Listing;
use crate::output::values::money;
use crate::output::{Column, Table};
use crate::session::Session;

/// The subcommands of `svc pricing`.
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

/// Runs the command.
pub(crate) async fn run(session: &Session, pricing: Pricing) -> Result<(), Failure> {
    let client = session.access::<Open>()?.client;
    match pricing {
        Pricing::List(list) => {
            let listing = Listing::new(session, &list, "models").without_limit_parameter();
            let call = || client.pricing().list();
            listing.print(call, |models| rates(models.iter())).await
        }
        Pricing::Get { id } => {
            let model = client.pricing().get(&id).await?;
            session
                .printer
                .print_item(&model, |model| rates(std::iter::once(model)))
        }
    }
}

fn rates<'a>(models: impl Iterator<Item = &'a CatalogModel>) -> Table {
    let mut table = Table::new([
        Column::required("id"),
        Column::whole("type"),
        Column::whole("resolution"),
        Column::number("price"),
        Column::required("per"),
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
