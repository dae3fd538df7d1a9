//! What the headers of PNG and MP4 files say.

use serde_json::{Value, json};

/// Returns the size of an image, or the duration, size and sound of a video; null for other files.
pub(crate) fn file_facts(bytes: &[u8]) -> Value {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        assert_eq!(&bytes[12..16], b"IHDR", "first PNG chunk");
        assert!(bytes.windows(4).any(|window| window == b"IEND"), "the PNG is truncated");
        json!({"width": u32_at(bytes, 16), "height": u32_at(bytes, 20)})
    } else if bytes.get(4..8) == Some(b"ftyp") {
        video_facts(bytes)
    } else {
        Value::Null
    }
}

fn video_facts(bytes: &[u8]) -> Value {
    let top = boxes(bytes);
    let movie = boxes(child(&top, "moov"));
    let header = child(&movie, "mvhd");
    let mut facts = json!({
        "seconds": f64::from(u32_at(header, 16)) / f64::from(u32_at(header, 12)),
        "media_bytes": child(&top, "mdat").len(),
        "has_sound": false,
    });
    for (_, track) in movie.iter().filter(|(name, _)| name == "trak") {
        let parts = boxes(track);
        let handler = boxes(child(&parts, "mdia"));
        if &child(&handler, "hdlr")[8..12] == b"soun" {
            facts["has_sound"] = json!(true);
            continue;
        }
        // Width and height are the last two fields of the header, as 16.16 fixed point.
        let header = child(&parts, "tkhd");
        let size_at = header.len() - 8;
        facts["width"] = json!(u32_at(header, size_at) >> 16);
        facts["height"] = json!(u32_at(header, size_at + 4) >> 16);
    }
    facts
}

type Mp4Box<'a> = (String, &'a [u8]);

fn boxes(mut rest: &[u8]) -> Vec<Mp4Box<'_>> {
    let mut boxes = Vec::new();
    while !rest.is_empty() {
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

fn child<'a>(boxes: &[Mp4Box<'a>], name: &str) -> &'a [u8] {
    boxes.iter().find(|entry| entry.0 == name).unwrap_or_else(|| panic!("box {name} is missing")).1
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}
