//! Flags that several commands share. Flags of a single command are defined with that command.

mod body;
mod global;
mod list;
mod submit;
mod values;

pub(crate) use crate::args::body::{
    AvatarFields, BodyArgs, CommunicationFields, ImageFields, PromptArgs, SceneFields,
    SpeechFields, VideoFields, VideoMedia, VideoProperties,
};
pub(crate) use crate::args::global::{Color, Format, Global, SurfaceArg, SurfaceChoice};
pub(crate) use crate::args::list::{ListArgs, PageArgs, SearchArgs};
pub(crate) use crate::args::submit::{
    CapArg, DownloadArgs, FileArgs, FileName, FormatFields, InstructionArgs, JournalArgs,
    ReceiptArgs, RunArgs, RunKindChoice, SpendingArgs, SubmitArgs, SubmitOptions, WaitArgs,
    parse_usd,
};
pub(crate) use crate::args::values::{
    JsonField, Pair, SecretArgs, Timeout, headings, parse_download_path, parse_seconds,
};
