//! Nothing: what there is to run is `cargo bench`.
