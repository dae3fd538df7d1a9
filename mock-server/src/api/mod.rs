//! What the service answers: each request's way from its path to its response. One file a resource;
//! what the service knows and does is in [`engine`](crate::engine).

mod account;
mod actions;
mod admission;
mod agent;
mod alias;
mod answer;
mod avatars;
mod bgm;
mod canonical;
mod captions;
mod catalog;
mod checkout;
mod estimate;
mod events;
mod failed;
mod failure;
mod faulty;
mod fields;
mod formats;
mod gate;
mod generation;
mod held;
mod image;
mod jobs;
mod json;
mod kept;
mod mcp;
mod models;
mod paging;
mod previews;
mod queues;
mod request;
mod resources;
mod route;
mod runs;
mod schema;
mod search;
mod speaking;
mod submit;
mod top_ups;
mod trending;
mod video;
mod webhooks;

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response};
use svc_sdk::contract::{ErrorCode, Operation};

use self::answer::{Answer, Headers, Outcome, Wait, json_response, refusal, set};
use self::failure::Failure;
use self::request::Request;
use self::route::Route;
use crate::engine::resources::Kind;
use crate::engine::runs::RunKind;
use crate::engine::{Call, Fault, Hold, Host, Hosts, Reply, State, journal};
use crate::{media, stock};

pub(crate) use self::held::{foresee, resume};
pub(crate) use self::jobs::with_delivery as job_view;
pub(crate) use self::kept::with_addresses as addressed;
pub(crate) use self::runs::announcement as run_announcement;
pub(crate) use self::top_ups::view as top_up_view;
pub(crate) use self::webhooks::of_job as job_announcement;

/// Answers a request and writes it into the journal.
pub(crate) fn answer(state: &mut State, hosts: &Hosts, call: &Call) -> Reply {
    let route = Route::of(call, hosts);
    let request_id = state.chance.id("req");
    let fault = state
        .faults
        .strike(call.host, route.name(), &mut state.dice);
    let mut reply = match call.host {
        Host::Open | Host::Developer => {
            on_a_surface(state, hosts, call, &route, &request_id, fault.as_ref())
        }
        Host::Media | Host::Control => {
            let instead = fault.as_ref().and_then(|fault| {
                let budget = route.budget(call.request.method());
                faulty::instead(fault, call.host, budget, &request_id, &Headers::new())
            });
            Reply::now(
                instead
                    .unwrap_or_else(|| of_the_media_host(state, hosts, call, &route, &request_id)),
            )
        }
    };
    reply.delay = fault.as_ref().map_or(Duration::ZERO, faulty::delay);
    let kind = fault.map(|fault| fault.kind);
    faulty::befall(&mut reply, kind);
    if let Some(hold) = &mut reply.hold {
        hold.fault = kind;
    }
    if call.request.method() == Method::HEAD {
        without_body(&mut reply.response);
    }
    let shown = reply.hold.as_ref().map(|hold| foresee(state, hosts, hold));
    let entry = journal::Entry {
        seq: 0,
        at: state.now,
        method: call.request.method().as_str().to_owned(),
        path: journal::shortened(
            call.request
                .uri()
                .path_and_query()
                .map_or("/", |path| path.as_str()),
        ),
        surface: call.host,
        operation: route.name().map(str::to_owned),
        headers: journal::redacted(call.request.headers()),
        request_id,
        status: faulty::status_of(shown.as_ref().unwrap_or(&reply)),
        fault: kind,
    };
    let seq = state.journal.write(entry);
    if let Some(hold) = &mut reply.hold {
        hold.journal_seq = seq;
    }
    reply
}

