//! Programs, one a task, each run in CI against the mock server.
//!
//! They take the service from the environment (`SVC_BASE_URL`, `SVC_OPEN_API_KEY`), as
//! `svc mock serve --env` prints it.

/// The README's code compiles as it stands there.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

/// So does the SDK's.
#[cfg(doctest)]
#[doc = include_str!("../sdk/README.md")]
pub struct SdkReadme;
