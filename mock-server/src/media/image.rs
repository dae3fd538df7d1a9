//! PNG images of the test card, with four bits per pixel.

use super::card::Card;
use super::palette::{ACCENT, Ink, Palette};

/// The edge length of a cell, in pixels.
const CELL: u32 = 8;
const MAX_SIDE: u32 = 8192;

/// Returns the file. Sides are limited to between 1 and 8192 pixels.
pub(super) fn png(width: u32, height: u32, seed: u64) -> Vec<u8> {
    let (width, height) = (width.clamp(1, MAX_SIDE), height.clamp(1, MAX_SIDE));
    let mut card = Card::new(width.div_ceil(CELL), height.div_ceil(CELL), seed);
    let (top, unit) = (card.bar_top(), card.unit());
    card.fill(0, top, card.columns, unit * 2, ACCENT);
    let mut file = Vec::new();
    // Writing to memory cannot fail. If it did, the file would be incomplete, which a reader
    // reports.
    let _ = write(&mut file, width, height, &card, &Palette::new(seed));
    file
}

fn write(
    file: &mut Vec<u8>,
    width: u32,
    height: u32,
    card: &Card,
    palette: &Palette,
) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(file, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Four);
    encoder.set_palette(palette.rgb().concat());
    encoder.set_filter(png::Filter::NoFilter);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels(width, height, card))?;
    writer.finish()
}

/// Returns the pixels, two per byte with the left one in the high half. Rows start on a byte.
fn pixels(width: u32, height: u32, card: &Card) -> Vec<u8> {
    let line_length = width.div_ceil(2) as usize;
    let mut pixels = Vec::with_capacity(line_length * height as usize);
    for row in 0..card.rows {
        let line = line(line_length, card.row(row));
        for _ in row * CELL..height.min((row + 1) * CELL) {
            pixels.extend_from_slice(&line);
        }
    }
    pixels
}

fn line(length: usize, cells: &[Ink]) -> Vec<u8> {
    let mut line = Vec::with_capacity(length + CELL as usize);
    for cell in cells {
        line.extend_from_slice(&[cell << 4 | cell; CELL as usize / 2]);
    }
    line.truncate(length);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_decode_to_their_size() {
        for (width, height) in [(1280, 720), (1920, 1080), (720, 1080), (1, 1), (7, 9)] {
            let file = png(width, height, 9);
            assert!(file.len() < 60_000);
            let mut decoder = png::Decoder::new(std::io::Cursor::new(&file));
            decoder.set_transformations(png::Transformations::EXPAND);
            let mut reader = decoder.read_info().unwrap();
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut pixels).unwrap();
            assert_eq!((info.width, info.height), (width, height));
            assert_eq!(pixels.len(), (width * height * 3) as usize);
            // Smaller images have no room for the bars.
            if width > 100 {
                let bar = Palette::new(9).rgb()[usize::from(super::super::palette::FIRST_BAR)];
                assert_eq!(pixels[..3], bar);
                assert_ne!(png(width, height, 8), file);
            }
        }
    }
}