/// A request of the open or the developer surface.
fn on_a_surface(
    state: &mut State,
    hosts: &Hosts,
    call: &Call,
    route: &Route,
    request_id: &str,
    fault: Option<&Fault>,
) -> Reply {
    let admission = gate::admit(state, call, route);
    let headers = admission.headers;
    let budget = route.budget(call.request.method());
    if let Some(response) =
        fault.and_then(|fault| faulty::instead(fault, call.host, budget, request_id, &headers))
    {
        return Reply::now(response);
    }
    if let (None, Some(caller), Route::Operation(Operation::Mcp, _)) =
        (&admission.refused, &admission.caller, route)
    {
        let mut exchange = mcp::Exchange {
            state,
            hosts,
            call,
            caller,
            request_id,
        };
        return Reply::now(mcp::answer(&mut exchange, &headers));
    }
    let outcome = match (admission.refused, route) {
        (Some(failure), _) => Err(failure),
        (None, Route::Operation(operation, segments)) => {
            gate::check(call, *operation, admission.caller.as_ref()).and_then(|body| {
                operate(&mut Request {
                    state,
                    hosts,
                    host: call.host,
                    operation: *operation,
                    segments: segments.clone(),
                    query: call.request.uri().query().unwrap_or_default(),
                    headers: call.request.headers(),
                    body,
                    caller: admission.caller.clone(),
                    request_id,
                    ceiling: None,
                })
            })
        }
        (None, Route::OtherMethod { allow, .. }) => {
            let message = format!("This path takes {allow}.");
            Err(Failure::new(ErrorCode::MethodNotAllowed, message).allow(allow))
        }
        (None, _) => Err(Failure::new(
            ErrorCode::NotFound,
            "There is nothing at this path.",
        )),
    };
    match outcome {
        Ok(answer) => accepted(call.host, request_id, headers, answer),
        Err(failure) => Reply::now(refusal(call.host, request_id, &headers, &failure)),
    }
}

fn accepted(host: Host, request_id: &str, headers: Headers, answer: Answer) -> Reply {
    let mut reply = Reply::now(json_response(
        answer.status,
        request_id,
        &headers,
        &answer.body,
    ));
    reply.hold = answer.wait.map(
        |Wait {
             job_id,
             until,
             receipt,
         }| Hold {
            job_id,
            until,
            host,
            request_id: request_id.to_owned(),
            receipt,
            headers,
            fault: None,
            journal_seq: 0,
        },
    );
    reply
}

/// A request of the media host: a file or a checkout page.
fn of_the_media_host(
    state: &mut State,
    hosts: &Hosts,
    call: &Call,
    route: &Route,
    request_id: &str,
) -> Response<Bytes> {
    let nothing = || {
        let failure = Failure::new(ErrorCode::NotFound, "There is nothing at this path.");
        refusal(call.host, request_id, &Headers::new(), &failure)
    };
    match route {
        Route::Checkout(token) => checkout::answer(state, hosts, call, token, request_id),
        Route::Artifact(file) => match file_of(state, file) {
            Some(spec) => {
                let mut response =
                    media::serve(&spec, call.request.method(), call.request.headers());
                set(&mut response, "x-svc-request-id", request_id);
                response
            }
            None => nothing(),
        },
        _ => nothing(),
    }
}

/// What a file of the media host is made from: what a job made, or what comes with the service.
fn file_of(state: &State, file: &str) -> Option<media::Spec> {
    let (name, extension) = file.split_once('.')?;
    let made = jobs::artifact(state, name).cloned();
    made.or_else(|| stock::file(name))
        .filter(|spec| spec.extension() == extension)
}

/// Leaves the body out and says how long it would have been.
fn without_body(response: &mut Response<Bytes>) {
    let length = response.body().len();
    if length > 0 {
        response
            .headers_mut()
            .insert(http::header::CONTENT_LENGTH, length.into());
        *response.body_mut() = Bytes::new();
    }
}

