//! Images as pixels: decoded, made smaller, in a palette, and as PNG.

use std::fmt::Display;
use std::io::{BufRead, Seek};

use color_quant::NeuQuant;
use image_webp::WebPDecoder;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// The most that a decoded image takes, as a small file can claim to be a huge image.
const MAX_BYTES: usize = 512 << 20;
/// A palette is made from about this many pixels.
const PALETTE_SAMPLES: usize = 100_000;

/// An image, of which every pixel is red, green, blue and alpha.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixels: Vec<[u8; 4]>,
}

impl Picture {
    /// Decodes a PNG, JPEG or WebP image, or returns `None` if the file is none.
    pub(super) fn decode(mut file: impl BufRead + Seek) -> Result<Option<Self>, String> {
        let decode = match file.fill_buf().map_err(text)? {
            [0x89, b'P', b'N', b'G', ..] => decode_png,
            [0xff, 0xd8, 0xff, ..] => decode_jpeg,
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => decode_webp,
            _ => return Ok(None),
        };
        decode(file).map(Some)
    }

    /// Creates an image from samples of one to four channels.
    fn from_samples(width: usize, height: usize, samples: &[u8]) -> Self {
        let channels = samples.len() / (width * height).max(1);
        let pixels = samples.chunks_exact(channels.max(1)).map(|pixel| match *pixel {
            [gray] => [gray, gray, gray, u8::MAX],
            [gray, alpha] => [gray, gray, gray, alpha],
            [red, green, blue] => [red, green, blue, u8::MAX],
            [red, green, blue, alpha] => [red, green, blue, alpha],
            _ => [0; 4],
        });
        Self { width, height, pixels: pixels.collect() }
    }

    /// Makes the image fit, in its proportions. Each pixel is the mean of those that it stands for.
    pub(super) fn shrink(&self, max_width: usize, max_height: usize) -> Self {
        let (old_width, old_height) = (self.width, self.height);
        if old_width <= max_width && old_height <= max_height {
            return self.clone();
        }
        let (width, height) = match old_width * max_height > max_width * old_height {
            true => (max_width.max(1), (old_height * max_width / old_width).max(1)),
            false => ((old_width * max_height / old_height).max(1), max_height.max(1)),
        };
        let mut pixels = Vec::with_capacity(width * height);
        for y in 0..height {
            let (top, bottom) = (y * old_height / height, (y + 1) * old_height / height);
            for x in 0..width {
                let (left, right) = (x * old_width / width, (x + 1) * old_width / width);
                pixels.push(self.mean(left..right.max(left + 1), top..bottom.max(top + 1)));
            }
        }
        Self { width, height, pixels }
    }

    fn mean(&self, columns: std::ops::Range<usize>, rows: std::ops::Range<usize>) -> [u8; 4] {
        let mut sums = [0_u64; 4];
        for row in self.pixels.chunks(self.width).skip(rows.start).take(rows.len()) {
            for pixel in row.iter().skip(columns.start).take(columns.len()) {
                sums.iter_mut().zip(pixel).for_each(|(sum, part)| *sum += u64::from(*part));
            }
        }
        let count = (columns.len() * rows.len()) as u64;
        sums.map(|sum| (sum / count) as u8)
    }

    pub(super) fn encode_png(&self) -> Result<Vec<u8>, String> {
        let mut data = Vec::new();
        let mut encoder = png::Encoder::new(&mut data, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgba);
        let mut writer = encoder.write_header().map_err(text)?;
        writer.write_image_data(self.pixels.as_flattened()).map_err(text)?;
        writer.finish().map_err(text)?;
        Ok(data)
    }

    /// Returns a palette, and the color in it of each pixel, with Floyd-Steinberg dithering.
    pub(super) fn with_palette(&self, colors: usize) -> (NeuQuant, Vec<usize>) {
        let one_in = (self.pixels.len() / PALETTE_SAMPLES).clamp(1, 30) as i32;
        let palette = NeuQuant::new(one_in, colors, self.pixels.as_flattened());
        let mut indices = Vec::with_capacity(self.pixels.len());
        // In sixteenths, from one pixel left of the row to one right of it.
        let mut below = vec![[0; 3]; self.width + 2];
        for row in self.pixels.chunks(self.width) {
            let above = std::mem::replace(&mut below, vec![[0; 3]; self.width + 2]);
            let mut left = [0; 3];
            for (x, (pixel, above)) in row.iter().zip(above.iter().skip(1)).enumerate() {
                let mut wanted = *pixel;
                for ((part, above), left) in wanted.iter_mut().zip(above).zip(left) {
                    *part = (i32::from(*part) + (above + left) / 16).clamp(0, 255) as u8;
                }
                let index = palette.index_of(&wanted);
                indices.push(index);
                let shown = palette.lookup(index).unwrap_or(wanted);
                let mut error = [0; 3];
                for (error, (wanted, shown)) in error.iter_mut().zip(wanted.iter().zip(shown)) {
                    *error = i32::from(*wanted) - i32::from(shown);
                }
                left = error.map(|error| error * 7);
                for (below, share) in below.iter_mut().skip(x).zip([3, 5, 1]) {
                    below.iter_mut().zip(error).for_each(|(below, error)| *below += error * share);
                }
            }
        }
        (palette, indices)
    }
}

