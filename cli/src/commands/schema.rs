//! `svc schema`: the service's own OpenAPI document, and how it differs from what this build knows.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::Value;
use svc_openapi::{Difference, Servers};
use svc_sdk::contract::{Method, Operation};
use svc_sdk::{Client, Developer};
use url::Url;

use crate::error::Failure;
use crate::output::Table;
use crate::session::Session;

/// The service's schema. Needs no key.
#[derive(Debug, Subcommand)]
pub(crate) enum Schema {
    /// Fetches the document: into a file, or to standard output.
    Fetch(Fetch),
    /// Says what the live schema has more or less than this build; exit code 1 where something is
    /// gone or changed that this build relies on.
    Check(Check),
}

/// The flags of `svc schema fetch`.
#[derive(Args, Debug)]
pub(crate) struct Fetch {
    /// The live schema at /reference/json, which is the authority, in place of /v1/openapi.json.
    #[arg(long)]
    reference: bool,
    /// Where it is saved.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// The flags of `svc schema check`.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// Another document: a file, or a URL that is read without a key. Else the live schema of the
    /// developer surface.
    #[arg(long, value_name = "URL|FILE")]
    against: Option<String>,
}

/// Runs it.
pub(crate) async fn run(session: &Session, schema: Schema) -> Result<(), Failure> {
    match schema {
        Schema::Fetch(args) => fetch(session, args).await,
        Schema::Check(args) => check(session, args).await,
    }
}

async fn fetch(session: &Session, args: Fetch) -> Result<(), Failure> {
    let operation = match args.reference {
        true => Operation::Reference,
        false => Operation::Openapi,
    };
    let client = session.access_without_key::<Developer>()?.client;
    let bytes = read(&client, operation.path(), None).await?;
    let value = parse(&bytes, "the answer")?;
    match args.file {
        None => session.printer.print_document(&value, &bytes),
        Some(file) => {
            std::fs::write(&file, &bytes).map_err(|error| {
                Failure::other(format!("cannot write {}: {error}", file.display()))
            })?;
            session
                .printer
                .note(&format!("saved in {}", file.display()));
            Ok(())
        }
    }
}

async fn check(session: &Session, args: Check) -> Result<(), Failure> {
    let live_document = match args.against.as_deref() {
        None => {
            let client = session.access_without_key::<Developer>()?.client;
            let bytes = read(&client, Operation::Reference.path(), None).await?;
            parse(&bytes, "the live schema")?
        }
        Some(source) if source.starts_with("https://") || source.starts_with("http://") => {
            from_url(session, source).await?
        }
        Some(file) => from_file(Path::new(file))?,
    };
    if live_document
        .get("paths")
        .and_then(Value::as_object)
        .is_none()
    {
        return Err(Failure::other(
            "that is no OpenAPI document: it has no paths",
        ));
    }
    let differences =
        svc_openapi::compare(&svc_openapi::document(&Servers::default()), &live_document);
    session.printer.print_list(&differences, table)?;
    let breaking = differences.iter().filter(|it| it.breaking).count();
    match breaking {
        0 if differences.is_empty() => session.printer.note("no difference"),
        0 => session
            .printer
            .note("nothing that this build relies on is gone or changed"),
        _ => {
            let why = format!("{breaking} of what this build relies on is gone or changed");
            return Err(Failure::other(why).hint("look for a newer version of svc"));
        }
    }
    Ok(())
}

fn table(differences: &[Difference]) -> Table {
    let mut table = Table::new(["", "what", "where", "detail", "relied on", "operations"]);
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
            difference.detail.as_deref().unwrap_or_default(),
            relied_on,
            &first_few(&difference.operations),
        ]);
    }
    table
}

/// A few names, and how many there are besides.
fn first_few(operations: &[String]) -> String {
    const MAX_SHOWN: usize = 3;
    let shown: Vec<&str> = operations
        .iter()
        .take(MAX_SHOWN)
        .map(String::as_str)
        .collect();
    match operations.len().saturating_sub(MAX_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A document of any host: no key goes there.
async fn from_url(session: &Session, text: &str) -> Result<Value, Failure> {
    let url = Url::parse(text).map_err(|error| Failure::usage(format!("{text:?}: {error}")))?;
    let origin = url.origin().ascii_serialization();
    let client = session.access_with::<Developer>(origin, None)?.client;
    parse(&read(&client, url.path(), Some(&url)).await?, text)
}

fn from_file(file: &Path) -> Result<Value, Failure> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file)
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    parse(&bytes, &name)
}

async fn read(
    client: &Client<Developer>,
    path: &str,
    query: Option<&Url>,
) -> Result<Vec<u8>, Failure> {
    let pairs = query.into_iter().flat_map(Url::query_pairs);
    let call = pairs.fold(client.request(Method::Get, path), |call, (name, value)| {
        call.query(&name, value)
    });
    Ok(call.await?.body.to_vec())
}

fn parse(bytes: &[u8], what: &str) -> Result<Value, Failure> {
    serde_json::from_slice(bytes)
        .map_err(|error| Failure::other(format!("{what} is no JSON document: {error}")))
}
