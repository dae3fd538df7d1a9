//! A typed async client for the svc media-generation and agent-run service.
//!
//! The service generates images, videos, music and avatars asynchronously: a submit is answered at
//! once with a job, the job is polled until it has ended, and its result names the files. Every
//! submit is paid for.
//!
//! ```no_run
//! use svc_sdk::{open, types::VideoGenerate};
//!
//! # async fn run() -> svc_sdk::Result<()> {
//! let client = open::Client::from_env()?; // SVC_BASE_URL, SVC_OPEN_API_KEY
//! let body = VideoGenerate::new("auto").prompt("a red fox in snow").duration(5);
//! let job = client.videos().generate(body).await?;
//! let result = job.wait().await?;
//! println!("{:?}", result.artifacts()[0].url);
//! # Ok(())
//! # }
//! ```
//!
//! # Where to start
//!
//! - [`open::Client`] and [`developer::Client`]: a client of each surface of the service.
//! - [`resources`]: what a client can do, one type for each resource.
//! - [`Call`]: the options of a call, and the response beside its value.
//! - [`JobHandle`], [`RunHandle`], [`QueueHandle`], [`TopUpHandle`]: wait for what was submitted,
//!   cancel it, download its files.
//! - [`journal`]: submits that are paid for once, also after a crash.
//! - [`batch`]: many submits, a limited number of them in flight.
//! - [`ClientBuilder`]: the configuration of a client, for production.
//! - [`Error`]: what failed, whether the request may have been carried out, what to do.
//! - [`types`]: the bodies of requests and responses.
//! - [`contract`]: the operations of the service, as data. Like [`types`], it needs no runtime
//!   (`default-features = false`).
//! - [`observe`]: traces, metrics, and headers for each request.
//! - [`transport`]: the boundary to the network, for tests and other HTTP clients.
//!
//! The resources of each surface:
//!
//! | surface | resources |
//! |---|---|
//! | both | [`images()`](resources::Images), [`videos()`](resources::Videos), [`jobs()`](resources::Jobs) |
//! | open | [`models()`](resources::Models), [`pricing()`](resources::Pricing), [`estimates()`](resources::Estimates), [`top_ups()`](resources::TopUps) |
//! | developer | [`account()`](resources::Account), [`catalog()`](resources::Catalog), [`music()`](resources::Music), [`background_music()`](resources::BackgroundMusic), [`avatars()`](resources::Avatars), [`avatar_videos()`](resources::AvatarVideos), [`previews()`](resources::Previews), [`captions()`](resources::Captions), [`trending()`](resources::Trending), [`model_aliases()`](resources::ModelAliases), [`actions()`](resources::Actions), [`action_runs()`](resources::ActionRuns), [`formats()`](resources::Formats), [`format_runs()`](resources::FormatRuns), [`queues()`](resources::Queues), [`agents()`](resources::Agents), [`agent_runs()`](resources::AgentRuns), [`webhooks()`](resources::Webhooks), [`schema()`](resources::Schema) |
//!
//! # Guarantees
//!
//! - **Nothing is paid for twice.** A paid request carries one `Idempotency-Key` through all its
//!   retries. One that is not documented as idempotent is not sent again once it may have arrived.
//! - **Nothing is lost.** Every later error carries the id of the job or run, if it is known, and the
//!   idempotency key.
//! - **A crash changes neither**, with a [`journal`]: a submit with a submission id (such as an order
//!   number) is sent and paid for once, even if another process runs the same code again.
//! - **No credential leaves its host.** Requests with a key go to the configured URL only, never to
//!   one that a response named, and redirects are not followed.
//! - **A newer service does not break callers.** Unknown fields, statuses, types and codes are kept. A
//!   value that cannot be decoded does not make the rest of the response fail.
//! - **The API key's rate limit is respected.** Requests are delayed to avoid a `429`, and all waits of
//!   a client share one poll schedule.
//!
//! # What it does not do
//!
//! - **No blocking client.** In a synchronous program, call `block_on` of a tokio runtime.
//! - **No WebAssembly, no other runtime than tokio.** Timers and files are tokio's. `types` and `contract` need
//!   no runtime (`default-features = false`).
//! - **No uploads.** Media are given as public HTTPS URLs, as the service takes them.
//! - **No storage that is not asked for.** Without a [`journal`], the id of a job and its idempotency key are
//!   the caller's to store.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `client` | yes | the async client, over any [`transport::Transport`] |
//! | `hyper` | yes | the default transport |
//! | `reqwest-client` | no | [`transport`]`::from_reqwest_client`: a `reqwest::Client` of your own. With this feature alone, reqwest 0.13 is part of the public API. No feature of this crate changes the features of reqwest |
//! | `rustls` | yes | TLS by rustls with ring and the platform's certificates |
//! | `rustls-aws-lc` | no | TLS by rustls with aws-lc-rs |
//! | `opentelemetry` | no | `observe::OpenTelemetryMetrics`. With this feature alone, opentelemetry 0.33 is part of the public API |
//! | `testing` | no | `testing::ScriptedService`: scripted answers for the tests of applications |
//! | `schemars` | no | `types::OutputSchema::for_type`, and `schemars::JsonSchema` for the bodies |

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
pub mod batch;
pub mod contract;
mod open_enum;
pub mod types;

