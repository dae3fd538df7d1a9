//! The program `svc-mock-server`: a local mock of the svc service.

use std::error::Error as StdError;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use svc_mock_server::program::{Options, run, shutdown_signal};

/// Run a local mock of the svc service.
///
/// When the mock accepts connections, it prints its addresses and keys. It runs until it receives
/// SIGINT or SIGTERM.
#[derive(Parser)]
#[command(name = "svc-mock-server", version)]
struct Program {
    #[command(flatten)]
    options: Options,

    /// Exit with 0 if a mock with these options runs, else with 1: the health check of a container
    #[arg(long)]
    check_health: bool,
}

/// How long a health check waits for a response.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Program { options, check_health } = Program::parse();
    let result = match check_health {
        true => self::check_health(options.bind, options.port_base).map_err(Into::into),
        false => run_program(options).await,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(&error_chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn run_program(options: Options) -> Result<(), Box<dyn StdError>> {
    // The handlers are installed before the first line is printed, because its reader may respond
    // with a signal.
    let shutdown = shutdown_signal()?;
    run(options, &mut io::stdout(), log, shutdown).await?;
    Ok(())
}

/// Asks the mock that listens on an address whether it runs.
fn check_health(address: IpAddr, port: u16) -> io::Result<()> {
    let address = if address.is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address };
    let address = SocketAddr::from((address, port));
    let ask = || -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&address, HEALTH_TIMEOUT)?;
        stream.set_read_timeout(Some(HEALTH_TIMEOUT))?;
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response)?;
        Ok(response)
    };
    let problem = match ask() {
        Ok(response) if response.starts_with(b"HTTP/1.1 200 ") => return Ok(()),
        Ok(_) => "it does not respond as expected".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(io::Error::other(format!(
        "no mock runs at http://{address}: {problem} (the options --port-base and --bind of the check are those of the mock)"
    )))
}

fn error_chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Writes a line to standard error. A failure to do so cannot be reported anywhere.
fn log(line: &str) {
    let _ = writeln!(io::stderr(), "svc-mock-server: {line}");
}
