//! What each operation takes and gives, by the types that the client uses for it.
//!
//! The `match` does not compile until a new operation is dealt with.

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema, json_schema};

use crate::contract::Operation;
use crate::types::{
    Action, ActionRunCreate, AgentCompletionCreate, Avatar, AvatarGenerate, AvatarPreview,
    AvatarPreviewCreate, AvatarTalkingVideo, AvatarVideo, Balance, BulkRunCreate, CatalogModel,
    Estimate, EstimateRequest, Format, FormatRunCreate, Health, Image1Generate, ImageGenerate, Job,
    JobEvent, JobResult, JobStatusPayload, Me, Mode, Model, Music1Generate, MusicCategory,
    MusicPick, MusicTrack, Queue, Redelivery, RunEvent, RunReceipt, RunStatusPayload, Search,
    ServiceCatalog, SigningSecret, SubmitReceipt, TestDelivery, TestDeliveryCreate, TopUp,
    TopUpCreate, TrendingVideo, UsageEntry, Video1Generate, VideoCaptions, VideoCaptionsCreate,
    VideoGenerate,
};

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What an operation takes and gives.
#[derive(Clone, Debug)]
pub(super) struct Bodies {
    pub(super) request: Option<Sent>,
    /// The statuses of success.
    pub(super) statuses: &'static [u16],
    pub(super) answer: Answer,
}

/// A request's body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) schema: SchemaOf,
    pub(super) required: bool,
}

/// A successful body.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    /// One thing, under `data`.
    One(SchemaOf),
    /// A list, as `data`.
    Many(SchemaOf),
    /// A JSON document as it is.
    Document,
}

impl Bodies {
    fn one<T: JsonSchema>() -> Self {
        Self {
            request: None,
            statuses: &[200],
            answer: Answer::One(schema::<T>),
        }
    }

    fn many<T: JsonSchema>() -> Self {
        Self {
            answer: Answer::Many(schema::<T>),
            ..Self::one::<T>()
        }
    }

    fn document() -> Self {
        Self {
            request: None,
            statuses: &[200],
            answer: Answer::Document,
        }
    }

    /// A submit of a job: accepted, or a replay, or over within the wait.
    fn submit<B: JsonSchema>() -> Self {
        Self::one::<SubmitReceipt>().taking::<B>().with(&[202, 200])
    }

    /// The start of a run: accepted, or a replay.
    fn start<B: JsonSchema, T: JsonSchema>() -> Self {
        Self::one::<T>().taking::<B>().with(&[202, 200])
    }

    fn taking<B: JsonSchema>(self) -> Self {
        self.taking_schema(schema::<B>, true)
    }

    fn taking_schema(mut self, schema: SchemaOf, required: bool) -> Self {
        self.request = Some(Sent { schema, required });
        self
    }

    /// With a body that may be left out.
    fn optional(mut self) -> Self {
        if let Some(sent) = &mut self.request {
            sent.required = false;
        }
        self
    }

    /// A write without a body; an empty object is taken, too.
    fn taking_nothing(self) -> Self {
        self.taking_schema(nothing, false)
    }

    fn with(mut self, statuses: &'static [u16]) -> Self {
        self.statuses = statuses;
        self
    }
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn nothing(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "properties": {}, "additionalProperties": false})
}

/// The communication fields alone.
fn communication(generator: &mut SchemaGenerator) -> Schema {
    let mode = generator.subschema_for::<Mode>();
    json_schema!({
        "description": "How the submit is answered.",
        "type": "object",
        "properties": {
            "mode": mode,
            "webhook_url": {"type": "string", "format": "uri", "maxLength": 2048},
            "wait_timeout_seconds": {"type": "integer", "minimum": 0, "maximum": 30},
            "metadata": {"type": "object"},
        },
        "additionalProperties": false,
        "x-assumed": true,
    })
}

/// The alias without a canonical path.
fn face_swap(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = communication(generator);
    let own = ["avatar_handle", "video_url", "image_url"];
    if let Some(fields) = schema
        .get_mut("properties")
        .and_then(serde_json::Value::as_object_mut)
    {
        for name in own {
            fields.insert(name.to_owned(), serde_json::json!({"type": "string"}));
        }
    }
    schema.insert(
        "description".to_owned(),
        "An avatar, and the video or the image that its face is put into.".into(),
    );
    schema.insert("required".to_owned(), serde_json::json!(["avatar_handle"]));
    schema
}

fn any_message(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "A JSON-RPC 2.0 message.",
        "type": "object",
        "required": ["jsonrpc", "method"],
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "integer"]},
            "method": {"type": "string"},
            "params": {"type": "object"},
        },
        "x-assumed": true,
    })
}

