//! `svc estimate`: the price of a request that is not submitted.

use clap::Args;
use svc_sdk::Open;

use crate::args::{BodyArgs, PromptArgs, VideoFields, headings};
use crate::error::Failure;
use crate::output::Table;
use crate::output::values::money;
use crate::pricing;
use crate::request_body::RequestBody;
use crate::session::Session;

/// The flags of `svc estimate`: those of the request to estimate.
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

/// Runs the command.
pub(crate) async fn run(session: &Session, args: Estimate) -> Result<(), Failure> {
    let mut body = RequestBody::read_with_prompt(&args.body, &args.prompt)?.video(&args.fields)?;
    body.set("num_images", args.num_images)?;
    let body = body.with_default("model", "auto").finish()?;
    let client = session.access::<Open>()?.client;
    let estimate = client
        .estimates()
        .create(pricing::estimate_request(&body))
        .await?;
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
