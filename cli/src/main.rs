//! The program of the library: a library is compiled while its dependencies still are.

use std::process::ExitCode;

fn main() -> ExitCode {
    svc_cli::run()
}
