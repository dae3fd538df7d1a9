//! The developer surface: so far the jobs, which it shares with the open surface.

use crate::surface::Developer;

/// A client of the developer surface.
///
/// ```no_run
/// use svc_sdk::developer;
///
/// # async fn run() -> svc_sdk::Result<()> {
/// let client = developer::Client::from_env()?;
/// for job in client.jobs_list().send().await? {
///     println!("{} {}", job.id, job.status);
/// }
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
