//! Reads back what media files say of themselves.

/// The pixel size (width, height) that a PNG's header says.
///
/// # Panics
///
/// Where the bytes are no PNG.
#[must_use]
#[track_caller]
pub fn png_size(bytes: &[u8]) -> (u32, u32) {
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n", "no PNG signature");
    assert_eq!(&bytes[12..16], b"IHDR", "a PNG starts with its header");
    assert!(
        bytes.windows(4).any(|window| window == b"IEND"),
        "a PNG without an end"
    );
    (u32_at(bytes, 16), u32_at(bytes, 20))
}

/// What an MP4 file's boxes say.
#[derive(Clone, Debug, PartialEq)]
pub struct Mp4 {
    /// How long it plays, in seconds.
    pub seconds: f64,
    /// Its tracks.
    pub tracks: Vec<Mp4Track>,
    /// How many bytes of media it has.
    pub media_bytes: usize,
}

/// A track of an MP4 file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mp4Track {
    /// The handler: `vide` or `soun`.
    pub handler: String,
    /// Width in pixels; 0 for sound.
    pub width: u32,
    /// Height in pixels; 0 for sound.
    pub height: u32,
}

impl Mp4 {
    /// The picture.
    ///
    /// # Panics
    ///
    /// Where there is none.
    #[must_use]
    #[track_caller]
    pub fn video(&self) -> &Mp4Track {
        self.tracks
            .iter()
            .find(|track| track.handler == "vide")
            .expect("a track with pictures")
    }

    /// Whether there is sound.
    #[must_use]
    pub fn has_sound(&self) -> bool {
        self.tracks.iter().any(|track| track.handler == "soun")
    }
}

/// Walks the boxes of an MP4 file.
///
/// # Panics
///
/// Where the boxes do not fill the file exactly, or one that has to be there is not.
#[must_use]
#[track_caller]
pub fn mp4(bytes: &[u8]) -> Mp4 {
    let top = boxes(bytes);
    assert_eq!(
        top.first().map(|found| found.0.as_str()),
        Some("ftyp"),
        "starts with its type"
    );
    let movie = boxes(child(&top, "moov"));
    let header = child(&movie, "mvhd");
    let (scale, duration) = match header[0] {
        0 => (u32_at(header, 12), u64::from(u32_at(header, 16))),
        _ => (
            u32_at(header, 20),
            u64::from(u32_at(header, 24)) << 32 | u64::from(u32_at(header, 28)),
        ),
    };
    let tracks = movie
        .iter()
        .filter(|found| found.0 == "trak")
        .map(|found| track(found.1))
        .collect();
    Mp4 {
        seconds: duration as f64 / f64::from(scale),
        tracks,
        media_bytes: top
            .iter()
            .filter(|found| found.0 == "mdat")
            .map(|found| found.1.len())
            .sum(),
    }
}

fn track(bytes: &[u8]) -> Mp4Track {
    let parts = boxes(bytes);
    let header = child(&parts, "tkhd");
    // Width and height are the last two fields, as 16.16 fixed point.
    let size_at = header.len() - 8;
    let media = boxes(child(&parts, "mdia"));
    let handler = child(&media, "hdlr");
    Mp4Track {
        handler: String::from_utf8_lossy(&handler[8..12]).into_owned(),
        width: u32_at(header, size_at) >> 16,
        height: u32_at(header, size_at + 4) >> 16,
    }
}

type Found<'a> = (String, &'a [u8]);

fn boxes(mut rest: &[u8]) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        assert!(rest.len() >= 8, "a box that is cut off");
        let name = String::from_utf8_lossy(&rest[4..8]).into_owned();
        let (head, size) = match u32_at(rest, 0) {
            0 => (8, rest.len()),
            1 => (
                16,
                usize::try_from(u64::from(u32_at(rest, 8)) << 32 | u64::from(u32_at(rest, 12)))
                    .unwrap(),
            ),
            size => (8, size as usize),
        };
        assert!(
            size >= head && size <= rest.len(),
            "box {name} says {size} of {}",
            rest.len()
        );
        found.push((name, &rest[head..size]));
        rest = &rest[size..];
    }
    found
}

#[track_caller]
fn child<'a>(boxes: &[Found<'a>], name: &str) -> &'a [u8] {
    boxes
        .iter()
        .find(|found| found.0 == name)
        .unwrap_or_else(|| panic!("no box {name}"))
        .1
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[cfg(test)]
mod tests {
    use svc_mock_server::media::{Spec, render};

    use super::*;

    #[test]
    fn what_was_drawn_is_what_is_read() {
        let image = render(&Spec::Image {
            width: 64,
            height: 32,
            seed: 1,
        });
        assert_eq!(png_size(&image.bytes), (64, 32));
        for with_audio in [true, false] {
            let video = render(&Spec::Video {
                width: 64,
                height: 48,
                duration_ms: 1_500,
                with_audio,
                seed: 1,
            });
            let movie = mp4(&video.bytes);
            assert!((movie.seconds - 1.5).abs() < 0.1, "{movie:?}");
            assert_eq!((movie.video().width, movie.video().height), (64, 48));
            assert_eq!(movie.has_sound(), with_audio);
            assert!(movie.media_bytes > 0);
        }
    }
}
