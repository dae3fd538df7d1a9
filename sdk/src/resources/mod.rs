//! The resources of the service: what a client can do, one type for each.
//!
//! A client has a method for each resource, and the resource has a method for each operation:
//!
//! ```no_run
//! use svc_sdk::types::VideoGenerate;
//!
//! # async fn run(client: svc_sdk::open::Client) -> svc_sdk::Result<()> {
//! let job = client.videos().generate(VideoGenerate::new("auto").prompt("a red fox")).await?;
//! let page = client.jobs().list().limit(50).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Both surfaces
//!
//! | resource | method | what it does |
//! |---|---|---|
//! | [`Images`] | `images()` | generate images |
//! | [`Videos`] | `videos()` | generate videos |
//! | [`Jobs`] | `jobs()` | list jobs; get a handle of one |
//!
//! # The open surface
//!
//! | resource | method | what it does |
//! |---|---|---|
//! | [`Models`] | `models()` | list image and video models |
//! | [`Pricing`] | `pricing()` | list models with their prices in dollars |
//! | [`Estimates`] | `estimates()` | price a submit before it is made |
//! | [`TopUps`] | `top_ups()` | top up the balance |
//!
//! # The developer surface
//!
//! | resource | method | what it does |
//! |---|---|---|
//! | [`Account`] | `account()` | the API key, the balance, the usage ledger |
//! | [`Catalog`] | `catalog()` | what the service offers, and whether it is up |
//! | [`Music`] | `music()` | generate music |
//! | [`BackgroundMusic`] | `background_music()` | list and pick background music |
//! | [`Avatars`] | `avatars()` | create and find avatars, generate talking videos |
//! | [`AvatarVideos`] | `avatar_videos()` | list videos of avatars |
//! | [`Previews`] | `previews()` | preview videos of avatars |
//! | [`Captions`] | `captions()` | caption videos |
//! | [`Trending`] | `trending()` | search trending videos |
//! | [`ModelAliases`] | `model_aliases(owner)` | submit by the older paths under `/v1/models` |
//! | [`Actions`] | `actions()` | list and run Actions |
//! | [`Formats`] | `formats()` | list and run Formats, singly or in bulk |
//! | [`Agents`] | `agents()` | run the agent on an instruction |
//! | [`ActionRuns`], [`FormatRuns`], [`AgentRuns`] | `action_runs()`, … | get a handle of a run |
//! | [`Queues`] | `queues()` | get a handle of a bulk queue |
//! | [`Webhooks`] | `webhooks()` | the signing secret, test deliveries |
//! | [`Schema`] | `schema()` | the OpenAPI documents |

mod account;
mod actions;
mod agents;
mod avatar_videos;
mod avatars;
mod background_music;
mod captions;
mod catalog;
mod estimates;
mod formats;
mod images;
mod jobs;
mod model_aliases;
mod models;
mod music;
mod previews;
mod pricing;
mod queues;
mod runs;
mod schema;
mod top_ups;
mod trending;
mod videos;
mod webhooks;

pub use self::account::Account;
pub use self::actions::Actions;
pub use self::agents::Agents;
pub use self::avatar_videos::AvatarVideos;
pub use self::avatars::Avatars;
pub use self::background_music::BackgroundMusic;
pub use self::captions::Captions;
pub use self::catalog::Catalog;
pub use self::estimates::Estimates;
pub use self::formats::Formats;
pub use self::images::Images;
pub use self::jobs::Jobs;
pub use self::model_aliases::ModelAliases;
pub use self::models::Models;
pub use self::music::Music;
pub use self::previews::Previews;
pub use self::pricing::Pricing;
pub use self::queues::Queues;
pub use self::runs::{ActionRuns, AgentRuns, FormatRuns};
pub use self::schema::Schema;
pub use self::top_ups::TopUps;
pub use self::trending::Trending;
pub use self::videos::Videos;
pub use self::webhooks::Webhooks;

/// Declares a resource, and the client's method that returns it.
macro_rules! resource {
    (
        $(#[$doc:meta])*
        $name:ident, $(#[$method_doc:meta])* $method:ident of $surface:ty
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a> {
            client: &'a crate::Client<$surface>,
        }

        impl crate::Client<$surface> {
            $(#[$method_doc])*
            #[must_use]
            pub fn $method(&self) -> $name<'_> {
                $name { client: self }
            }
        }
    };
    (
        $(#[$doc:meta])*
        $name:ident, $(#[$method_doc:meta])* $method:ident of both surfaces
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'a, S> {
            client: &'a crate::Client<S>,
        }

        impl<S: crate::ClientSurface> crate::Client<S> {
            $(#[$method_doc])*
            #[must_use]
            pub fn $method(&self) -> $name<'_, S> {
                $name { client: self }
            }
        }
    };
}
use resource;

#[cfg(test)]
mod tests;
