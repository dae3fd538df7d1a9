//! The program. All of it is in the library, which can be compiled before what it depends on is finished.

use std::process::ExitCode;

fn main() -> ExitCode {
    svc_cli::run()
}