fn decode_png(file: impl BufRead + Seek) -> Result<Picture, String> {
    let mut decoder = png::Decoder::new(file);
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(text)?;
    let (width, height) = reader.info().size();
    let mut samples = buffer(reader.output_buffer_size())?;
    reader.next_frame(&mut samples).map_err(text)?;
    Ok(Picture::from_samples(width as usize, height as usize, &samples))
}

fn decode_jpeg(file: impl BufRead + Seek) -> Result<Picture, String> {
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(file, options);
    decoder.decode_headers().map_err(text)?;
    // Other images are converted to RGB.
    if decoder.input_colorspace() == Some(ColorSpace::Luma) {
        decoder.set_options(options.jpeg_set_out_colorspace(ColorSpace::Luma));
    }
    let (width, height) = decoder.dimensions().unwrap_or_default();
    let mut samples = buffer(decoder.output_buffer_size())?;
    decoder.decode_into(&mut samples).map_err(text)?;
    Ok(Picture::from_samples(width, height, &samples))
}

fn decode_webp(file: impl BufRead + Seek) -> Result<Picture, String> {
    let mut decoder = WebPDecoder::new(file).map_err(text)?;
    decoder.set_memory_limit(MAX_BYTES);
    let (width, height) = decoder.dimensions();
    let mut samples = buffer(decoder.output_buffer_size())?;
    decoder.read_image(&mut samples).map_err(text)?;
    Ok(Picture::from_samples(width as usize, height as usize, &samples))
}

fn buffer(size: Option<usize>) -> Result<Vec<u8>, String> {
    match size {
        Some(size @ 1..=MAX_BYTES) => Ok(vec![0; size]),
        _ => Err("the image is too large".to_owned()),
    }
}

fn text(error: impl Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn images_of_each_format_are_decoded() {
        let colors = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 9, 9], [80, 0, 80], [1, 2, 3]];
        let image = Picture::from_samples(3, 2, colors.as_flattened());
        assert_eq!(image.pixels[4], [80, 0, 80, 255]);
        let mut webp = Vec::new();
        let encoder = image_webp::WebPEncoder::new(&mut webp);
        encoder.encode(colors.as_flattened(), 3, 2, image_webp::ColorType::Rgb8).unwrap();
        for file in [webp, image.encode_png().unwrap()] {
            assert_eq!(Picture::decode(Cursor::new(file)), Ok(Some(image.clone())));
        }

        // The smallest one: a gray block.
        let mut jpeg = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
        jpeg.extend([1; 64]);
        jpeg.extend([0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0]);
        for class in [0x00, 0x10] {
            jpeg.extend([0xff, 0xc4, 0, 20, class, 1]);
            jpeg.extend([0; 16]);
        }
        jpeg.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0x3f, 0xff, 0xd9]);
        let gray = Picture { width: 8, height: 8, pixels: vec![[128, 128, 128, 255]; 64] };
        assert_eq!(Picture::decode(Cursor::new(jpeg)), Ok(Some(gray)));

        assert_eq!(Picture::decode(Cursor::new("GIF89a, or no image at all")), Ok(None));
        assert!(Picture::decode(Cursor::new(b"\x89PNG")).is_err());
    }

    #[test]
    fn a_file_that_claims_to_be_huge_is_not_decoded() {
        let mut png = Vec::new();
        let mut encoder = png::Encoder::new(&mut png, 60_000, 60_000);
        encoder.set_color(png::ColorType::Rgba);
        encoder.write_header().unwrap().write_chunk(png::chunk::IDAT, &[0]).unwrap();
        let decoded = Picture::decode(Cursor::new(png));
        assert_eq!(decoded, Err("the image is too large".to_owned()));
    }

    #[test]
    fn a_smaller_image_has_the_proportions_and_the_mean_of_the_pixels() {
        let stripes: Vec<u8> = [[0, 100, 200, 100]; 6].concat();
        let image = Picture::from_samples(4, 6, &stripes);
        assert_eq!(image.shrink(4, 6), image);
        let small = image.shrink(9, 3);
        assert_eq!((small.width, small.height), (2, 3));
        assert_eq!(small.pixels, [[50, 50, 50, 255], [150, 150, 150, 255]].repeat(3));
        let thin = image.shrink(1, 1);
        assert_eq!((thin.width, thin.height, thin.pixels), (1, 1, vec![[100, 100, 100, 255]]));
    }
}
