//! Documents of any size, which are written and read in another thread, a piece at a time.

use std::io::{self, BufReader, Read, Write};

use bytes::{Buf, Bytes, BytesMut};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::control::Document;
use crate::engine::snapshot;
use crate::engine::{RestoreError, State};

/// The size of a piece of a document.
const PIECE_BYTES: usize = 128 * 1024;
/// The number of pieces that wait to be sent or read.
const WAITING_PIECES: usize = 4;

/// Starts to write a document, and returns its pieces. Writing stops when the receiver is dropped.
pub(super) fn pieces(document: Document) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(WAITING_PIECES);
    spawn_blocking(move || {
        let mut writer = PieceWriter {
            piece: BytesMut::new(),
            sender,
        };
        // An error means that the client is gone.
        let _ = document.write(&mut writer).and_then(|()| writer.flush());
    });
    receiver
}

struct PieceWriter {
    piece: BytesMut,
    sender: mpsc::Sender<Bytes>,
}

impl Write for PieceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.piece.capacity() == 0 {
            self.piece.reserve(PIECE_BYTES);
        }
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.piece).freeze();
        let sent = self.sender.blocking_send(piece);
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

/// Reads a state from pieces, in another thread. The pieces are to be sent until the sender fails,
/// which means that the state is invalid.
pub(super) fn state_reader() -> (mpsc::Sender<Bytes>, impl Future<Output = ReadState>) {
    let (sender, pieces) = mpsc::channel(WAITING_PIECES);
    let reader = PieceReader {
        piece: Bytes::new(),
        pieces,
    };
    let state = spawn_blocking(move || {
        snapshot::read(BufReader::with_capacity(PIECE_BYTES, reader)).map(Box::new)
    });
    (sender, async { state.await.ok() })
}

/// The state that was read; `None` if the thread failed.
pub(super) type ReadState = Option<Result<Box<State>, RestoreError>>;

struct PieceReader {
    piece: Bytes,
    pieces: mpsc::Receiver<Bytes>,
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let len = self.piece.len().min(buffer.len());
        let (filled, _) = buffer.split_at_mut(len);
        self.piece.copy_to_slice(filled);
        Ok(len)
    }
}
