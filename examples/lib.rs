//! Example programs, one for each task. CI runs each of them against the mock server.
//!
//! They read the address of the service and the API key from the environment, as
//! `svc mock serve --env` prints it.

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

/// Compiles the code in the SDK's README.
#[cfg(doctest)]
#[doc = include_str!("../sdk/README.md")]
pub struct SdkReadme;
