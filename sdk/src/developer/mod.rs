//! The developer surface: account, catalog, generation, avatars and what goes with them, jobs.
//!
//! Its paid calls are not documented as idempotent: a key is sent all the same, and a submit that
//! may have arrived is reported ([`Error::is_ambiguous`](crate::Error::is_ambiguous)) rather than
//! repeated.

mod account;
mod actions;
mod agent;
mod alias;
mod avatars;
mod formats;
mod generation;
mod webhooks;

pub use actions::ActionsList;
pub use alias::Alias;

use crate::surface::Developer;

/// A client of the developer surface.
///
/// ```no_run
/// use svc_sdk::developer;
/// use svc_sdk::types::AvatarTalkingVideo;
///
/// # async fn run() -> svc_sdk::Result<()> {
/// let client = developer::Client::from_env()?;
/// println!("{} USD left", client.balance().send().await?.available_usd);
///
/// let video = AvatarTalkingVideo::new("ada").script("Good morning.");
/// let job = client.avatar_talking_video(&video).send().await?;
/// job.wait().await?;
/// job.download("out").await?;
/// # Ok(())
/// # }
/// ```
///
/// Calling what only the open surface has does not compile:
///
/// ```compile_fail,E0599
/// # fn run(client: svc_sdk::developer::Client) {
/// client.open_catalog_list();
/// # }
/// ```
pub type Client = crate::client::Client<Developer>;
