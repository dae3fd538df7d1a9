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
//! The [crate](crate#where-to-start) lists them by surface.

mod account;
mod agent;
mod avatars;
mod catalog;
mod generation;
mod jobs;

pub use self::account::{Account, TopUps, Webhooks};
pub use self::agent::{ActionRuns, Actions, AgentRuns, Agents, FormatRuns, Formats, Queues};
pub use self::avatars::{AvatarVideos, Avatars, Captions, Previews};
pub use self::catalog::{BackgroundMusic, Catalog, Estimates, Models, Pricing, Schema, Trending};
pub use self::generation::{Images, ModelAliases, Music, Videos};
pub use self::jobs::Jobs;

/// Declares a resource, and the client's method that returns it. `with handles` adds its method `handle`.
macro_rules! resource {
    (
        $(#[$doc:meta])*
        $name:ident, $(#[$method_doc:meta])* $method:ident of $surface:ident
        $(, with handles $handle:ty, $id:ty)?
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

        $(
            impl $name<'_> {
                /// Returns a handle of the one with that id. Nothing is requested.
                #[must_use]
                pub fn handle(&self, id: impl Into<$id>) -> $handle {
                    <$handle>::from_id(self.client, id.into())
                }
            }
        )?
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

/// Declares methods of a resource, one for an operation each: `name[ids](body) -> value: call operation`.
macro_rules! methods {
    ($type:ty {$(
        $(#[$doc:meta])*
        $method:ident $([$($id:ident: $conversion:ident<$id_type:ty>),+])? $(($body:ty))?
            -> $value:ty: $call:ident $operation:path;
    )+}) => {
        impl $type {$(
            $(#[$doc])*
            pub fn $method(
                &self,
                $($($id: impl $conversion<$id_type>,)+)?
                $(body: impl std::borrow::Borrow<$body>,)?
            ) -> crate::Call<$value> {
                $($(crate::resources::methods!(@bind $conversion $id $id_type);)+)?
                let segments: &[&str] = &[$($($id.as_ref()),+)?];
                let call = crate::Call::$call(&self.client.core, $operation, segments);
                $(let call = call.json::<$body>(body.borrow());)?
                call
            }
        )+}
    };
    (@bind AsRef $id:ident $type:ty) => {};
    (@bind Into $id:ident $type:ty) => {
        let $id: $type = $id.into();
    };
}
use methods;

#[cfg(test)]
mod tests;