#[cfg(feature = "client")]
mod call;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod debug_fields;
#[cfg(feature = "client")]
pub mod download;
#[cfg(feature = "client")]
mod error;
#[cfg(feature = "client")]
pub mod handle;
#[cfg(feature = "client")]
pub mod journal;
#[cfg(feature = "client")]
mod lock;
#[cfg(feature = "client")]
#[doc(hidden)]
pub mod message;
#[cfg(feature = "client")]
pub mod observe;
#[cfg(feature = "client")]
mod polling;
#[cfg(feature = "client")]
pub mod resources;
#[cfg(feature = "client")]
#[cfg(test)]
mod scripts;
#[cfg(feature = "client")]
mod sealed;
#[cfg(feature = "client")]
mod surface;
#[cfg(all(feature = "client", any(test, feature = "testing")))]
pub mod testing;
#[cfg(feature = "client")]
pub mod transport;

#[cfg(feature = "client")]
pub use self::{
    call::api_key::ApiKey,
    call::key_provider::{KeyFuture, KeyProvider, KeyProviderError},
    call::retry::RetryPolicy,
    call::{Call, CallWithResponse, Items, Pages, RateLimit, RawResponse, Request, Response},
    client::{Client, ClientBuilder},
    error::{Error, ErrorKind, Result},
    handle::{ActionRun, AgentRun, FormatRun, JobHandle, QueueHandle, RunHandle, TopUpHandle},
    polling::{PollStatus, Update, Updates, Wait, WebhookNotifier},
    surface::{ClientSurface, Developer, Open},
};

#[cfg(feature = "client")]
#[doc(hidden)]
pub use self::call::task::TaskGroup;

/// The open pay-as-you-go surface: images, videos, prices, top-ups, jobs.
#[cfg(feature = "client")]
pub mod open {
    /// A client of the open surface.
    ///
    /// ```no_run
    /// use svc_sdk::{open, types::VideoGenerate};
    ///
    /// # async fn run() -> svc_sdk::Result<()> {
    /// let client = open::Client::from_env()?;
    /// let body = VideoGenerate::new("auto").prompt("a red fox in snow").duration(5);
    /// println!("{} USD", client.estimates().create(&body).await?.price_usd);
    ///
    /// let job = client.videos().generate(body).await?;
    /// job.wait().await?;
    /// for file in job.download("out").await? {
    ///     println!("{}", file.path.display());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub type Client = crate::Client<crate::Open>;
    /// The configuration of a client of the open surface.
    pub type ClientBuilder = crate::ClientBuilder<crate::Open>;
}

/// The developer surface: the account, generation, avatars, agent runs, webhooks, jobs.
///
/// Most of its submits are not documented as idempotent. An idempotency key is sent all the same, and
/// a submit that may have arrived is reported
/// ([`Error::is_ambiguous`](crate::Error::is_ambiguous)) rather than retried.
#[cfg(feature = "client")]
pub mod developer {
    /// A client of the developer surface.
    ///
    /// ```no_run
    /// use svc_sdk::{developer, types::AvatarTalkingVideo};
    ///
    /// # async fn run() -> svc_sdk::Result<()> {
    /// let client = developer::Client::from_env()?;
    /// println!("{} USD left", client.account().balance().await?.available_usd);
    ///
    /// let body = AvatarTalkingVideo::new("ada").script("Good morning.");
    /// let job = client.avatars().talking_video(body).await?;
    /// job.wait().await?;
    /// job.download("out").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A resource that only the open surface has does not compile:
    ///
    /// ```compile_fail,E0599
    /// # fn run(client: svc_sdk::developer::Client) {
    /// client.top_ups();
    /// # }
    /// ```
    pub type Client = crate::Client<crate::Developer>;
    /// The configuration of a client of the developer surface.
    pub type ClientBuilder = crate::ClientBuilder<crate::Developer>;
}
