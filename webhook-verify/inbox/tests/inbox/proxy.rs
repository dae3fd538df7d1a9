//! A proxy that cuts connections after a request has reached the server and before its response has
//! reached the client.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// A proxy on this machine.
pub(crate) struct Proxy {
    loses_responses: Arc<AtomicBool>,
}

impl Proxy {
    /// Listens on a socket file, for a server that listens on another one.
    pub(crate) fn unix(at: &Path, server: PathBuf) -> Self {
        let proxy = Self::new();
        let listener = UnixListener::bind(at).unwrap();
        let loses_responses = Arc::clone(&proxy.loses_responses);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = UnixStream::connect(&server).await {
                    let loses = Arc::clone(&loses_responses);
                    let (client, server) = (client.into_split(), server.into_split());
                    tokio::spawn(forward(client.0, server.1, None));
                    tokio::spawn(forward(server.0, client.1, Some(loses)));
                }
            }
        });
        proxy
    }

    /// Listens on a free port, for a server that listens on another one. Returns the port as well.
    pub(crate) async fn tcp(server: u16) -> (Self, u16) {
        let proxy = Self::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let loses_responses = Arc::clone(&proxy.loses_responses);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await {
                    let loses = Arc::clone(&loses_responses);
                    let (client, server) = (client.into_split(), server.into_split());
                    tokio::spawn(forward(client.0, server.1, None));
                    tokio::spawn(forward(server.0, client.1, Some(loses)));
                }
            }
        });
        (proxy, port)
    }

    fn new() -> Self {
        Self { loses_responses: Arc::default() }
    }

    /// Sets whether responses are lost, and their connections with them.
    pub(crate) fn lose_responses(&self, loses: bool) {
        self.loses_responses.store(loses, Ordering::SeqCst);
    }
}

/// Forwards bytes in one direction until the connection ends or is cut.
async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    loses: Option<Arc<AtomicBool>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if loses.as_ref().is_some_and(|loses| loses.load(Ordering::SeqCst)) {
            break;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}
