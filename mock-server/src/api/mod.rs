//! The HTTP API: routes, checks, handlers and response bodies. Each resource has a file of its own;
//! the state that handlers read and change is in [`engine`](crate::engine).

mod account;
mod actions;
mod agent;
mod announcements;
mod api_error;
mod apply_fault;
mod avatar_videos;
mod avatars;
mod background_music;
mod captions;
mod catalog;
mod checkout;
mod communication;
mod control_jobs;
mod dispatch;
mod error_details;
mod estimate;
mod events;
mod fields;
mod formats;
mod generation;
mod handler;
mod job_view;
mod jobs;
mod json_object;
mod mcp;
mod media_host;
mod media_kind;
mod models;
mod pagination;
mod pending_reply;
mod previews;
mod queues;
mod references;
mod request;
mod request_checks;
mod requested_error;
mod resources;
mod response;
mod route;
mod runs;
mod schema;
mod search;
mod strict_json;
mod submit;
mod top_ups;
mod versioned_models;
mod webhooks;

pub(crate) use self::announcements::announce_ended;
#[cfg(feature = "frontend")]
pub(crate) use self::control_jobs::ControlJobs;
pub(crate) use self::control_jobs::control_jobs;
pub(crate) use self::handler::handle;
pub(crate) use self::job_view::JobView;
#[cfg(feature = "dashboard")]
pub(crate) use self::media_host::find_file as media_file;
#[cfg(feature = "frontend")]
pub(crate) use self::media_host::requested_file;
pub(crate) use self::pending_reply::{predict, resume};
pub(crate) use self::runs::{run_events, run_view};
pub(crate) use self::top_ups::view as top_up_view;
