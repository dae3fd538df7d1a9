//! A load of requests on kept connections, by a client that does as little as possible.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Outcome;
use crate::timing::wall_time;

/// The connections that are open at the same time.
const CONNECTIONS: usize = 64;

/// Returns the requests per second that a server answers with a success. `request` returns the bytes
/// of the request of a connection.
pub(crate) async fn requests_per_second(
    address: SocketAddr,
    duration: Duration,
    request: impl Fn(usize) -> Vec<u8>,
) -> Outcome<f64> {
    let began = wall_time();
    let mut connections = JoinSet::new();
    for number in 0..CONNECTIONS {
        let request = request(number);
        connections.spawn(async move {
            let mut connection = TcpStream::connect(address).await?;
            connection.set_nodelay(true)?;
            let mut buffer = vec![0; 16 * 1024];
            let mut count = 0_u64;
            while wall_time().saturating_sub(began) < duration {
                connection.write_all(&request).await?;
                read_response(&mut connection, &mut buffer).await?;
                count += 1;
            }
            Outcome::Ok(count)
        });
    }
    let mut count = 0;
    while let Some(done) = connections.join_next().await {
        count += done??;
    }
    Ok(count as f64 / wall_time().saturating_sub(began).as_secs_f64())
}

/// Reads one response of known length.
async fn read_response(connection: &mut TcpStream, buffer: &mut [u8]) -> Outcome<()> {
    let mut filled = 0;
    loop {
        let rest = buffer.get_mut(filled..).filter(|rest| !rest.is_empty());
        let read = connection.read(rest.ok_or("a response is too long")?).await?;
        if read == 0 {
            return Err("the server closed a connection".into());
        }
        filled += read;
        let seen = buffer.get(..filled).unwrap_or_default();
        let Some(head) = seen.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        let text = std::str::from_utf8(seen.get(..head).unwrap_or_default())?;
        if !text.starts_with("HTTP/1.1 2") {
            return Err(text.lines().next().unwrap_or_default().into());
        }
        let fields = text.lines().filter_map(|line| line.split_once(':'));
        let mut lengths = fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let (_, length) = lengths.next().ok_or("a response has no length")?;
        if filled >= head + 4 + length.trim().parse::<usize>()? {
            return Ok(());
        }
    }
}
