//! A typed async client for the svc media-generation and agent-run service.
//!
//! The service makes images and videos asynchronously: a submit is answered at once with a job,
//! the job is polled until it is terminal, and its result names files. Every submit is paid for.
//!
//! ```no_run
//! use svc_sdk::open;
//! use svc_sdk::types::VideoGenerate;
//!
//! # async fn run() -> svc_sdk::Result<()> {
//! let client = open::Client::from_env()?;
//! let video = VideoGenerate::new("auto").prompt("a red fox in snow").duration(5);
//! let job = client.video_generate(&video).send().await?;
//! let result = job.wait().await?;
//! println!("{}", result.artifacts()[0].url);
//! # Ok(())
//! # }
//! ```
//!
//! # What to read
//!
//! - [`open`] and [`developer`]: the two surfaces, each with a client of its own.
//! - [`JobHandle`]: waiting, results, cancelling, downloads; rebuilt from an id alone.
//! - [`runs`]: the same for runs of Actions, Formats and Agent Completions, and bulk queues.
//! - [`Error`]: what failed, whether it may have been carried out, what to do.
//! - [`contract`] and [`types`]: the service as data. They need no runtime
//!   (`default-features = false`).
//! - [`transport`]: the seam to the network, for tests and other HTTP clients.
//!
//! # Promises
//!
//! - **Nothing is paid twice.** A submit carries one `Idempotency-Key` through all its
//!   repetitions; what is not documented as idempotent is not repeated once it may have arrived.
//! - **Nothing is lost.** Every error after a submit carries the job's id and the key.
//! - **No credential leaves its host.** Requests with a key go to the configured URL only, never to
//!   one that a response named, and redirects are not followed.
//! - **A newer service breaks nobody.** Unknown fields, statuses, types and codes are kept.
//! - **The key's budget is kept.** Requests wait rather than run into a `429`; all waiters of a
//!   client share one poll schedule.
//!
//! # Features
//!
//! | feature | default | what it brings |
//! |---|---|---|
//! | `client` | yes | the async client, over any [`transport::Transport`] |
//! | `reqwest` | yes | the transport that is used where none is given |
//! | `rustls` | yes | TLS by rustls with ring and the platform's certificates |
//! | `rustls-aws-lc` | no | TLS by rustls with aws-lc-rs |
//! | `mcp` | no | `mcp::Client`, on the official `rmcp` |
//! | `schemars` | no | `JsonSchema` for the [`types`], and `types::OutputSchema::of` |
//! | `unstable-exhaustive-operations` | no | an exhaustive [`contract::Operation`], for this workspace only |

pub mod contract;
mod open_enum;
pub mod types;

#[cfg(feature = "client")]
mod call;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
pub mod developer;
#[cfg(feature = "client")]
pub mod download;
#[cfg(feature = "client")]
mod error;
#[cfg(feature = "client")]
mod jobs;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "client")]
pub mod open;
#[cfg(feature = "client")]
mod raw;
#[cfg(feature = "client")]
pub mod runs;
#[cfg(feature = "client")]
mod sealed;
#[cfg(feature = "client")]
mod submit;
#[cfg(feature = "client")]
mod surface;
#[cfg(feature = "client")]
pub mod transport;
#[cfg(feature = "client")]
mod wait;

#[cfg(feature = "client")]
pub use self::{
    call::retry::RetryPolicy,
    call::secret::Secret,
    call::{Call, Request},
    client::{Client, ClientBuilder},
    error::{Error, Result},
    jobs::JobsList,
    raw::{RawCall, RawResponse},
    submit::{Started, Submit},
    surface::{Developer, Open, Surface},
    wait::{Inbox, JobHandle, Standing, Update, Updates, WaitOptions, Watched},
};
