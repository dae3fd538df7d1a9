//! Flags of commands that download files.

use std::path::PathBuf;

use clap::Args;
use svc_sdk::download::NameTemplate;

use super::{Timeout, headings};

/// Flags of commands that download files if `--download` is given.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = headings::FILES)]
pub(crate) struct DownloadArgs {
    /// Download the files to a directory; without DIR, to the current directory (put it last, or
    /// write --download=DIR)
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub(crate) download: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

/// Flags of every command that downloads files.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = headings::FILES)]
pub(crate) struct FileArgs {
    /// Name the files by a template of {id} (of the file), {index} (from 1), {job}, {slug} (of the
    /// prompt) and {ext} [default: {id}.{ext}]
    #[arg(long, value_name = "TEMPLATE", value_parser = parse_template)]
    pub(crate) name: Option<NameTemplate>,
    /// Replace existing files; without it, a new file gets another name, such as fox-1.png
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Show the images in the terminal
    #[arg(long)]
    pub(crate) preview: bool,
    /// Open the files with the platform's default applications
    #[arg(long)]
    pub(crate) open: bool,
    /// Time limit of the download, such as 30s, 5m, 1h, a number of seconds, or none [default: 1h]
    #[arg(long, value_name = "TIME")]
    pub(crate) download_timeout: Option<Timeout>,
}

/// Parses a template. The parser adds the value to the message.
fn parse_template(text: &str) -> Result<NameTemplate, String> {
    text.parse::<NameTemplate>()
        .map_err(|error| error.reason().to_owned())
}
