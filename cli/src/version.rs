//! The version of the program.

use std::sync::LazyLock;

use serde::Serialize;

use crate::error::Result;
use crate::output::Table;
use crate::session::Session;

/// What `svc --version` prints after the name of the program.
pub(crate) static LINE: LazyLock<String> = LazyLock::new(|| {
    let Version { version, commit, date, target, features } = version();
    format!("{version} ({commit} {date}, {target}; {})", features.join(" "))
});

#[derive(Serialize)]
struct Version {
    version: &'static str,
    commit: &'static str,
    date: String,
    target: &'static str,
    features: Vec<&'static str>,
}

pub(crate) fn date() -> String {
    let date = env!("SVC_EPOCH").parse().ok().and_then(|at| jiff::Timestamp::from_second(at).ok());
    date.map_or_else(|| "unknown".to_owned(), |date| date.strftime("%F").to_string())
}

fn version() -> Version {
    Version {
        version: env!("CARGO_PKG_VERSION"),
        commit: env!("SVC_COMMIT"),
        date: date(),
        target: env!("SVC_TARGET"),
        features: env!("SVC_FEATURES").split_whitespace().collect(),
    }
}

pub(crate) fn print(session: &Session) -> Result {
    session.printer.print_item(&version(), |version| {
        let mut table = Table::key_value();
        table.field("version", Some(&version.version));
        table.field("commit", Some(&version.commit));
        table.field("date", Some(&version.date));
        table.field("target", Some(&version.target));
        table.field("features", Some(&version.features.join(" ")));
        table
    })
}
