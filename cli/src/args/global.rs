//! Flags of every command.

use clap::{Args, ValueEnum};
use svc_sdk::contract::Surface;

use super::headings;
use crate::error::KeptFlags;

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Output format [default: table on a terminal, json otherwise]
    #[arg(short, long, global = true, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
    /// Filter the JSON output with a jq expression, with -o jsonl each item; strings are not quoted
    #[arg(long, global = true, allow_hyphen_values = true, value_name = "EXPR")]
    pub(crate) jq: Option<String>,
    /// Suppress progress output, notes and warnings
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Log each request to stderr; -vv adds headers and polls, -vvv adds bodies
    /// [env: SVC_LOG=info|debug|trace, or a tracing filter]
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// When to color the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Profile of the configuration file [env: SVC_PROFILE]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Base URL of the open surface [env: SVC_BASE_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Base URL of the developer surface [env: SVC_DEVELOPER_BASE_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) developer_base_url: Option<String>,
    /// Maximum number of retries of a failed request; only requests that cannot be charged or executed
    /// twice are retried: reads, and requests with an idempotency key
    #[arg(long, global = true, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// Allow downloads from loopback, private and link-local addresses
    #[arg(long, global = true)]
    pub(crate) allow_private_artifact_hosts: bool,
    /// Run the command against an in-process mock of the service; requires no configuration
    #[arg(long, global = true)]
    pub(crate) sandbox: bool,
}

impl Global {
    pub(crate) fn kept_flags(&self) -> KeptFlags {
        KeptFlags { profile: self.profile.clone(), is_sandbox: self.sandbox }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for reading
    Table,
    /// One JSON document
    Json,
    /// One JSON document per line
    Jsonl,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set; always if `CLICOLOR_FORCE` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// One of the two hosts of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub(crate) enum SurfaceChoice {
    /// Images, videos, model aliases, estimates, jobs
    Open,
    /// Also music, avatars, agent runs, webhooks, the account
    Developer,
}

/// What the settings of a surface are called.
pub(crate) struct SurfaceNames {
    pub(crate) url: &'static str,
    pub(crate) url_flag: &'static str,
    pub(crate) url_variable: &'static str,
    /// The flag of the file with its API key.
    pub(crate) key_flag: &'static str,
    pub(crate) key_variable: &'static str,
}

impl SurfaceChoice {
    /// Both surfaces, in the order in which they are set up.
    pub(crate) const ALL: [Self; 2] = [Self::Open, Self::Developer];

    pub(crate) const fn names(self) -> SurfaceNames {
        match self {
            Self::Open => SurfaceNames {
                url: "base_url",
                url_flag: "--base-url",
                url_variable: "SVC_BASE_URL",
                key_flag: "--open-key-file",
                key_variable: "SVC_OPEN_API_KEY",
            },
            Self::Developer => SurfaceNames {
                url: "developer_base_url",
                url_flag: "--developer-base-url",
                url_variable: "SVC_DEVELOPER_BASE_URL",
                key_flag: "--developer-key-file",
                key_variable: "SVC_DEVELOPER_API_KEY",
            },
        }
    }

    /// Returns the surface of an operation or a client. What both surfaces have is of the open one.
    pub(crate) const fn of(surface: Surface) -> Self {
        match surface {
            Surface::Developer => Self::Developer,
            _ => Self::Open,
        }
    }

    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Open => Self::Developer,
            Self::Developer => Self::Open,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Developer => "developer",
        }
    }
}

/// The flag `--surface`, of commands whose operations exist on both surfaces.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct SurfaceArg {
    /// Surface (API) to call, see `svc help surfaces` [default: open, or developer if only that one is
    /// configured]
    #[arg(long, value_name = "SURFACE", help_heading = headings::REQUEST)]
    pub(crate) surface: Option<SurfaceChoice>,
}
