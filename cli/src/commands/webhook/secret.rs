//! `svc webhook secret`: the secret with which the service signs deliveries.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::types::{SigningSecret, Timestamp};

use crate::clock;
use crate::error::{Exit, Failure, Result, SuggestedCommand, Suggestion};
use crate::output::Table;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    /// Show the signing secret: its fingerprint in the table, and in JSON the secret itself
    ///
    /// Also shows any rotation in progress.
    Show,
    /// Rotate the signing secret
    ///
    /// For 24 hours, deliveries are also signed with the previous secret. A second rotation within
    /// that time revokes the previous secret immediately.
    Rotate(Rotate),
}

#[derive(Args, Debug)]
pub(crate) struct Rotate {
    /// Skip the confirmation prompt
    #[arg(short, long)]
    yes: bool,
}

pub(super) async fn run(session: &Session, secret: Secret) -> Result {
    match secret {
        Secret::Show => {
            let client = session.access::<Developer>()?.client;
            let secret = client.webhooks().signing_secret().await?;
            session.printer.print_item(&secret, |secret| table(session, secret))
        }
        Secret::Rotate(args) => rotate(session, &args).await,
    }
}

async fn rotate(session: &Session, args: &Rotate) -> Result {
    let client = session.access::<Developer>()?.client;
    let current = client.webhooks().signing_secret().await.map_err(|error| {
        Failure::from(error).context("could not read the signing secret; nothing was rotated")
    })?;
    let consequence = rotation_effect(&current);
    if args.yes {
        session.printer.note(&consequence);
    } else if !session.printer.can_prompt() {
        return Err(Failure::usage(
            "cannot prompt for confirmation: stdin or stderr is not a terminal",
        )
        .hint(consequence)
        .hint("pass --yes to rotate without a prompt"));
    } else {
        let question = format!("{consequence}\nRotate the signing secret?");
        session.confirm(&question, "nothing was rotated").await?;
    }
    let sent = session.send(client.webhooks().rotate_signing_secret()).await;
    let rotated = sent.map_err(|failure| {
        let failure = failure.context("could not rotate the signing secret");
        match failure.exit() {
            Exit::Ambiguous => failure.hint(
                Suggestion::from(
                    "check whether the fingerprint has changed before rotating again: ",
                )
                .svc(["webhook", "secret", "show"]),
            ),
            _ => failure,
        }
    })?;
    session.printer.print_item(&rotated, |secret| table(session, secret))?;
    session.printer.note(&format!(
        "configure receivers with both secrets, the newest first; print the new one with: {}",
        show_command(session)
    ));
    Ok(())
}

/// Returns the command that prints the secret. A second rotation would revoke it.
fn show_command(session: &Session) -> SuggestedCommand {
    session.command(&["webhook", "secret", "show", "--jq", ".secret"])
}

fn rotation_effect(current: &SigningSecret) -> String {
    let newest = current.fingerprint.as_deref().unwrap_or("in use");
    let rotation = current.rotation.as_ref();
    let until = rotation.and_then(|it| {
        let until = it.previous_valid_until.as_ref();
        match until.map(Timestamp::unix_seconds) {
            Some(until_second) if until_second <= clock::now().as_second() => None,
            Some(_) => until.map(ToString::to_string),
            // A time that cannot be parsed is assumed to be in the future, which is the worse case.
            None => it.extra.get_as("previous_valid_until"),
        }
    });
    match until {
        Some(until) => {
            let previous = rotation.and_then(|it| it.previous_fingerprint.as_deref());
            let previous = previous.map(|print| format!(" {print}")).unwrap_or_default();
            format!(
                "a rotation is in progress until {until}; rotating again revokes the previous secret{previous} immediately: receivers without a newer secret will reject all deliveries; secret {newest} stays valid for 24 hours"
            )
        }
        None => format!(
            "for 24 hours, deliveries are also signed with secret {newest}; a second rotation within that time would revoke it immediately"
        ),
    }
}

fn table(session: &Session, secret: &SigningSecret) -> Table {
    let rotation = secret.rotation.as_ref();
    let mut table = Table::key_value();
    table.field("fingerprint", secret.fingerprint.as_ref());
    let hidden = |_| format!("(not shown; printed by: {})", show_command(session));
    table.field("secret", secret.secret.as_ref().map(hidden));
    table.field("created", secret.created_at.as_ref());
    table.field("previous fingerprint", rotation.and_then(|it| it.previous_fingerprint.as_ref()));
    table.field("previous valid until", rotation.and_then(|it| it.previous_valid_until.as_ref()));
    table
}
