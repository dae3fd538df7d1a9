//! A mock of the svc service with its full semantics, in memory, on this machine.
//!
//! It takes real requests, checks them as the service does, and remembers what they did: jobs
//! move, money is reserved, captured and refunded, budgets are spent, files can be downloaded.
//! Nothing that it does leaves the machine, and nothing that it does costs anything.
//!
//! # In a test
//!
//! ```
//! use svc_mock_server::{MockService, OPEN_API_KEY, Speed};
//! use svc_sdk::types::ImageGenerate;
//! use svc_sdk::{Secret, open};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let service = MockService::builder().speed(Speed::new(1000.0)?).start().await;
//! let client = open::Client::builder()
//!     .base_url(service.base_url())
//!     .api_key(Secret::new(OPEN_API_KEY)?)
//!     .build()?;
//!
//! let image = ImageGenerate::new("image-i").prompt("a red fox in snow");
//! let result = client.images().generate(&image).await?.wait().await?;
//!
//! let url = result.artifacts()[0].url.as_deref().unwrap_or_default();
//! assert!(url.starts_with(service.media_url()));
//! assert_eq!(service.jobs()[0]["status"], "completed");
//! # Ok(())
//! # }
//! ```
//!
//! `MockService` stands on [wiremock](https://docs.rs/wiremock), so that a test may mount its own
//! mocks over the service. Each has a state of its own, and tests do not meet in it.
//!
//! What there is to start from is [`Setup`]; what a test may do besides sending requests is
//! [`Service`], which every face dereferences to.
//!
//! # Three faces
//!
//! | face | feature | for |
//! |---|---|---|
//! | `MockService` | `wiremock` (default) | tests, over HTTP, with mocks of their own |
//! | `serve::Server`, and the program `svc-mock-server` | `serve`, `program` (default) | anything that runs for long, and clients in other languages |
//! | `InProcess` | `in-process` | simulation: the SDK's transport, without sockets, on the runtime's clock |
//!
//! Behind all three is the same [`Simulator`]: a state machine that is told what time it is.
//!
//! # The program
//!
//! ```text
//! svc-mock-server [--port-base 4010] [--clock real|manual] [--speed 1] [--seed 1] [--plan free]
//!                 [--balance-usd 100] [--webhook-route HTTPS_ORIGIN=HTTP_ORIGIN]… [--env|--json]
//! ```
//!
//! It listens on 127.0.0.1 at four ports: the open surface (4010), the developer surface with MCP
//! at `/mcp` (4011), artifacts and checkout pages (4012), and the control API (4013). Once all
//! four answer, it says where they are, as JSON, as a table, or for a shell:
//!
//! ```text
//! svc-mock-server --env > mock.env &
//! ```
//!
//! # What is in it at the start
//!
//! | kind | identity |
//! |---|---|
//! | workspace | `ws_demo` |
//! | keys of the open surface | `svc_open_demo` |
//! | keys of the developer surface | `svc_dev_demo` (every scope), `svc_dev_noscope` (none), `svc_sa_demo` (a service account), `svc_revoked`, `svc_team_demo` (of the team workspace `ws_team`), `svc_dev_other` (of `ws_other`) |
//! | models of the routers | `video-f`, `video-l`, `video-h`, `video-r`, `image-i`, `lipsync-s` |
//! | models of the canonical paths | `image-1.0`, `video-1.0`, `music-1.0`, `avatar-1.0`; the aliases are under the owner `studio` |
//! | Formats | `fmt_demo` (`demo/teaser`), `fmt_media` (`demo/product-shot`), `fmt_capped`, `fmt_inactive`, `fmt_no_trigger`, `fmt_archived`, `fmt_team`, `fmt_builtin`, `fmt_storyboard` (`studio/storyboard`) |
//! | Actions | `act_daily`, `act_no_trigger` |
//! | avatars | `ava_ada` (handle `ada`), `ava_lin` (`lin`), and ten more in the avatar catalog |
//! | background music, trending videos | twelve of each, with files |
//!
//! # The developer surface
//!
//! What the specification does not show, the mock decides:
//!
//! - Its jobs are paid from the same ledger as those of the open surface, in service credits of
//!   0.01 USD: an image 1 (`1080p` 2), a second of video 5, 10 or 20 by resolution, a second of
//!   music 1, an avatar 50, a second of a talking video 5, 10 or 20 by quality, a face swap 60,
//!   captions 5; previews are free. `GET /v1/catalog` has them all. A balance that does not cover
//!   the price answers `402 insufficient_credits`.
//! - A receipt has beside `job` what the job makes: `avatar`, `avatar_video`, `preview` or
//!   `caption`. It can be read by its id at once, with the job's status; an avatar is listed once
//!   it is made. A handle is taken until its avatar fails or is canceled.
//! - A talking video is as long as its script takes to say, at 15 characters a second. The shape of
//!   the items of `video_inputs` is open: `script` or `text` is what is said.
//! - `avatar-face-swap/v1.0` takes `avatar_handle` and one of `video_url` and `image_url`.
//! - A preview is made again under its id once its job has ended, and becomes a video once it is
//!   completed; before, `409 job_not_completed`.
//! - A pick of background music that nothing fits answers `404`. Searches find what has every word
//!   of the query in its name, title or tags.
//! - The admission preview takes `model` (`image-1.0`, `video-1.0`, `music-1.0`) and the submit's
//!   body as `input`.
//!
//! The OpenAPI document (`/v1/openapi.json`, `/reference/json`) is made from the SDK's table and types.
//! What is listed here as assumed is marked `x-assumed` in it.
//!
//! # Runs
//!
//! Runs of Actions, Formats and Agent Completions are no jobs, but are paid from the same ledger.
//! What the specification does not show, the mock decides:
//!
//! - A run tries to spend 0.05 USD, in three pieces: each is reserved when it begins (at three,
//!   five and seven tenths of the run's time) and captured when it is finished, two tenths later.
//!   What a cancel or a failure finds begun and not finished is refunded. The wallet has to cover
//!   what the run may spend, or, for a bulk queue, what all its runs may.
//! - `fmt_media`, Actions and Agent Completions make an image; so does a run whose `output_schema`
//!   has a place for a URL. It is there at half of the run's time. `fmt_capped` (`demo/capped`) may
//!   spend 2 USD. The others are `demo/inactive`, `demo/no-trigger`, `demo/archived`,
//!   `team/brand-film` and `studio/built-in`.
//! - The output fits the `output_schema`, the same for the same schema. Where nothing fits it, the
//!   run fails with `output_schema_unsatisfied`. `response_format` is `{"type": "text"}`,
//!   `{"type": "json_object"}` or `{"type": "json_schema", "json_schema": {"schema": …}}`.
//! - Attachments are fetched nowhere. There are the assets `asset_logo`, `asset_photo`,
//!   `asset_poster` (an image that is too large) and `asset_reel` (of which two are too much); a
//!   URL whose host is below `.invalid` cannot be fetched. A run has at most 50.
//! - `mode` is `async` or `webhook`, and `webhook_url` needs no `mode`.
//! - A bulk queue has a `concurrency` of 4 where it does not say.
//!
//! # Webhooks
//!
//! The end of a job or run that was given a `webhook_url` is announced once, signed with the
//! workspace's secret ([`Service::webhook_secret`]), and tried up to ten times: 30 seconds after
//! the first attempt, twice as long after each further one, up to an hour. `Retry-After` with `429`
//! and `503` takes the place of that, up to an hour. A receiver has ten seconds of real time
//! ([`Setup::webhook_timeout`]); redirects are not followed; the URL is judged again before each
//! attempt.
//!
//! Nothing leaves the machine: what is sent to an origin goes where a [`WebhookRoute`] leads
//! ([`Setup::route_webhooks`], [`Service::route_webhooks`], `--webhook-route`), by real HTTP, and
//! without a route the attempt fails with `no_route`. In process there are no routes, but a
//! receiver: `InProcess::webhook_receiver`.
//!
//! With a manual clock `POST /clock/advance` and [`Service::advance_and_deliver`] make each attempt
//! at its own moment, and go on when its outcome is known. What is due at once (a canceled job, a
//! redelivery, a test delivery) is sent though the clock stands still.
//!
//! Decided where the specification shows nothing:
//!
//! - `webhook_delivery.status` is `pending` before the first outcome and `delivered` after a
//!   success, beside `retrying`, `failed` (the destination is not allowed) and `exhausted`.
//!   `attempts` counts those that are made automatically.
//! - `last_error` is `http_error`, `redirect`, `timeout`, `connection_failed`,
//!   `url_not_public` or `no_route`.
//! - A redelivery that succeeds ends the retries; one that fails leaves the status as it was.
//! - An attempt that was under way when a state was taken out is made again where it is taken up.
//!
//! # Time
//!
//! Everything timed follows the mock's own clock: jobs, budgets, the retention of idempotency
//! keys, webhook retries. Service seconds from submit to completion: image 2, video 8, music 4,
//! avatar 6, talking video and face swap 8, preview 3, caption 3, run 10. The first tenth is
//! `queued`; generation starts at three tenths.
//!
//! The clock passes with real time, at a [`Speed`], or stands still until it is advanced
//! ([`Setup::clock_manual`], `--clock manual`).
//!
//! # Magic words
//!
//! A word in any text field steers the outcome, through any client:
//!
//! | word | effect |
//! |---|---|
//! | `[mock:fail]`, `[mock:fail=CODE]` | ends `failed`, with that code and the details that it has; by itself, a run's is `format_run_failed` |
//! | `[mock:refuse=CODE]` | the create is refused with that code and its status |
//! | `[mock:seconds=N]` | takes N service seconds |
//! | `[mock:stuck]` | never becomes terminal |
//! | `[mock:skip]` | a run ends `skipped` |
//! | `[mock:degraded]` | a run completes with `output` null, and with media |
//! | `[mock:cost=USD]` | a run spends so much; past its cap it fails |
//! | `[mock:usage-unreadable]` | a run's `usage` is null |
//! | `[mock:harvest-unavailable]` | a run's `output` cannot be read when it completes, and is there at the next read |
//! | `[mock:outage]`, `[mock:outage=N]` | the first N reads of a run (one) answer `503 studio_agent_upstream_unavailable`; the run goes on |
//!
//! A run's words stand in its `instruction`, its `input` or its attachments.
//!
//! # MCP
//!
//! The endpoint takes JSON-RPC by `POST` and answers with JSON. It speaks the revisions 2026-07-28
//! (each request by itself, `server/discover`) and 2025-11-25 (`initialize`, `ping`), keeps no
//! sessions, and is read with a developer key. Its tools are `image_generate`, `video_generate`,
//! `music_generate`, `format_run`, `agent_completion`, `jobs_status`, `jobs_result`, `run_status`,
//! `run_result`, `formats_list`, `models_list` and `balance`. The specification names
//! `jobs_status` and `max_spend_usd`; the rest is the mock's own:
//!
//! - A tool does what its operation does by its own path, with the same checks and under the same
//!   idempotency keys (`idempotency_key`). What is submitted is answered at once.
//! - A JSON-RPC request spends a read. A call of a tool that makes something spends a write, too.
//! - `max_spend_usd` is held against a job's price, and against a run's spend cap; a Format's own
//!   cap is lowered to it where the call names no other. Above it, `max_spend_exceeded`, with
//!   `details.estimate_usd`; nothing ran.
//! - What the service refuses is a result with `isError`, whose text is the error envelope. HTTP
//!   errors are left for what comes before the message: `401`, `403` for the `Origin` of another
//!   site, `405`, `406`, `413`, `415`, `429`.
//!
//! # The control API
//!
//! On its own port, without a key, and never a part of the service. `GET /` lists it.
//!
//! | request | effect |
//! |---|---|
//! | `POST /reset` | back to the start: added keys and faults gone, secrets as they were; the clock goes on |
//! | `GET /clock` | service time, and when something falls due next |
//! | `POST /clock/advance {"seconds": N}` | move the manual clock and run all that falls due, in order |
//! | `POST /faults {"surface"?, "operation"?, "kind", "times"?, "probability"?, "retry_after_seconds"?, "delay_ms"?}` | the next matching requests fail |
//! | `GET /faults`, `DELETE /faults` | those that are left; none left |
//! | `POST /keys {"kind", "workspace"?, "plan"?, "scopes"?}` | a new key; an unknown workspace is created |
//! | `POST /top-ups/{id} {"status"}` | what the payer does: `paid`, `failed`, `expired` |
//! | `POST /jobs/{id} {"status", "code"?}` | end a job now |
//! | `GET /requests?since=N` | the journal after sequence number N; the newest 10,000 |
//! | `GET /deliveries` | each attempt to deliver a webhook: `event`, `subject_id`, `url`, `headers`, `body` (base64), `status`, `error`, `at`; the newest 10,000, and at most 64 MiB of bodies |
//! | `GET /ledger`, `GET /jobs` | every entry, with each workspace's balance; every job |
//! | `GET /state`, `PUT /state` | the whole state, out and in: the same requests then get the same answers |
//!
//! Kinds of fault: `status_503`, `status_429`, `status_502_html`, `drop_before` (the connection is
//! closed, nothing was done), `drop_after` (it was done), `truncate`, `garbage`, `delay`. A fault's
//! surface is `open`, `developer`, `mcp` or `media`.

#[cfg(feature = "face")]
mod addresses;
mod api;
mod catalog_data;
#[cfg(feature = "face")]
mod clock;
#[cfg(feature = "face")]
mod control;
pub mod engine;
#[cfg(feature = "face")]
mod faces;
pub mod media;
#[cfg(feature = "face")]
mod mock_state;
#[cfg(feature = "program")]
pub mod program;
#[cfg(feature = "face")]
mod service;
#[cfg(feature = "face")]
mod setup;
mod simulator;
#[cfg(feature = "face")]
mod webhook_route;

pub use self::simulator::Simulator;

#[cfg(feature = "in-process")]
pub use self::faces::InProcess;
#[cfg(feature = "wiremock")]
pub use self::faces::MockService;
#[cfg(feature = "serve")]
pub use self::faces::serve;
#[cfg(feature = "face")]
pub use self::{
    addresses::{DEMO_WORKSPACE, DEVELOPER_API_KEY, OPEN_API_KEY},
    clock::{ClockMode, InvalidSpeed, NotManual, Speed},
    service::Service,
    setup::Setup,
    webhook_route::{InvalidRoute, WebhookRoute},
};