/// What each operation does.
fn operate(request: &mut Request<'_>) -> Outcome {
    use Operation as Op;
    match request.operation {
        Op::ImageGenerate => image::generate(request),
        Op::ImageModelsList => image::list_models(request),
        Op::ImageModelsGet => image::get_model(request),
        Op::VideoGenerate => video::generate(request),
        Op::VideoModelsList => video::list_models(request),
        Op::VideoModelsGet => video::get_model(request),
        Op::JobsList => jobs::list(request),
        Op::JobsGet => jobs::get(request),
        Op::JobsStatus => jobs::status(request),
        Op::JobsResult => jobs::result(request),
        Op::JobsCancel => jobs::cancel(request),
        Op::OpenCatalogList => models::list_catalog(request),
        Op::OpenCatalogGet => models::get_catalog(request),
        Op::OpenEstimate => estimate::estimate(request),
        Op::TopUpsCreate => top_ups::create(request),
        Op::TopUpsGet => top_ups::get(request),
        Op::Health | Op::HiddenHealth => catalog::health(request),
        Op::Catalog => catalog::catalog(request),
        Op::Me => account::me(request),
        Op::Balance => account::balance(request),
        Op::Usage => account::usage(request),
        Op::Openapi | Op::Reference => schema::get(request),
        Op::BgmCatalog => bgm::list(request),
        Op::BgmCategories => bgm::categories(request),
        Op::BgmPick => bgm::pick(request),
        Op::JobsEvents => events::list(request),
        Op::JobsWebhookRedeliver => webhooks::redeliver_job(request),
        Op::AvatarGenerate => avatars::generate(request),
        Op::AvatarTalkingVideo => speaking::talking_video(request),
        Op::AvatarCanonicalList => avatars::list_canonical(request),
        Op::AvatarCanonicalGet => avatars::get_canonical(request),
        Op::AvatarsList => avatars::list_all(request),
        Op::AvatarsGet => avatars::get_any(request),
        Op::AvatarVideosList => resources::list(request, Kind::AvatarVideo),
        Op::AvatarVideosGet => resources::get(request, Kind::AvatarVideo),
        Op::AvatarCatalogSearch => avatars::search_catalog(request),
        Op::AvatarPreviewsCreate => previews::create(request),
        Op::AvatarPreviewsGet => resources::get(request, Kind::Preview),
        Op::AvatarPreviewsRegenerate => previews::regenerate(request),
        Op::AvatarPreviewsGenerateVideo => previews::generate_video(request),
        Op::Image1Generate => canonical::image(request),
        Op::Video1Generate => canonical::video(request),
        Op::Music1Generate => canonical::music(request),
        Op::HiddenAdmissionPreview => admission::preview(request),
        Op::AliasAvatarV10 | Op::AliasAvatar10Generate => alias::of(request, avatars::generate),
        Op::AliasAvatar10TalkingVideo | Op::AliasAvatarVideoV10 => {
            alias::of(request, speaking::talking_video)
        }
        Op::AliasAvatarFaceSwapV10 => alias::of(request, speaking::face_swap),
        Op::AliasImage10 => alias::of(request, canonical::image),
        Op::AliasVideo10 => alias::of(request, canonical::video),
        Op::AliasMusic10 => alias::of(request, canonical::music),
        Op::VideoCaptionsCreate => captions::create(request),
        Op::VideoCaptionsGet => resources::get(request, Kind::Captions),
        Op::TrendingVideosSearch => trending::search(request),
        Op::ActionsList => actions::list(request),
        Op::ActionsGet => actions::get(request),
        Op::ActionsRunsList => actions::list_runs(request),
        Op::ActionsRunsCreate => actions::run(request),
        Op::ActionsRunsGet => actions::get_run(request),
        Op::ActionRunsGet => runs::get(request, RunKind::Action),
        Op::ActionRunsStatus => runs::status(request, RunKind::Action),
        Op::ActionRunsResult => runs::result(request, RunKind::Action),
        Op::ActionRunsCancel => runs::cancel(request, RunKind::Action),
        Op::FormatsList => formats::list(request),
        Op::FormatsGet | Op::FormatsBySlugGet => formats::get(request),
        Op::FormatsRunsList | Op::FormatsBySlugRunsList => formats::list_runs(request),
        Op::FormatsRunsCreate | Op::FormatsBySlugRunsCreate => formats::run(request),
        Op::FormatsBulkCreate | Op::FormatsBySlugBulkCreate => queues::create(request),
        Op::FormatQueuesGet => queues::get(request),
        Op::FormatRunsGet => runs::get(request, RunKind::Format),
        Op::FormatRunsStatus => runs::status(request, RunKind::Format),
        Op::FormatRunsResult => runs::result(request, RunKind::Format),
        Op::FormatRunsEvents => runs::events(request),
        Op::FormatRunsCancel => runs::cancel(request, RunKind::Format),
        Op::FormatRunsWebhookRedeliver => runs::redeliver(request),
        Op::AgentCompletionsCreate => agent::create(request),
        Op::AgentRunsList => agent::list(request),
        Op::AgentRunsGet => runs::get(request, RunKind::Agent),
        Op::AgentRunsStatus => runs::status(request, RunKind::Agent),
        Op::AgentRunsResult => runs::result(request, RunKind::Agent),
        Op::AgentRunsCancel => runs::cancel(request, RunKind::Agent),
        Op::SigningSecretGet => webhooks::get_secret(request),
        Op::SigningSecretRotate => webhooks::rotate_secret(request),
        Op::TestDeliveriesCreate => webhooks::test(request),
        // Its requests are JSON-RPC, and were answered before they came here.
        Op::Mcp => Err(Failure::new(ErrorCode::NotFound, "MCP speaks JSON-RPC.")),
    }
}
