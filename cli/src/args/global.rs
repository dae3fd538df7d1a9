//! Flags that every command has.

use clap::{Args, ValueEnum};

/// Flags that every command has.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Global {
    /// The form of the data: a table on a terminal, else json.
    #[arg(short, long, global = true, value_name = "FORM")]
    pub(crate) output: Option<Format>,
    /// Filters the JSON with jq's language; strings are printed bare.
    #[arg(long, global = true, value_name = "EXPR")]
    pub(crate) jq: Option<String>,
    /// Only data and errors.
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// Colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// The profile of the configuration file [env: SVC_PROFILE].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// The open surface's URL [env: SVC_BASE_URL].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The developer surface's URL [env: SVC_DEVELOPER_BASE_URL].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) developer_base_url: Option<String>,
    /// How often a failed request is repeated, where that is safe.
    #[arg(long, global = true, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// Runs the command against a mock of the service inside this process, with no configuration.
    #[arg(long, global = true)]
    pub(crate) sandbox: bool,
}

/// The form of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// One JSON document.
    Json,
    /// One JSON document a line.
    Jsonl,
}

/// When there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set; everywhere where `CLICOLOR_FORCE` is.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Which of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SurfaceChoice {
    /// The open pay-as-you-go surface.
    Open,
    /// The developer surface.
    Developer,
}

impl SurfaceChoice {
    /// The name that `--surface` takes.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Developer => "developer",
        }
    }
}

/// `--surface`, on the commands whose operations exist on both.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct SurfaceArg {
    /// Which host: open, unless only the other one is configured.
    #[arg(long, value_name = "SURFACE")]
    pub(crate) surface: Option<SurfaceChoice>,
}
