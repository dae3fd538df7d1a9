//! The frontends of a mock: each passes requests to the [`Service`](crate::Service) and returns its
//! responses, without knowledge of the API.

#[cfg(feature = "in-process")]
mod in_process;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(any(feature = "in-process", feature = "serve"))]
mod stall;
#[cfg(test)]
#[cfg(any(feature = "serve", feature = "wiremock"))]
mod testing;
#[cfg(feature = "webhook-sender")]
mod webhook_sender;
#[cfg(feature = "wiremock")]
mod wiremock;

#[cfg(feature = "in-process")]
pub use self::in_process::InProcess;
#[cfg(feature = "wiremock")]
pub use self::wiremock::MockService;
