//! Parsers for the headers of PNG and MP4 files.

/// Returns the width and height of a PNG image in pixels.
#[track_caller]
pub fn png_size(bytes: &[u8]) -> (u32, u32) {
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n", "PNG signature");
    assert_eq!(&bytes[12..16], b"IHDR", "first PNG chunk");
    assert!(bytes.windows(4).any(|window| window == b"IEND"), "the PNG is truncated");
    (u32_at(bytes, 16), u32_at(bytes, 20))
}

#[derive(Clone, Debug, PartialEq)]
pub struct Mp4 {
    pub seconds: f64,
    pub tracks: Vec<Mp4Track>,
    pub media_bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mp4Track {
    /// The handler type, `vide` or `soun`.
    pub handler: String,
    pub width: u32,
    pub height: u32,
}

impl Mp4 {
    #[track_caller]
    pub fn video(&self) -> &Mp4Track {
        self.tracks.iter().find(|track| track.handler == "vide").expect("a video track")
    }

    pub fn has_audio(&self) -> bool {
        self.tracks.iter().any(|track| track.handler == "soun")
    }
}

/// Parses the boxes of an MP4 file.
#[track_caller]
pub fn mp4(bytes: &[u8]) -> Mp4 {
    let top = boxes(bytes);
    assert_eq!(top.first().map(|entry| entry.0.as_str()), Some("ftyp"), "first MP4 box");
    let movie = boxes(child(&top, "moov"));
    let header = child(&movie, "mvhd");
    let tracks =
        movie.iter().filter(|entry| entry.0 == "trak").map(|entry| track(entry.1)).collect();
    Mp4 {
        seconds: f64::from(u32_at(header, 16)) / f64::from(u32_at(header, 12)),
        tracks,
        media_bytes: top.iter().filter(|entry| entry.0 == "mdat").map(|entry| entry.1.len()).sum(),
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

type Mp4Box<'a> = (String, &'a [u8]);

fn boxes(mut rest: &[u8]) -> Vec<Mp4Box<'_>> {
    let mut boxes = Vec::new();
    while !rest.is_empty() {
        assert!(rest.len() >= 8, "truncated MP4 box");
        let name = String::from_utf8_lossy(&rest[4..8]).into_owned();
        let size = u32_at(rest, 0) as usize;
        assert!(
            size >= 8 && size <= rest.len(),
            "box {name} has size {size}, but {} bytes are left",
            rest.len()
        );
        boxes.push((name, &rest[8..size]));
        rest = &rest[size..];
    }
    boxes
}

#[track_caller]
fn child<'a>(boxes: &[Mp4Box<'a>], name: &str) -> &'a [u8] {
    boxes.iter().find(|entry| entry.0 == name).unwrap_or_else(|| panic!("box {name} is missing")).1
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}
