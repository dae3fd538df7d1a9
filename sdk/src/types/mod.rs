//! Bodies of requests and responses, as plain values.
//!
//! Every response type keeps the fields that it does not know (`extra`), and every enum keeps
//! values that it does not know: a newer service breaks no caller. What the specification does not
//! show is marked "Assumed". Nothing here does I/O.

mod account;
mod action;
mod agent;
mod assumed;
mod avatar;
mod billing;
mod body;
mod canonical;
mod catalog;
mod error_body;
mod extra;
mod format;
mod generate;
mod id;
mod idempotency;
mod invalid;
mod job;
mod list;
mod model;
mod money;
mod output_schema;
mod received;
mod run;
mod seconds;
mod webhook;

pub use account::{
    Balance, GenerationLimits, Health, KeyMetadata, Me, UsageEntry, UsageKind, Workspace,
};
pub use action::{Action, ActionRunCreate, ActionTrigger};
pub use agent::AgentCompletionCreate;
pub use assumed::Assumed;
pub use avatar::{
    Avatar, AvatarGenerate, AvatarInput, AvatarPreview, AvatarPreviewCreate, AvatarTalkingVideo,
    AvatarVideo, Quality, VideoCaptions, VideoCaptionsCreate,
};
pub use billing::{Estimate, EstimateRequest, TopUp, TopUpCreate};
pub use canonical::{Image1Generate, Music1Generate, Video1Generate};
pub use catalog::{
    JobEvent, MusicCategory, MusicPick, MusicTrack, Search, ServiceCatalog, TrendingVideo,
};
pub use error_body::ErrorBody;
pub use extra::Extra;
pub use format::{
    Attachment, BulkRunCreate, Format, FormatIo, FormatRef, FormatRunCreate, OnActiveRun, Queue,
    QueueCounts, QueueItem,
};
pub use generate::{ImageGenerate, Mode, VideoGenerate};
#[cfg(feature = "client")]
pub(crate) use id::id_in_url;
pub use id::{ActionId, ArtifactId, FormatId, JobId, QueueId, RequestId, RunId, TopUpId};
pub use idempotency::IdempotencyKey;
pub use invalid::{InvalidField, Validate};
pub use job::{
    Artifact, Job, JobOutput, JobResult, JobType, Redelivery, StatusPayload, SubmitReceipt,
    WebhookDelivery,
};
pub use list::List;
pub use model::{Bounds, Capabilities, CatalogModel, CatalogPricing, CatalogRate, Model};
pub use money::{ParseUsdError, Usd};
pub use output_schema::{OutputSchema, OutputSchemaError, SchemaViolation};
pub use run::{RunErrorDetails, RunEvent, RunKind, RunReceipt, RunStatusPayload, RunUsage};
pub use seconds::Seconds;
pub use webhook::{
    RunOutcome, SecretRotation, SecretText, SigningSecret, TestDelivery, TestDeliveryCreate,
    WebhookEvent, WebhookEventType, WebhookStatus,
};
