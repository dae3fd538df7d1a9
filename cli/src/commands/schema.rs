//! `svc schema`: the service's OpenAPI document, and its differences from this build.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::Value;
use svc_openapi::{Difference, Servers};
use svc_sdk::Developer;
use svc_sdk::contract::{Method, Operation};
use url::Url;

use crate::error::{ClientCode, Failure, Result};
use crate::output::Table;
use crate::output::layout::{cut, required, whole};
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Schema {
    /// Fetch the OpenAPI document
    Fetch(Fetch),
    /// Compare the live schema (/reference/json) with that of this version
    ///
    /// The exit code is 1 if something that this build relies on was removed or changed.
    Check(CheckSchema),
}

#[derive(Args, Debug)]
pub(crate) struct Fetch {
    /// Fetch /reference/json, which is authoritative, instead of /v1/openapi.json
    #[arg(long)]
    reference: bool,
    /// File to write to [default: stdout]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct CheckSchema {
    /// Document to compare with: a file, or a URL that is fetched without an API key [default: the
    /// live schema of the developer surface]
    #[arg(long, value_name = "URL|FILE")]
    against: Option<String>,
}

pub(crate) async fn run(session: &Session, schema: Schema) -> Result {
    match schema {
        Schema::Fetch(args) => fetch(session, args).await,
        Schema::Check(args) => check(session, args).await,
    }
}

async fn fetch(session: &Session, args: Fetch) -> Result {
    let operation = if args.reference { Operation::Reference } else { Operation::Openapi };
    let bytes = read_operation(session, operation).await?;
    let value = parse(&bytes, "the response")?;
    match args.file {
        None => session.printer.print_document(&value, &bytes),
        Some(file) => {
            std::fs::write(&file, &bytes).map_err(|error| {
                Failure::other(format!("cannot write {}: {error}", file.display()))
            })?;
            session.printer.note(&format!("wrote {}", file.display()));
            Ok(())
        }
    }
}

async fn check(session: &Session, args: CheckSchema) -> Result {
    let live_document = match args.against.as_deref() {
        None => parse(&read_operation(session, Operation::Reference).await?, "the live schema")?,
        Some(source) if source.starts_with("https://") || source.starts_with("http://") => {
            from_url(session, source).await?
        }
        Some(file) => from_file(Path::new(file))?,
    };
    if live_document.get("paths").and_then(Value::as_object).is_none() {
        let why = "invalid OpenAPI document: `paths` is missing";
        return Err(Failure::other(why).with_client_code(ClientCode::UNREADABLE_RESPONSE));
    }
    let differences =
        svc_openapi::compare(&svc_openapi::document(&Servers::default()), &live_document);
    session.printer.print_list(&differences, table)?;
    let breaking = differences.iter().filter(|it| it.breaking).count();
    match breaking {
        0 if differences.is_empty() => session.printer.note("no differences"),
        0 => session.printer.note("nothing that this build relies on was removed or changed"),
        _ => {
            let why = format!(
                "the live schema is incompatible with this version: breaking differences: {breaking}"
            );
            return Err(Failure::other(why)
                .with_client_code(ClientCode::FAILED)
                .hint("check for a newer version of svc"));
        }
    }
    Ok(())
}

fn table(differences: &[Difference]) -> Table {
    let mut table = Table::new([
        required(""),
        whole("what"),
        required("where"),
        whole("relied on"),
        cut("detail"),
        cut("operations"),
    ]);
    for difference in differences {
        let relied_on = match (difference.breaking, difference.assumed) {
            (true, _) => "yes",
            (false, true) => "no, assumed",
            (false, false) => "no",
        };
        table.row([
            difference.kind.to_string().as_str(),
            difference.part.to_string().as_str(),
            &difference.location,
            relied_on,
            difference.detail.as_deref().unwrap_or_default(),
            &first_few(&difference.operations),
        ]);
    }
    table
}

fn first_few(operations: &[String]) -> String {
    const MAX_SHOWN: usize = 3;
    let shown: Vec<&str> = operations.iter().take(MAX_SHOWN).map(String::as_str).collect();
    match operations.len().saturating_sub(MAX_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

async fn from_url(session: &Session, text: &str) -> Result<Value> {
    let url = Url::parse(text)
        .map_err(|error| Failure::usage(format!("invalid URL `{text}`: {error}")))?;
    let origin = url.origin().ascii_serialization();
    let client = session.access_with::<Developer>(origin, None)?.client;
    let call = client.raw_request(Method::Get, url.path());
    let call = url.query_pairs().fold(call, |call, (name, value)| call.query(&name, value));
    parse(&call.await?.body, text)
}

fn from_file(file: &Path) -> Result<Value> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file)
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    parse(&bytes, &name)
}

async fn read_operation(session: &Session, operation: Operation) -> Result<Vec<u8>> {
    let client = session.access_without_key::<Developer>()?.client;
    Ok(client.raw_request(Method::Get, operation.path()).await?.body.to_vec())
}

fn parse(bytes: &[u8], what: &str) -> Result<Value> {
    serde_json::from_slice(bytes).map_err(|error| {
        Failure::other(format!("{what} is not valid JSON: {error}"))
            .with_client_code(ClientCode::UNREADABLE_RESPONSE)
    })
}
