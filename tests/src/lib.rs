//! What the tests that cross crates stand on: the mock server behind any of its faces, driven with
//! raw HTTP, and readers for the files and pages that it serves.
//!
//! Everything here is written from the specification alone. It uses none of the SDK's builders and
//! none of the mock's own types to say what a request or an answer is, so that a client and a mock
//! that agree by accident are found out.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on says why and stops"
)]

mod answer;
mod documented;
mod face;
mod file;
mod mock;
mod page;
mod receiver;
mod signature;
mod wire;

pub use answer::Answer;
pub use face::{Broken, Exchange, Face, FaceKind, Host, Raw, Setup};
pub use file::{Mp4, Mp4Track, mp4, png_size};
pub use mock::{Caller, Mock};
pub use page::{Form, forms};
pub use receiver::{Delivery, Receiver, Reply};
pub use signature::{fingerprint, signature};

/// Makes tests of async functions that take a [`Mock`], one test a face.
///
/// A function that is written but not named here is dead code, and the lints say so. A set-up
/// other than [`Setup::default`] follows the name: `name: balance_usd("1").plan("pro")`. Attributes
/// before the name go to each of its tests.
#[macro_export]
macro_rules! on_every_face {
    ($( $(#[$attribute:meta])* $test:ident $(: $( $option:ident ( $value:expr ) ).+ )? ),+ $(,)?) => {
        $(
            mod $test {
                async fn run(kind: $crate::FaceKind) {
                    let setup = $crate::Setup::default() $( $( .$option($value) )+ )?;
                    let mock = $crate::Mock::start(kind, setup).await;
                    Box::pin(super::$test(mock)).await;
                }

                $(#[$attribute])*
                #[tokio::test]
                async fn in_process() {
                    run($crate::FaceKind::InProcess).await;
                }

                $(#[$attribute])*
                #[tokio::test]
                async fn on_wiremock() {
                    run($crate::FaceKind::Wiremock).await;
                }

                $(#[$attribute])*
                #[tokio::test]
                async fn served() {
                    run($crate::FaceKind::Serve).await;
                }
            }
        )+
    };
}

/// Makes tests of async functions that take a [`Mock`] and the [`Receiver`] to which it brings what
/// is sent to `https://hooks.example.com`, one test a face that has a network.
#[macro_export]
macro_rules! on_every_face_that_sends {
    ($( $test:ident $(: $( $option:ident ( $value:expr ) ).+ )? ),+ $(,)?) => {
        $(
            mod $test {
                async fn run(kind: $crate::FaceKind) {
                    let receiver = $crate::Receiver::start().await;
                    let setup = $crate::Setup::default().webhooks_to(receiver.port());
                    let setup = setup $( $( .$option($value) )+ )?;
                    let mock = $crate::Mock::start(kind, setup).await;
                    Box::pin(super::$test(mock, receiver)).await;
                }

                #[tokio::test]
                async fn on_wiremock() {
                    run($crate::FaceKind::Wiremock).await;
                }

                #[tokio::test]
                async fn served() {
                    run($crate::FaceKind::Serve).await;
                }
            }
        )+
    };
}
