//! A test harness that runs the mock server behind each of its frontends, drives it with raw HTTP, and
//! parses the files and pages that it serves.
//!
//! The harness is written from the specification alone. It builds requests and reads responses
//! without the SDK's builders and the mock's types, so that a mistake that both make is detected. Only the
//! [simulation] is about the SDK's own clients.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed assertion ends the test"
)]
#![allow(missing_docs, reason = "the crate is not published")]

mod client;
mod file;
mod frontend;
mod http1;
mod mock;
mod openapi;
mod receiver;
mod response;
mod script;
mod signature;
pub mod simulation;

pub use client::Client;
pub use frontend::{FrontendKind, Host, TransportError};
pub use mock::Mock;
pub use receiver::{Delivery, Receiver};
pub use response::Response;
pub use script::{request, run_script, run_scripts, try_request};
pub use signature::{fingerprint, signature};

/// Generates a module with a test per frontend, which run the block with it.
#[macro_export]
macro_rules! tests_per_frontend {
    ($name:ident, |$kind:ident| $body:block) => {
        mod $name {
            async fn run($kind: $crate::FrontendKind) $body

            #[tokio::test]
            async fn in_process() {
                run($crate::FrontendKind::InProcess).await;
            }

            #[tokio::test]
            async fn wiremock() {
                run($crate::FrontendKind::Wiremock).await;
            }

            #[tokio::test]
            async fn serve() {
                run($crate::FrontendKind::Serve).await;
            }
        }
    };
}

/// Generates a test per frontend for async functions that take a [`Mock`].
///
/// Options of the mock follow the function's name: `name: "balance=1 plan=pro"`. A function
/// that is not listed is reported by the compiler as dead code.
#[macro_export]
macro_rules! on_every_frontend {
    ($( $test:ident $(: $options:literal)? ),+ $(,)?) => {
        $(
            $crate::tests_per_frontend!($test, |kind| {
                let mock = $crate::Mock::start(kind, concat!($( $options )?)).await;
                Box::pin(super::$test(mock)).await;
            });
        )+
    };
}

/// Generates a test per frontend for the scripts of each file in a folder, which [`run_scripts`] runs.
#[macro_export]
macro_rules! script_files {
    ($folder:expr; $( $file:ident ),+ $(,)?) => {
        $(
            $crate::tests_per_frontend!($file, |kind| {
                let file = format!("{}/{}.txt", $folder, stringify!($file));
                $crate::run_scripts(file.as_ref(), kind).await;
            });
        )+

        #[test]
        fn every_file_of_scripts_is_run() {
            let listed = [$( concat!(stringify!($file), ".txt") ),+];
            for file in std::fs::read_dir($folder).unwrap() {
                let name = file.unwrap().file_name();
                assert!(listed.iter().any(|listed| name == *listed), "{name:?}");
            }
        }
    };
}
