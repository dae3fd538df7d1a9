//! Bodies of requests and responses.
//!
//! A response keeps its unknown fields in [`Extra`], and an enum keeps unknown values, so that a
//! newer service does not break a caller. A field that the specification does not show is marked
//! "Assumed". Nothing in this module does I/O.

mod account;
mod action;
mod agent;
mod avatar;
mod billing;
mod catalog;
mod communication;
mod error_body;
mod error_details;
mod extra;
mod format;
mod generate;
mod id;
mod idempotency;
mod job;
mod json_schema;
mod model;
mod money;
mod output_schema;
mod page;
mod request;
mod response;
mod run;
mod seconds;
mod timestamp;
mod validation;
mod webhook;

pub use account::{
    Balance, GenerationLimits, Health, KeyMetadata, Me, UsageEntry, UsageKind, Workspace,
};
pub use action::{Action, ActionRunCreate, ActionSchedule, ActionTrigger};
pub use agent::AgentCompletionCreate;
pub use avatar::{
    Avatar, AvatarFaceSwap, AvatarGenerate, AvatarInput, AvatarPreview, AvatarPreviewCreate,
    AvatarTalkingVideo, AvatarVideo, Quality, VideoCaptions, VideoCaptionsCreate,
};
pub use billing::{Estimate, EstimateRequest, TopUp, TopUpCreate};
pub use catalog::{
    JobEvent, MusicCategory, MusicPick, MusicTrack, SearchQuery, ServiceCatalog, TrendingVideo,
};
pub use communication::{Communication, Mode};
pub use error_body::ErrorBody;
pub use error_details::{ErrorDetails, RateLimitScope, UnknownParameter};
pub use extra::Extra;
pub use format::{
    Attachment, BulkRunCreate, Format, FormatIo, FormatRef, FormatRunCreate, OnActiveRun, Queue,
    QueueCounts, QueueItem, ResponseFormat, SpendCap,
};
pub use generate::{Image1Generate, ImageGenerate, Music1Generate, Video1Generate, VideoGenerate};
#[cfg(feature = "client")]
pub(crate) use id::id_in_url;
pub use id::{ActionId, ArtifactId, FormatId, JobId, QueueId, RequestId, RunId, TopUpId};
pub use idempotency::IdempotencyKey;
pub use job::{
    Artifact, Job, JobOutput, JobResult, JobStatusPayload, JobType, Redelivery, SubmitReceipt,
    WebhookDelivery,
};
pub use model::{Capabilities, CatalogModel, CatalogPricing, CatalogRate, Model, NumberRange};
pub use money::{ParseUsdError, Usd};
pub use output_schema::{OutputSchema, OutputSchemaError, SchemaViolation};
pub use page::{Page, UnreadableItem};
pub(crate) use response::Text;
pub use run::{RunEvent, RunKind, RunReceipt, RunStatusPayload, RunUsage};
pub use timestamp::{ParseTimestampError, Timestamp};
pub use validation::{InvalidField, Validate};
pub use webhook::{
    RunOutcome, SecretRotation, SecretString, SigningSecret, TestDelivery, TestDeliveryCreate,
    WebhookEvent, WebhookEventStatus, WebhookEventType,
};
