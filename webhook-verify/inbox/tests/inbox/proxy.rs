//! A proxy that cuts connections after a request has reached the server and before its response has
//! reached the client.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// A proxy on this machine.
#[derive(Clone, Default)]
pub(crate) struct Proxy {
    loses_responses: Arc<AtomicBool>,
}

impl Proxy {
    /// Listens on a socket file, for a server that listens on another one.
    pub(crate) fn unix(at: &Path, server: PathBuf) -> Self {
        let proxy = Self::default();
        let (this, listener) = (proxy.clone(), UnixListener::bind(at).unwrap());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                this.connect(client, UnixStream::connect(&server).await);
            }
        });
        proxy
    }

    /// Listens on a free port, for a server that listens on another one. Returns the port as well.
    pub(crate) async fn tcp(server: u16) -> (Self, u16) {
        let proxy = Self::default();
        let (this, listener) = (proxy.clone(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                this.connect(client, TcpStream::connect(("127.0.0.1", server)).await);
            }
        });
        (proxy, port)
    }

    /// Sets whether responses are lost, and their connections with them.
    pub(crate) fn lose_responses(&self, loses: bool) {
        self.loses_responses.store(loses, Ordering::SeqCst);
    }

    fn connect<S>(&self, client: S, server: std::io::Result<S>)
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let Ok(server) = server else { return };
        let (from_client, to_client) = split(client);
        let (from_server, to_server) = split(server);
        tokio::spawn(forward(from_client, to_server, None));
        tokio::spawn(forward(from_server, to_client, Some(Arc::clone(&self.loses_responses))));
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
