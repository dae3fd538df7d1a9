//! Files of an exact size: a small file of a type, padded by what readers of the type skip.

use serde::{Deserialize, Serialize};

use super::{music, video};

/// The types of files that can be padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PaddedType {
    Png,
    Jpeg,
    Mp4,
    Wav,
    Json,
    Text,
    /// A file of any other type, which consists of zeros.
    Other,
}

/// The value of `Content-Type`, the extension of file names, and the media type of artifacts.
pub(super) struct Names(pub(super) &'static str, pub(super) &'static str, pub(super) &'static str);

impl PaddedType {
    /// Returns the type of files of a media type.
    pub(crate) fn of(content_type: &str) -> Self {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        match essence {
            "image/png" => Self::Png,
            "image/jpeg" | "image/jpg" => Self::Jpeg,
            "video/mp4" => Self::Mp4,
            "audio/wav" | "audio/x-wav" | "audio/wave" => Self::Wav,
            "application/json" => Self::Json,
            text if text.starts_with("text/") => Self::Text,
            _ => Self::Other,
        }
    }

    pub(super) fn names(self) -> Names {
        match self {
            Self::Png => Names("image/png", "png", "image"),
            Self::Jpeg => Names("image/jpeg", "jpg", "image"),
            Self::Mp4 => Names("video/mp4", "mp4", "video"),
            Self::Wav => Names("audio/wav", "wav", "audio"),
            Self::Json => Names("application/json", "json", "text"),
            Self::Text => Names("text/plain; charset=utf-8", "txt", "text"),
            Self::Other => Names("application/octet-stream", "bin", "file"),
        }
    }
}

/// Returns a file of exactly `size` bytes. If that is too small for the type, the file ends early.
pub(super) fn padded(kind: PaddedType, size: usize) -> Vec<u8> {
    let mut file = match kind {
        PaddedType::Png => png(size),
        PaddedType::Jpeg => jpeg(size),
        PaddedType::Mp4 => mp4(size),
        PaddedType::Wav => wav(size),
        PaddedType::Json => json(size),
        PaddedType::Text => b"An asset of the mock.\n".iter().copied().cycle().take(size).collect(),
        PaddedType::Other => Vec::new(),
    };
    file.resize(size, 0);
    file
}

/// Pads an image by a chunk that is neither critical nor public, before the last chunk.
fn png(size: usize) -> Vec<u8> {
    const CHUNK_OVERHEAD: usize = 12;
    let encode = |padding: Option<usize>| {
        let mut file = Vec::new();
        let encoded = png::Encoder::new(&mut file, 1, 1).write_header().and_then(|mut writer| {
            writer.write_image_data(&[128])?;
            if let Some(padding) = padding {
                writer.write_chunk(png::chunk::ChunkType(*b"paDd"), &vec![0; padding])?;
            }
            writer.finish()
        });
        // Writing one pixel to memory does not fail.
        encoded.map(|()| file).unwrap_or_default()
    };
    let smallest = encode(None);
    match size.checked_sub(smallest.len() + CHUNK_OVERHEAD) {
        Some(padding) => encode(Some(padding)),
        None => smallest,
    }
}

/// Pads a gray image of eight by eight pixels by comments.
fn jpeg(size: usize) -> Vec<u8> {
    const MAX_SEGMENT: usize = 65_537;
    const HEADER: usize = 4;
    let mut tail = vec![0xff, 0xdb, 0, 67, 0];
    tail.extend([1; 64]);
    tail.extend([0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0]);
    for class in [0x00, 0x10] {
        // One code of one bit: no difference of brightness, and the end of the block.
        tail.extend([0xff, 0xc4, 0, 20, class, 1]);
        tail.extend([0; 16]);
    }
    tail.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0x3f, 0xff, 0xd9]);
    let mut file = vec![0xff, 0xd8];
    let mut rest = size.saturating_sub(file.len() + tail.len());
    while rest >= HEADER {
        let mut segment = rest.min(MAX_SEGMENT);
        if (1..HEADER).contains(&(rest - segment)) {
            segment -= HEADER;
        }
        let length = u16::try_from(segment - 2).unwrap_or(u16::MAX);
        file.extend([0xff, 0xfe]);
        file.extend(length.to_be_bytes());
        file.resize(file.len() + segment - HEADER, b' ');
        rest -= segment;
    }
    file.extend(tail);
    file
}

/// Pads a video by a box that readers skip.
fn mp4(size: usize) -> Vec<u8> {
    let mut file = video::mp4(64, 48, 200, false, 1);
    let rest = size.saturating_sub(file.len());
    if let Ok(length) = u32::try_from(rest)
        && rest >= 8
    {
        file.extend(length.to_be_bytes());
        file.extend(b"free");
    }
    file
}

/// Returns silence of the size.
fn wav(size: usize) -> Vec<u8> {
    let data = u32::try_from(size.saturating_sub(44)).unwrap_or(u32::MAX - 44);
    let mut file = music::header(8_000, 1, data);
    file.resize(size.max(file.len()), 128);
    file
}

fn json(size: usize) -> Vec<u8> {
    let mut file = vec![b' '; size];
    match file.as_mut_slice() {
        [first, .., last] => (*first, *last) = (b'"', b'"'),
        file => file.fill(b'0'),
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_exact_size_and_type() {
        let types = [
            ("image/png", &b"\x89PNG"[..]),
            ("image/jpeg", b"\xff\xd8\xff"),
            ("video/mp4", b"\0\0\0"),
            ("audio/wav", b"RIFF"),
            ("application/json", b""),
            ("text/csv", b"An asset"),
            ("application/pdf", b"\0"),
        ];
        for (content_type, start) in types {
            for size in [0, 1, 9, 300, 5_000, 65_700, 131_300, 131_301, 131_302, 131_303] {
                let file = padded(PaddedType::of(content_type), size);
                assert_eq!(file.len(), size, "{content_type}");
                let start = &start[..start.len().min(size)];
                assert!(file.starts_with(start), "{content_type} of {size}");
            }
        }
        assert!(serde_json::from_slice::<String>(&json(77)).is_ok());
        assert!(serde_json::from_slice::<u8>(&json(1)).is_ok());
        let image = png(5_000);
        let mut reader = png::Decoder::new(std::io::Cursor::new(image)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert!(jpeg(70_000).ends_with(&[0xff, 0xd9]));
    }
}
