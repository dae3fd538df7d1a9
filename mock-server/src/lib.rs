//! A local, in-memory mock of the svc service.
//!
//! The mock validates requests as the service does and keeps their effects: jobs progress, funds
//! are reserved, captured and refunded, rate limits are counted, and artifacts can be downloaded.
//! It never contacts the service, costs nothing, and sends nothing to other machines.
//!
//! # Use in a test
//!
//! ```
//! use svc_mock_server::{MockService, OPEN_API_KEY, Speed};
//! use svc_sdk::types::ImageGenerate;
//! use svc_sdk::{ApiKey, open};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let service = MockService::builder().speed(Speed::new(1000.0)?).start().await;
//! let client = open::Client::builder()
//!     .base_url(service.base_url())
//!     .api_key(ApiKey::new(OPEN_API_KEY)?)
//!     .build()?;
//!
//! let body = ImageGenerate::new("image-i").prompt("a red fox in snow");
//! let job = client.images().generate(&body).await?;
//! let result = job.wait().await?;
//!
//! let url = result.artifacts()[0].url.as_deref().unwrap_or_default();
//! assert!(url.starts_with(service.media_url()));
//! assert_eq!(service.jobs()[0]["status"], "completed");
//! # Ok(())
//! # }
//! ```
//!
//! `MockService` is built on [wiremock](https://docs.rs/wiremock), so a test can mount its own
//! mocks on the same servers. Each `MockService` has its own state; tests do not share any.
//!
//! [`Setup`] configures the initial state. [`Service`], which every frontend dereferences to, lets
//! a test inspect and control the mock.
//!
//! # Frontends
//!
//! | type | feature | use |
//! |---|---|---|
//! | `MockService` | `wiremock` (default) | tests over HTTP, with additional mocks |
//! | `serve::Server`, and the program `svc-mock-server` | `serve`, `program` (default) | long-running servers, and clients in other languages |
//! | `InProcess` | `in-process` | simulations: a transport of the SDK without sockets, on the runtime's clock |
//!
//! All of them drive the same simulator, a state machine that is given the current time with each
//! call.
//!
//! # The program
//!
//! ```text
//! svc-mock-server [--port-base 4010] [--bind 127.0.0.1] [--host HOST] [--clock real|manual]
//!                 [--speed 1] [--seed 1] [--plan free] [--balance-usd 100]
//!                 [--webhook-route HTTPS_ORIGIN=HTTP_ORIGIN]… [--webhook-timestamps wall|service]
//!                 [--schedules] [--undocumented-keys ignore|honor] [--read-multiple 40]
//!                 [--writes-per-minute PLAN=N]… [--concurrent-jobs PLAN=N]… [--retain DAYS]
//!                 [--public-url [SURFACE=]URL]… [--urls-from-host] [--allow-host NAME]…
//!                 [--cors ORIGIN]… [--max-connections 512] [--log-requests]
//!                 [--log-format text|json] [--check-health] [--env|--json]
//! ```
//!
//! The program listens on four ports of 127.0.0.1: the open surface (4010), the developer surface
//! with MCP at `/mcp` (4011), artifacts and checkout pages (4012), and the control API (4013). When
//! all four accept connections, it prints their addresses as JSON, as a table, or as shell exports:
//!
//! ```text
//! svc-mock-server --env > mock.env &
//! ```
//!
//! # Initial data
//!
//! | kind | identifiers |
//! |---|---|
//! | workspace | `ws_demo` |
//! | keys of the open surface | `svc_open_demo` |
//! | keys of the developer surface | `svc_dev_demo` (every scope), `svc_dev_noscope` (no scope), `svc_sa_demo` (a service account), `svc_revoked`, `svc_team_demo` (of the team workspace `ws_team`), `svc_dev_other` (of `ws_other`) |
//! | router models | `video-f`, `video-l`, `video-h`, `video-r`, `image-i`, `lipsync-s` |
//! | models of the canonical paths | `image-1.0`, `video-1.0`, `music-1.0`, `avatar-1.0`; the aliases belong to the owner `studio` |
//! | formats | `fmt_demo` (`demo/teaser`), `fmt_media` (`demo/product-shot`), `fmt_capped`, `fmt_inactive`, `fmt_no_trigger`, `fmt_archived`, `fmt_team`, `fmt_builtin`, `fmt_storyboard` (`studio/storyboard`) |
//! | actions | `act_daily`, `act_no_trigger` |
//! | avatars | `ava_ada` (handle `ada`), `ava_lin` (`lin`), and ten more in the avatar catalog |
//! | background music, trending videos | twelve of each, with files |
//!
//! # Developer surface
//!
//! Where the specification leaves a behavior open, the mock behaves as follows:
//!
//! - Jobs are paid from the same ledger as those of the open surface, in credits of 0.01 USD: an
//!   image costs 1 (`1080p` 2), a second of video 5, 10 or 20 depending on the resolution, a second
//!   of music 1, an avatar 50, a second of a talking video 5, 10 or 20 depending on the quality, a
//!   face swap 60, captions 5; previews are free. `GET /v1/catalog` lists all prices. If the
//!   balance does not cover the price, the response is `402 insufficient_credits`.
//! - Besides `job`, a receipt contains the resource that the job creates: `avatar`,
//!   `avatar_video`, `preview` or `caption`. The resource can be read by its ID at once and has the
//!   status of its job; an avatar is listed when it is completed. A handle is reserved until its
//!   avatar fails or is canceled.
//! - The duration of a talking video follows from its script, at 15 characters a second. In an item
//!   of `video_inputs`, `script` or `text` is spoken; other fields are ignored.
//! - `avatar-face-swap/v1.0` takes `avatar_handle` and either `video_url` or `image_url`.
//! - A preview can be regenerated under its ID after its job has ended, and turned into a video
//!   after it is completed; before that, the response is `409 job_not_completed`.
//! - If no background track matches, a pick responds with `404`. A search returns the entries that
//!   have every word of the query in their name, title or tags.
//! - The admission preview takes `model` (`image-1.0`, `video-1.0`, `music-1.0`) and the body of
//!   the submit as `input`.
//!
//! The OpenAPI document (`/v1/openapi.json`, `/reference/json`) is generated from the SDK's table
//! of operations and its types. The assumptions listed here are marked `x-assumed` in it.
//!
//! # Runs
//!
//! Runs of actions, formats and agent completions are not jobs, but are paid from the same ledger.
//! Where the specification leaves a behavior open, the mock behaves as follows:
//!
//! - A run spends 0.05 USD by default, in three parts. Each part is reserved when it starts (after
//!   30, 50 and 70 percent of the run's duration) and captured when it finishes, 20 percent later.
//!   Parts that are unfinished when the run is canceled or fails are refunded. The balance has to
//!   cover what the run, or all runs of a bulk queue, may spend.
//! - `fmt_media`, actions and agent completions make an image, and so does a run whose
//!   `output_schema` has a field for a URL. It is available after half of the run's duration.
//!   `fmt_capped` (`demo/capped`) may spend 2 USD. The slugs of the other formats are
//!   `demo/inactive`, `demo/no-trigger`, `demo/archived`, `team/brand-film` and `studio/built-in`.
//! - The output matches the `output_schema`; equal schemas give equal outputs. If no value matches
//!   the schema, the run fails with `output_schema_unsatisfied`. `response_format` is
//!   `{"type": "text"}`, `{"type": "json_object"}` or
//!   `{"type": "json_schema", "json_schema": {"schema": …}}`.
//! - Attachments are never fetched. The assets that every workspace has are `asset_logo`,
//!   `asset_photo`, `asset_poster` (an image that is too large) and `asset_reel` (two of them exceed
//!   the total limit). A run has at most 50 attachments.
//! - A run that continues another carries its thread: `thread_id` is the same in all runs of the
//!   thread, and an output without a schema tells the turn. A run that continues a thread has it
//!   even if the agent never started; a skipped run has none.
//! - `act_daily` has a schedule: 09:00 UTC of the service clock. It is paused unless it is started
//!   (`--schedules`, [`Setup::schedules`], [`Service::set_schedule_active`]), so that nothing happens
//!   without a request. `trigger_type` of its runs is `schedule` or `api`. A scheduled run that the
//!   wallet cannot fund is skipped.
//! - Runs are paid by the wallet of the workspace's organization, if it has one; jobs are not.
//!
//! # URLs
//!
//! Inputs, attachments and webhooks need public HTTPS URLs. Nothing is fetched, and host names are
//! not resolved: `POST /dns` of the control API sets the address of one. Names of private networks
//! (`printer`, `nas.local`, `api.internal`) are not public, unless webhooks to them have a route. A
//! URL with a host below `.invalid` cannot be fetched.
//!
//! The mock's own media URLs count as public HTTPS URLs, so that the artifact of one job can be the
//! input of the next or be attached to a run. They are judged by what they lead to: a video is not
//! an image, a silent video is not speech, and the file of a job that has not completed cannot be
//! fetched.
//! - `mode` is `async` or `webhook`; `webhook_url` does not require a `mode`.
//! - The default `concurrency` of a bulk queue is 4.
//!
//! # Idempotency keys
//!
//! An idempotency key is valid for a workspace and an operation, for 24 hours of service time (assumed).
//! The key of a top-up stays valid for as long as the top-up exists. A malformed `Idempotency-Key` is
//! an error (`400`) for every operation that takes a body.
//!
//! Submits whose idempotency is not documented (the retry class `unsent`) ignore the key: a repeated
//! submit creates and charges a second job, as does a repeated call of its MCP tool. A lenient mock
//! honors these keys as well ([`Setup::undocumented_keys`], `--undocumented-keys honor`).
//!
//! # Webhooks
//!
//! When a job or run with a `webhook_url` ends, the mock sends one event, signed with the secret of
//! the workspace ([`Service::webhook_secret`]). It makes up to ten attempts: the first retry follows
//! after 30 seconds, and the delay doubles up to one hour. A `Retry-After` header of a `429` or
//! `503` response replaces the delay, up to one hour; its seconds are real time. A receiver has ten seconds of real time to
//! respond ([`Setup::webhook_timeout`]). Redirects are not followed. The URL is checked again before
//! each attempt.
//!
//! Webhooks are not sent to other machines: a [`WebhookRoute`] ([`Setup::route_webhooks`],
//! [`Service::route_webhooks`], `--webhook-route`) delivers those of a public origin to a local one
//! over HTTP. Without a route, an attempt fails with `no_route`. `InProcess` has no routes; it calls
//! a receiver instead (`InProcess::webhook_receiver`).
//!
//! With a manual clock, `POST /clock/advance` and [`Service::advance_and_deliver`] make each attempt
//! at its own time and continue when its outcome is known. Deliveries that are due immediately (a
//! canceled job, a redelivery, a test delivery) are sent without advancing the clock.
//!
//! Where the specification leaves a behavior open, the mock behaves as follows:
//!
//! - `webhook_delivery.status` is `pending` before the first outcome, `retrying` between attempts,
//!   `delivered` after a success, `failed` if the destination is not allowed, and `exhausted` after
//!   the last attempt. `attempts` counts the automatic attempts.
//! - `last_error` is `http_error`, `redirect`, `timeout`, `connection_failed`, `url_not_public` or
//!   `no_route`.
//! - A successful redelivery ends the retries. One whose destination is refused ends them as `failed`;
//!   any other failed one leaves the status unchanged.
//! - The timestamps of webhooks show the wall clock, whatever the service clock shows, so that
//!   receivers accept their age ([`Setup::webhook_timestamps`], `--webhook-timestamps service`). Those
//!   of `InProcess` show the service clock.
//! - An attempt in progress when a state is exported is repeated when the state is restored.
//!
//! # Time
//!
//! Everything timed uses the mock's own clock: jobs, rate limits, the retention of idempotency
//! keys, webhook retries. A pending top-up expires after 24 hours. The service seconds from submit to completion are: image 2, video 8,
//! music 4, avatar 6, talking video and face swap 8, preview 3, captions 3, run 10. A job is
//! `queued` for the first 10 percent of its duration; generation starts at 30 percent.
//!
//! The clock follows real time at a [`Speed`], or stands still until it is advanced
//! ([`Setup::clock_manual`], `--clock manual`). Clients count real seconds, so every wait in a
//! response is the service time divided by the speed: poll hints and `retry_after_seconds` are
//! rounded up to milliseconds, `Retry-After` and `ratelimit-reset` to whole seconds. At `--speed 20`
//! the window of a rate limit is three real seconds long. `wait_timeout_seconds` counts real seconds
//! as well.
//!
//! # Retention
//!
//! A mock keeps everything, unless it is started with `--retain DAYS` ([`Setup::retain_days`]). Then
//! what ended more than so many days of service time ago is dropped, oldest first:
//!
//! - jobs, with their files and the avatars, videos, previews and captions that they made, and runs;
//!   the runs of a bulk queue together, when the last of them is old enough;
//! - their webhooks, the attempts in `GET /deliveries`, and the requests in `GET /requests`;
//! - top-ups, with their idempotency keys (all other keys expire after a day);
//! - the ledger entries of all of these. The balance does not change: the control API's ledger has
//!   one entry a workspace with the kind `carried_forward`, whose `amount_usd` is what the dropped
//!   `entries` added to the balance (negative if they reduced it). `GET /v1/usage` does not show it.
//!
//! Jobs and runs that have not ended are kept, with their entries. The period is a setting of the
//! mock, not of its state: a state continues with the period of the mock that restores it.
//!
//! # MCP
//!
//! The endpoint takes JSON-RPC messages by `POST` and responds with JSON. It supports the revisions
//! 2026-07-28 (stateless, with `server/discover`) and 2025-11-25, 2025-06-18 and 2025-03-26
//! (`initialize`, `ping`), has no sessions, and requires a developer key. The tools are `image_generate`, `video_generate`,
//! `music_generate`, `format_run`, `agent_completion`, `jobs_status`, `jobs_result`, `run_status`,
//! `run_result`, `formats_list`, `models_list` and `balance`. The specification names
//! `jobs_status` and `max_spend_usd`; the rest is specific to the mock:
//!
//! - A tool performs the same operation as its REST path, with the same checks and the same
//!   idempotency keys: only `format_run` and `agent_completion` recognize a repeated `idempotency_key`,
//!   unless undocumented keys are honored. A tool responds without waiting for the job or run.
//! - A JSON-RPC request counts as a read. A call of a tool that creates something also counts as a
//!   write.
//! - `max_spend_usd` limits the price of a job and the spend cap of a run; the cap of a format is
//!   lowered to it unless the call names another. Above the limit, the call fails with
//!   `max_spend_exceeded` and `details.estimate_usd`, and nothing is created.
//! - An error of the service is a result with `isError` whose text is the error envelope. HTTP
//!   errors are used only for checks that precede the message: `401`, `403` for the `Origin` of
//!   another site, `405`, `406`, `413`, `415`, `429`.
//!
#![cfg_attr(
    not(all(
        feature = "serve",
        feature = "wiremock",
        feature = "in-process",
        feature = "dashboard"
    )),
    allow(dead_code, unused_imports, reason = "parts that only another frontend uses")
)]
#![doc = include_str!("../CONTROL.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod addresses;
mod api;
mod catalog_data;
mod clock;
mod control;
#[cfg(feature = "dashboard")]
mod dashboard;
pub mod engine;
mod exchanges;
mod frontends;
mod json_object;
mod media;
mod mock_state;
mod named_enum;
#[cfg(feature = "program")]
pub mod program;
mod rng;
mod service;
mod setup;
mod simulator;
mod webhook_route;

#[cfg(feature = "in-process")]
pub use self::frontends::InProcess;
#[cfg(feature = "wiremock")]
pub use self::frontends::MockService;
#[cfg(feature = "serve")]
pub use self::frontends::serve;
pub use self::{
    addresses::{DEMO_WORKSPACE, DEVELOPER_API_KEY, InvalidPublicUrl, OPEN_API_KEY, PublicUrl},
    clock::{ClockMode, InvalidSpeed, NotManual, Speed, WebhookTimestamps},
    engine::UndocumentedKeys,
    service::Service,
    setup::Setup,
    webhook_route::{InvalidRoute, WebhookRoute},
};
