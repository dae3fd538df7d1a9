//! Shared code of the fuzz targets: a reference implementation, and generated deliveries that
//! are nearly valid.

pub mod delivery;
pub mod oracle;
