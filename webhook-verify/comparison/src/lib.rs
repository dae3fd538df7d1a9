//! An empty library. The content of this package is its benchmark.
