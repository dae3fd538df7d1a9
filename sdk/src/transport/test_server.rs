//! A server for the tests of transports.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

pub(super) const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Starts a server and returns its URL. The function gets the number of the connection, starting at 1,
/// and the text of a request, and returns the response. If it returns none, the connection is closed.
pub(super) fn start_server(
    answer: impl Fn(usize, &str) -> Option<&'static [u8]> + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for (connection, stream) in (1..).zip(listener.incoming()) {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                let (mut stream, mut request) = (stream.unwrap(), [0; 4096]);
                while let Ok(length @ 1..) = stream.read(&mut request) {
                    let text = String::from_utf8_lossy(&request[..length]);
                    let Some(answer) = answer(connection, &text) else { return };
                    stream.write_all(answer).unwrap();
                }
            });
        }
    });
    url
}
