//! `svc webhook secret`: the secret that the service signs with.

use clap::{Args, Subcommand};
use svc_sdk::Developer;
use svc_sdk::types::{SigningSecret, Timestamp};

use crate::clock;
use crate::error::{Exit, Failure};
use crate::output::Table;
use crate::session::Session;

/// The signing secret.
#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    /// Shows it, its fingerprint, and the rotation that is going on. The table leaves the secret
    /// itself out; `--jq .secret` prints it.
    Show,
    /// Makes a new one. For 24 hours deliveries are signed with the old one too; a second rotation
    /// within them retires the older one at once.
    Rotate(Rotate),
}

/// The flags of `svc webhook secret rotate`.
#[derive(Args, Debug)]
pub(crate) struct Rotate {
    /// Does not ask.
    #[arg(short, long)]
    yes: bool,
}

/// Runs it.
pub(super) async fn run(session: &Session, secret: Secret) -> Result<(), Failure> {
    match secret {
        Secret::Show => {
            let client = session.access::<Developer>()?.client;
            let secret = client.webhooks().signing_secret().await?;
            session.printer.print_item(&secret, table)
        }
        Secret::Rotate(args) => rotate(session, &args).await,
    }
}

async fn rotate(session: &Session, args: &Rotate) -> Result<(), Failure> {
    let client = session.access::<Developer>()?.client;
    let current = client.webhooks().signing_secret().await.map_err(|error| {
        Failure::from(error).context("could not look at the secret; nothing was rotated")
    })?;
    let consequence = consequence(&current);
    if args.yes {
        session.printer.note(&consequence);
    } else if !session.printer.can_prompt() {
        return Err(Failure::usage("nobody is there to be asked")
            .hint(consequence)
            .hint("pass --yes to rotate all the same"));
    } else if !session
        .printer
        .confirm(&format!("{consequence}\nrotate the signing secret?"))?
    {
        return Err(Failure::other("nothing was rotated"));
    }
    let sent = session
        .send(client.webhooks().rotate_signing_secret())
        .await;
    let rotated = sent.map_err(|failure| {
        let failure = failure.context("could not rotate the signing secret");
        match failure.exit() {
            Exit::Ambiguous => failure.hint(
                "look whether the fingerprint has changed before rotating again: svc webhook secret show",
            ),
            _ => failure,
        }
    })?;
    session.printer.print_item(&rotated, table)?;
    session.printer.note(
        "give receivers the new secret beside the old one, the newest first: svc webhook secret show --jq .secret",
    );
    Ok(())
}

/// What rotating now does, to whom.
fn consequence(current: &SigningSecret) -> String {
    let newest = current.fingerprint.as_deref().unwrap_or("in use");
    let rotation = current.rotation.as_ref();
    let until = rotation.and_then(|it| {
        let until = it.previous_valid_until.as_ref();
        match until.map(Timestamp::unix_seconds) {
            Some(until_second) if until_second <= clock::now().as_second() => None,
            Some(_) => until.map(ToString::to_string),
            // What cannot be read is taken for the worse.
            None => it.extra.field("previous_valid_until"),
        }
    });
    match until {
        Some(until) => {
            let previous = rotation.and_then(|it| it.previous_fingerprint.as_deref());
            let previous = previous
                .map(|print| format!(" {print}"))
                .unwrap_or_default();
            format!(
                "a rotation is going on until {until}. A second one retires the previous secret{previous} at once: receivers that have no newer one refuse every delivery from then on. Secret {newest} is good for 24 hours more."
            )
        }
        None => format!(
            "for 24 hours deliveries are signed with secret {newest} too. A second rotation within them would retire it at once."
        ),
    }
}

fn table(secret: &SigningSecret) -> Table {
    let rotation = secret.rotation.as_ref();
    let mut table = Table::key_value();
    table.field("fingerprint", secret.fingerprint.as_ref());
    let hidden = secret.secret.as_ref();
    table.field(
        "secret",
        hidden.map(|_| "(not shown; --jq .secret prints it)"),
    );
    table.field("created", secret.created_at.as_ref());
    table.field(
        "previous fingerprint",
        rotation.and_then(|it| it.previous_fingerprint.as_ref()),
    );
    table.field(
        "previous good until",
        rotation.and_then(|it| it.previous_valid_until.as_ref()),
    );
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(until: &str) -> SigningSecret {
        let rotation =
            serde_json::json!({"previous_valid_until": until, "previous_fingerprint": "0123"});
        let secret = serde_json::json!({"fingerprint": "4567", "rotation": rotation});
        serde_json::from_value(secret).unwrap()
    }

    #[test]
    fn what_a_second_rotation_does_is_said_before_the_first_and_before_the_second() {
        for (until, retires) in [
            ("2100-01-01T00:00:00Z", true),
            ("tomorrow", true),
            ("2020-01-01T00:00:00Z", false),
        ] {
            let said = consequence(&secret(until));
            assert_eq!(said.contains("secret 0123 at once"), retires, "{said}");
            assert!(said.contains("at once") && said.contains("4567"), "{said}");
        }
        let said = consequence(&SigningSecret::default());
        assert!(said.contains("A second rotation"), "{said}");
    }
}
