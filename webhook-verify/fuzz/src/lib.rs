//! What the fuzz targets share: an oracle that is slow and plain, and deliveries that come
//! near to being genuine.

pub mod oracle;
pub mod delivery;
