//! A typed async client for the svc media-generation and agent-run service.

pub mod contract;
mod open_enum;
pub mod types;
