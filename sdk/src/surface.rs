//! The two surfaces of the service, as types: a client of one lacks the resources of the other.

use std::fmt;

use crate::call::response::Wrapping;
use crate::contract;
use crate::sealed::Sealed;

/// A surface of the service: [`Open`] or [`Developer`].
///
/// This trait is sealed.
pub trait ClientSurface: Sealed + Copy + fmt::Debug + Send + Sync + Unpin + 'static {
    /// The surface, as the table of operations names it.
    const SURFACE: contract::Surface;
    #[doc(hidden)]
    const BASE_URL_VARIABLE: &'static str;
    #[doc(hidden)]
    const API_KEY_VARIABLE: &'static str;
}

/// The open pay-as-you-go surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open;

/// The developer surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Developer;

impl Sealed for Open {}
impl Sealed for Developer {}

impl ClientSurface for Open {
    const SURFACE: contract::Surface = contract::Surface::Open;
    const BASE_URL_VARIABLE: &'static str = "SVC_BASE_URL";
    const API_KEY_VARIABLE: &'static str = "SVC_OPEN_API_KEY";
}

impl ClientSurface for Developer {
    const SURFACE: contract::Surface = contract::Surface::Developer;
    const BASE_URL_VARIABLE: &'static str = "SVC_DEVELOPER_BASE_URL";
    const API_KEY_VARIABLE: &'static str = "SVC_DEVELOPER_API_KEY";
}

pub(crate) fn wrapping<S: ClientSurface>() -> Wrapping {
    match S::SURFACE {
        contract::Surface::Open => Wrapping::Required,
        _ => Wrapping::Optional,
    }
}
