//! Flags that several commands share. Flags of a single command are defined with that command.

mod body;
mod download;
mod global;
pub(crate) mod headings;
mod list;
mod run;
mod search;
mod secret;
mod speech;
mod submit;
mod values;

pub(crate) use body::{
    BodyArgs, CommunicationFields, ImageFields, PromptArgs, VideoFields, VideoMedia,
    VideoProperties,
};
pub(crate) use download::{DownloadArgs, FileArgs};
pub(crate) use global::{Color, Format, Global, SurfaceArg, SurfaceChoice};
pub(crate) use list::{ListArgs, PageArgs};
pub(crate) use run::{CapArg, FormatFields, InstructionArgs, ReceiptArgs, RunArgs, RunKindChoice};
pub(crate) use search::SearchArgs;
pub(crate) use secret::SecretArgs;
pub(crate) use speech::{AvatarFields, SceneFields, SpeechFields};
pub(crate) use submit::{
    JournalArgs, SpendingArgs, SubmitArgs, SubmitOptions, WaitArgs, parse_usd,
};
pub(crate) use values::{JsonField, Pair, Timeout};
