//! Documents of any size, which are written and read in another thread, a piece at a time.

use std::io::{self, BufWriter, Read, Write};

use bytes::{Buf, Bytes};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::control::Document;
use crate::engine::RestoreError;
use crate::engine::snapshot::{self, ReadState};

/// The size of a piece of a document.
const PIECE_BYTES: usize = 128 * 1024;
/// The number of pieces that wait to be sent or read.
const WAITING_PIECES: usize = 4;

/// Starts to write a document, and returns its pieces. Writing stops when the receiver is dropped.
pub(super) fn pieces(document: Document) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(WAITING_PIECES);
    spawn_blocking(move || {
        let mut writer = BufWriter::with_capacity(PIECE_BYTES, PieceWriter(sender));
        // An error means that the client is gone.
        let _ = document.write(&mut writer).and_then(|()| writer.flush());
    });
    receiver
}

struct PieceWriter(mpsc::Sender<Bytes>);

impl Write for PieceWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Bytes::copy_from_slice(bytes));
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a state from pieces, in another thread. The pieces are to be sent until the sender fails,
/// which means that the state is invalid.
pub(super) fn state_reader() -> (mpsc::Sender<Bytes>, impl Future<Output = ReadResult>) {
    let (sender, pieces) = mpsc::channel(WAITING_PIECES);
    let mut reader = PieceReader { piece: Bytes::new(), pieces };
    let state = spawn_blocking(move || snapshot::read(&mut reader).map(Box::new));
    (sender, async move { state.await.ok() })
}

/// The state that was read; `None` if the thread failed.
pub(super) type ReadResult = Option<Result<Box<ReadState>, RestoreError>>;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Settings;
    use crate::simulator::Simulator;

    #[tokio::test]
    async fn a_document_arrives_in_pieces() {
        let text: Vec<u8> = (0..1_000_000_u32).map(|number| number as u8).collect();
        let written = text.clone();
        let mut pieces = pieces(Document::new(move |writer| {
            written.chunks(999).try_for_each(|chunk| writer.write_all(chunk))
        }));
        let (mut received, mut count) = (Vec::new(), 0);
        while let Some(piece) = pieces.recv().await {
            received.extend_from_slice(&piece);
            count += 1;
        }
        assert!((2..20).contains(&count), "{count}");
        assert_eq!(received.pop(), Some(b'\n'));
        assert!(received == text);
    }

    #[tokio::test]
    async fn a_state_is_read_from_pieces() {
        let settings = Settings::default();
        let document = Simulator::new(settings.clone()).snapshot(settings.epoch);
        let text = document.to_string();
        let (pieces, state) = state_reader();
        for piece in text.as_bytes().chunks(7) {
            pieces.send(Bytes::copy_from_slice(piece)).await.unwrap();
        }
        drop(pieces);
        let mut other = Simulator::new(Settings { seed: 7, ..settings.clone() });
        other.replace_state(state.await.unwrap().unwrap().0);
        assert_eq!(other.snapshot(settings.epoch), document);
    }

    #[tokio::test]
    async fn reading_ends_when_a_state_is_invalid() {
        let (pieces, state) = state_reader();
        while pieces.send(Bytes::from_static(b"no state")).await.is_ok() {}
        assert!(state.await.unwrap().is_err());
    }
}