/// What an operation takes and gives.
pub(super) fn of(operation: Operation) -> Bodies {
    use Operation as Op;

    match operation {
        Op::ImageGenerate => Bodies::submit::<ImageGenerate>(),
        Op::VideoGenerate => Bodies::submit::<VideoGenerate>(),
        Op::Image1Generate | Op::AliasImage10 => Bodies::submit::<Image1Generate>(),
        Op::Video1Generate | Op::AliasVideo10 => Bodies::submit::<Video1Generate>(),
        Op::Music1Generate | Op::AliasMusic10 => Bodies::submit::<Music1Generate>(),
        Op::AvatarGenerate | Op::AliasAvatarV10 | Op::AliasAvatar10Generate => {
            Bodies::submit::<AvatarGenerate>()
        }
        Op::AvatarTalkingVideo | Op::AliasAvatar10TalkingVideo | Op::AliasAvatarVideoV10 => {
            Bodies::submit::<AvatarTalkingVideo>()
        }
        Op::AliasAvatarFaceSwapV10 => {
            Bodies::submit::<SubmitReceipt>().taking_schema(face_swap, true)
        }
        Op::AvatarPreviewsCreate => Bodies::submit::<AvatarPreviewCreate>(),
        Op::AvatarPreviewsRegenerate | Op::AvatarPreviewsGenerateVideo => {
            Bodies::submit::<SubmitReceipt>().taking_schema(communication, false)
        }
        Op::VideoCaptionsCreate => Bodies::submit::<VideoCaptionsCreate>(),

        Op::ImageModelsList | Op::VideoModelsList => Bodies::many::<Model>(),
        Op::ImageModelsGet | Op::VideoModelsGet => Bodies::one::<Model>(),
        Op::OpenCatalogList => Bodies::many::<CatalogModel>(),
        Op::OpenCatalogGet => Bodies::one::<CatalogModel>(),
        Op::OpenEstimate => Bodies::one::<Estimate>().taking::<EstimateRequest>(),
        Op::TopUpsCreate => Bodies::one::<TopUp>()
            .taking::<TopUpCreate>()
            .with(&[201, 200]),
        Op::TopUpsGet => Bodies::one::<TopUp>(),

        Op::JobsList => Bodies::many::<Job>(),
        Op::JobsGet => Bodies::one::<Job>(),
        Op::JobsStatus => Bodies::one::<JobStatusPayload>(),
        Op::JobsResult => Bodies::one::<JobResult>(),
        Op::JobsCancel => Bodies::one::<Job>().taking_nothing(),
        Op::JobsEvents => Bodies::many::<JobEvent>(),
        Op::JobsWebhookRedeliver | Op::FormatRunsWebhookRedeliver => {
            Bodies::one::<Redelivery>().taking_nothing().with(&[202])
        }

        Op::Health | Op::HiddenHealth => Bodies::one::<Health>(),
        Op::Catalog => Bodies::one::<ServiceCatalog>(),
        Op::Me => Bodies::one::<Me>(),
        Op::Balance => Bodies::one::<Balance>(),
        Op::Usage => Bodies::many::<UsageEntry>(),
        Op::Openapi | Op::Reference => Bodies::document(),
        Op::BgmCatalog => Bodies::many::<MusicTrack>(),
        Op::BgmCategories => Bodies::many::<MusicCategory>(),
        Op::BgmPick => Bodies::one::<MusicTrack>().taking::<MusicPick>().optional(),

        Op::AvatarCanonicalList | Op::AvatarsList => Bodies::many::<Avatar>(),
        Op::AvatarCanonicalGet | Op::AvatarsGet => Bodies::one::<Avatar>(),
        Op::AvatarVideosList => Bodies::many::<AvatarVideo>(),
        Op::AvatarVideosGet => Bodies::one::<AvatarVideo>(),
        Op::AvatarPreviewsGet => Bodies::one::<AvatarPreview>(),
        Op::AvatarCatalogSearch => Bodies::many::<Avatar>().taking::<Search>(),
        Op::VideoCaptionsGet => Bodies::one::<VideoCaptions>(),
        Op::TrendingVideosSearch => Bodies::many::<TrendingVideo>().taking::<Search>(),

        Op::ActionsList => Bodies::many::<Action>(),
        Op::ActionsGet => Bodies::one::<Action>(),
        Op::ActionsRunsCreate => Bodies::start::<ActionRunCreate, RunReceipt>().optional(),
        Op::FormatsList => Bodies::many::<Format>(),
        Op::FormatsGet | Op::FormatsBySlugGet => Bodies::one::<Format>(),
        Op::FormatsRunsCreate | Op::FormatsBySlugRunsCreate => {
            Bodies::start::<FormatRunCreate, RunReceipt>()
        }
        Op::FormatsBulkCreate | Op::FormatsBySlugBulkCreate => {
            Bodies::start::<BulkRunCreate, Queue>()
        }
        Op::FormatQueuesGet => Bodies::one::<Queue>(),
        Op::AgentCompletionsCreate => Bodies::start::<AgentCompletionCreate, RunReceipt>(),
        Op::ActionsRunsList
        | Op::FormatsRunsList
        | Op::FormatsBySlugRunsList
        | Op::AgentRunsList => Bodies::many::<RunReceipt>(),
        Op::ActionsRunsGet
        | Op::ActionRunsGet
        | Op::ActionRunsResult
        | Op::FormatRunsGet
        | Op::FormatRunsResult
        | Op::AgentRunsGet
        | Op::AgentRunsResult => Bodies::one::<RunReceipt>(),
        Op::ActionRunsStatus | Op::FormatRunsStatus | Op::AgentRunsStatus => {
            Bodies::one::<RunStatusPayload>()
        }
        Op::FormatRunsEvents => Bodies::many::<RunEvent>(),
        Op::ActionRunsCancel | Op::FormatRunsCancel | Op::AgentRunsCancel => {
            Bodies::one::<RunReceipt>().taking_nothing()
        }

        Op::SigningSecretGet => Bodies::one::<SigningSecret>(),
        Op::SigningSecretRotate => Bodies::one::<SigningSecret>().taking_nothing(),
        Op::TestDeliveriesCreate => Bodies::one::<TestDelivery>()
            .taking::<TestDeliveryCreate>()
            .with(&[202]),
        Op::Mcp => Bodies::document().taking_schema(any_message, true),
        Op::HiddenAdmissionPreview => Bodies::one::<Health>().taking::<EstimateRequest>(),
    }
}
