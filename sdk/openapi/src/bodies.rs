//! The request and response bodies of each operation, by the types that the SDK uses for them.
//!
//! The `match` in [`of`] is exhaustive, so that an operation cannot be added without its bodies.

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Value, json};
use svc_sdk::contract::{Operation, exhaustive, limits};
use svc_sdk::types::{
    Action, ActionRunCreate, AgentCompletionCreate, Avatar, AvatarGenerate, AvatarPreview,
    AvatarPreviewCreate, AvatarTalkingVideo, AvatarVideo, Balance, BulkRunCreate, CatalogModel,
    Estimate, EstimateRequest, Format, FormatRunCreate, Health, Image1Generate, ImageGenerate, Job,
    JobEvent, JobResult, JobStatusPayload, Me, Mode, Model, Music1Generate, MusicCategory,
    MusicPick, MusicTrack, Queue, Redelivery, RunEvent, RunReceipt, RunStatusPayload, SearchQuery,
    ServiceCatalog, SigningSecret, SubmitReceipt, TestDelivery, TestDeliveryCreate, TopUp,
    TopUpCreate, TrendingVideo, UsageEntry, Video1Generate, VideoCaptions, VideoCaptionsCreate,
    VideoGenerate,
};

use crate::{bounds, rules};

type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The request and response bodies of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Bodies {
    pub(crate) request: Option<RequestBody>,
    /// The statuses of successful responses.
    pub(crate) statuses: &'static [u16],
    pub(crate) response: ResponseBody,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestBody {
    pub(crate) schema: SchemaOf,
    pub(crate) required: bool,
}

/// The body of a successful response.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ResponseBody {
    /// An object under `data`.
    Object(SchemaOf),
    /// A list under `data`.
    List(SchemaOf),
    /// A JSON document without an envelope.
    Unwrapped,
}

impl Bodies {
    fn object<T: JsonSchema>() -> Self {
        Self::response(ResponseBody::Object(schema::<T>))
    }

    fn list<T: JsonSchema>() -> Self {
        Self::response(ResponseBody::List(schema::<T>))
    }

    fn unwrapped() -> Self {
        Self::response(ResponseBody::Unwrapped)
    }

    fn response(response: ResponseBody) -> Self {
        Self { request: None, statuses: &[200], response }
    }

    /// Describes the submit of a job: accepted, replayed, or finished within the wait timeout.
    fn submit<B: JsonSchema>() -> Self {
        Self::start::<B, SubmitReceipt>()
    }

    /// Describes the start of a run or a queue: accepted or replayed.
    fn start<B: JsonSchema, T: JsonSchema>() -> Self {
        Self::object::<T>().request::<B>().statuses(&[202, 200])
    }

    fn request<B: JsonSchema>(self) -> Self {
        self.request_schema(schema::<B>, true)
    }

    fn request_schema(mut self, schema: SchemaOf, required: bool) -> Self {
        self.request = Some(RequestBody { schema, required });
        self
    }

    fn optional(mut self) -> Self {
        if let Some(request) = &mut self.request {
            request.required = false;
        }
        self
    }

    /// Accepts an empty object as the request body.
    fn empty_request(self) -> Self {
        self.request_schema(empty_object, false)
    }

    fn statuses(mut self, statuses: &'static [u16]) -> Self {
        self.statuses = statuses;
        self
    }
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn empty_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "properties": {}, "additionalProperties": false})
}

/// Returns the schema of a request that has communication fields only.
fn communication(generator: &mut SchemaGenerator) -> Schema {
    let mode = generator.subschema_for::<Mode>();
    let mut schema = json_schema!({
        "description": "How the result is delivered.",
        "type": "object",
        "properties": {
            "mode": mode,
            "webhook_url": bounds::webhook_url(),
            "wait_timeout_seconds": {
                "type": "integer",
                "minimum": limits::WAIT_TIMEOUT_SECONDS_RANGE.start(),
                "maximum": limits::WAIT_TIMEOUT_SECONDS_RANGE.end(),
            },
            "metadata": bounds::any_object(),
        },
        "additionalProperties": false,
        "x-assumed": true,
    });
    rules::set_job_delivery(schema.ensure_object());
    schema
}

/// What gets the avatar's face in a face swap, of which a request has one.
const FACE_SWAP_TARGETS: [&str; 2] = ["video_url", "image_url"];

/// Returns the request schema of the face swap alias, which has no canonical path.
fn face_swap(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = communication(generator);
    let fields = schema.ensure_object();
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("avatar_handle".to_owned(), json!({"type": "string"}));
        for name in FACE_SWAP_TARGETS {
            properties.insert(name.to_owned(), bounds::url());
        }
        properties.iter_mut().for_each(|(name, property)| bounds::set(name, property));
    }
    let description = "An avatar, and the video or image that gets its face.";
    fields.insert("description".to_owned(), description.into());
    fields.insert("required".to_owned(), json!(["avatar_handle"]));
    rules::require_one_of(fields, FACE_SWAP_TARGETS);
    schema
}

fn json_rpc_message(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "A JSON-RPC 2.0 message.",
        "type": "object",
        "required": ["jsonrpc", "method"],
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "integer"]},
            "method": {"type": "string"},
            "params": bounds::any_object(),
        },
        "x-assumed": true,
    })
}

pub(crate) fn of(operation: Operation) -> Bodies {
    use exhaustive::Operation as Op;

    match operation.exhaustive() {
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
            Bodies::object::<SubmitReceipt>().request_schema(face_swap, true).statuses(&[202, 200])
        }
        Op::AvatarPreviewsCreate => Bodies::submit::<AvatarPreviewCreate>(),
        Op::AvatarPreviewsRegenerate | Op::AvatarPreviewsGenerateVideo => {
            Bodies::object::<SubmitReceipt>()
                .request_schema(communication, false)
                .statuses(&[202, 200])
        }
        Op::VideoCaptionsCreate => Bodies::submit::<VideoCaptionsCreate>(),

        Op::ImageModelsList | Op::VideoModelsList => Bodies::list::<Model>(),
        Op::ImageModelsGet | Op::VideoModelsGet => Bodies::object::<Model>(),
        Op::OpenCatalogList => Bodies::list::<CatalogModel>(),
        Op::OpenCatalogGet => Bodies::object::<CatalogModel>(),
        Op::OpenEstimate => Bodies::object::<Estimate>().request::<EstimateRequest>(),
        Op::TopUpsCreate => {
            Bodies::object::<TopUp>().request::<TopUpCreate>().statuses(&[201, 200])
        }
        Op::TopUpsGet => Bodies::object::<TopUp>(),

        Op::JobsList => Bodies::list::<Job>(),
        Op::JobsGet => Bodies::object::<Job>(),
        Op::JobsStatus => Bodies::object::<JobStatusPayload>(),
        Op::JobsResult => Bodies::object::<JobResult>(),
        Op::JobsCancel => Bodies::object::<Job>().empty_request(),
        Op::JobsEvents => Bodies::list::<JobEvent>(),
        Op::JobsWebhookRedeliver | Op::FormatRunsWebhookRedeliver => {
            Bodies::object::<Redelivery>().empty_request().statuses(&[202])
        }

        Op::Health | Op::HiddenHealth => Bodies::object::<Health>(),
        Op::Catalog => Bodies::object::<ServiceCatalog>(),
        Op::Me => Bodies::object::<Me>(),
        Op::Balance => Bodies::object::<Balance>(),
        Op::Usage => Bodies::list::<UsageEntry>(),
        Op::Openapi | Op::Reference => Bodies::unwrapped(),
        Op::BgmCatalog => Bodies::list::<MusicTrack>(),
        Op::BgmCategories => Bodies::list::<MusicCategory>(),
        Op::BgmPick => Bodies::object::<MusicTrack>().request::<MusicPick>().optional(),

        Op::AvatarCanonicalList | Op::AvatarsList => Bodies::list::<Avatar>(),
        Op::AvatarCanonicalGet | Op::AvatarsGet => Bodies::object::<Avatar>(),
        Op::AvatarVideosList => Bodies::list::<AvatarVideo>(),
        Op::AvatarVideosGet => Bodies::object::<AvatarVideo>(),
        Op::AvatarPreviewsGet => Bodies::object::<AvatarPreview>(),
        Op::AvatarCatalogSearch => Bodies::list::<Avatar>().request::<SearchQuery>(),
        Op::VideoCaptionsGet => Bodies::object::<VideoCaptions>(),
        Op::TrendingVideosSearch => Bodies::list::<TrendingVideo>().request::<SearchQuery>(),

        Op::ActionsList => Bodies::list::<Action>(),
        Op::ActionsGet => Bodies::object::<Action>(),
        Op::ActionsRunsCreate => {
            // That a repeated key is recognized is not documented.
            Bodies::start::<ActionRunCreate, RunReceipt>().optional().statuses(&[202])
        }
        Op::FormatsList => Bodies::list::<Format>(),
        Op::FormatsGet | Op::FormatsBySlugGet => Bodies::object::<Format>(),
        Op::FormatsRunsCreate | Op::FormatsBySlugRunsCreate => {
            Bodies::start::<FormatRunCreate, RunReceipt>()
        }
        Op::FormatsBulkCreate | Op::FormatsBySlugBulkCreate => {
            Bodies::start::<BulkRunCreate, Queue>()
        }
        Op::FormatQueuesGet => Bodies::object::<Queue>(),
        Op::AgentCompletionsCreate => Bodies::start::<AgentCompletionCreate, RunReceipt>(),
        Op::ActionsRunsList
        | Op::FormatsRunsList
        | Op::FormatsBySlugRunsList
        | Op::AgentRunsList => Bodies::list::<RunReceipt>(),
        Op::ActionsRunsGet
        | Op::ActionRunsGet
        | Op::ActionRunsResult
        | Op::FormatRunsGet
        | Op::FormatRunsResult
        | Op::AgentRunsGet
        | Op::AgentRunsResult => Bodies::object::<RunReceipt>(),
        Op::ActionRunsStatus | Op::FormatRunsStatus | Op::AgentRunsStatus => {
            Bodies::object::<RunStatusPayload>()
        }
        Op::FormatRunsEvents => Bodies::list::<RunEvent>(),
        Op::ActionRunsCancel | Op::FormatRunsCancel | Op::AgentRunsCancel => {
            Bodies::object::<RunReceipt>().empty_request()
        }

        Op::SigningSecretGet => Bodies::object::<SigningSecret>(),
        Op::SigningSecretRotate => Bodies::object::<SigningSecret>().empty_request(),
        Op::TestDeliveriesCreate => {
            Bodies::object::<TestDelivery>().request::<TestDeliveryCreate>().statuses(&[202])
        }
        Op::Mcp => Bodies::unwrapped().request_schema(json_rpc_message, true),
        Op::HiddenAdmissionPreview => Bodies::object::<Health>().request::<EstimateRequest>(),
    }
}
