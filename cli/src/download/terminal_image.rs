//! Images as the escape sequences of terminals.
//!
//! The protocol follows from the environment. Asking the terminal would wait for an answer that some
//! never give, and could take input that is meant for another program.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::download::image::Picture;

/// The maximum length of the data in one sequence of the kitty protocol.
const KITTY_CHUNK_BYTES: usize = 4096;
/// The number of colors that terminals with sixels can show at a time.
const SIXEL_COLORS: usize = 256;
/// The size of a cell in pixels, for images that are smaller than the terminal.
const CELL: (usize, usize) = (8, 16);

/// How a terminal shows images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Kitty,
    Iterm,
    Sixel,
    /// Each cell shows two pixels, in 24-bit or in 256 colors.
    HalfBlocks {
        is_true_color: bool,
    },
}

impl Protocol {
    fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let contains = |name: &str, words: &[&str]| {
            let value = variable(name).unwrap_or_default();
            words.iter().any(|word| value.contains(word))
        };
        let is_multiplexed = contains("TERM", &["tmux", "screen"]);
        let is_true_color = contains("COLORTERM", &["truecolor", "24bit"]);
        if is_multiplexed {
            return Self::HalfBlocks { is_true_color };
        }
        let is_iterm =
            contains("TERM_PROGRAM", &["iTerm", "WezTerm", "mintty", "rio", "WarpTerminal"])
                || contains("LC_TERMINAL", &["iTerm"]);
        let is_kitty = contains("TERM", &["kitty", "ghostty"])
            || contains("TERM_PROGRAM", &["ghostty"])
            || variable("KITTY_WINDOW_ID").is_some_and(|id| !id.is_empty());
        if is_iterm {
            Self::Iterm
        } else if is_kitty {
            Self::Kitty
        } else if contains("TERM", &["sixel", "foot", "mlterm", "contour"]) {
            Self::Sixel
        } else {
            Self::HalfBlocks { is_true_color }
        }
    }
}

/// Returns the sequences that show an image in this terminal, and end its line.
pub(super) fn encode(image: &Picture) -> Result<String, String> {
    let protocol = Protocol::detect(|name| std::env::var(name).ok());
    let (rows, columns) = console::Term::stdout().size();
    // The price and the job's id stay visible above the image.
    let rows = (rows / 2).max(1);
    encode_for(protocol, image, columns.into(), rows.into())
}

fn encode_for(
    protocol: Protocol,
    image: &Picture,
    columns: usize,
    rows: usize,
) -> Result<String, String> {
    if let Protocol::HalfBlocks { is_true_color } = protocol {
        return Ok(half_blocks(&image.shrink(columns, rows * 2), is_true_color));
    }
    let image = image.shrink(columns * CELL.0, rows * CELL.1);
    if protocol == Protocol::Sixel {
        return Ok(sixel(&image));
    }
    let png = image.encode_png()?;
    if protocol == Protocol::Kitty {
        return Ok(kitty(&png));
    }
    let (length, data) = (png.len(), STANDARD.encode(&png));
    Ok(format!("\x1b]1337;File=inline=1;size={length};preserveAspectRatio=1:{data}\x07\n"))
}

fn kitty(png: &[u8]) -> String {
    let data = STANDARD.encode(png);
    let mut text = String::new();
    let mut rest = data.as_str();
    let mut control = "a=T,f=100,";
    loop {
        let (chunk, more) = rest.split_at_checked(KITTY_CHUNK_BYTES).unwrap_or((rest, ""));
        let has_more = u8::from(!more.is_empty());
        text.push_str(&format!("\x1b_G{control}m={has_more};{chunk}\x1b\\"));
        if more.is_empty() {
            return text + "\n";
        }
        rest = more;
        control = "";
    }
}

/// Encodes an image in a palette of its own: bands of six rows, in each band one line of every color.
fn sixel(image: &Picture) -> String {
    let (palette, pixels) = image.with_palette(SIXEL_COLORS);
    let mut text = format!("\x1bPq\"1;1;{};{}", image.width, image.height);
    for (color, [red, green, blue]) in palette.color_map_rgb().as_chunks().0.iter().enumerate() {
        let percent = |part: &u8| u32::from(*part) * 100 / 255;
        text.push_str(&format!("#{color};2;{};{};{}", percent(red), percent(green), percent(blue)));
    }
    for band in pixels.chunks(image.width * 6) {
        // The bits of each color by column.
        let mut lines: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        for (row, pixels) in band.chunks(image.width).enumerate() {
            for (x, color) in pixels.iter().enumerate() {
                let line = lines.entry(*color).or_insert_with(|| vec![0; image.width]);
                line.get_mut(x).into_iter().for_each(|bits| *bits |= 1 << row);
            }
        }
        for (color, line) in lines {
            text.push_str(&format!("#{color}"));
            for run in line.chunk_by(|left, right| left == right) {
                let sixel = run.first().map(|bits| char::from(b'?' + bits));
                text.extend(sixel.map(|sixel| format!("!{}{sixel}", run.len())));
            }
            text.push('$');
        }
        text.push('-');
    }
    text + "\x1b\\\n"
}

/// The upper of two pixels is the color of a half block, the lower one that of its background.
fn half_blocks(image: &Picture, is_true_color: bool) -> String {
    let color = |[red, green, blue, alpha]: [u8; 4]| {
        let blend = |part: u8| u16::from(part) * u16::from(alpha) / 255;
        let (red, green, blue) = (blend(red), blend(green), blend(blue));
        match is_true_color {
            true => format!("2;{red};{green};{blue}"),
            false => format!("5;{}", 16 + 36 * (red / 43) + 6 * (green / 43) + blue / 43),
        }
    };
    let mut text = String::new();
    for pair in image.pixels.chunks(image.width * 2) {
        let (upper, lower) = pair.split_at(image.width);
        for (x, pixel) in upper.iter().enumerate() {
            text.push_str(&format!("\x1b[38;{}m", color(*pixel)));
            if let Some(pixel) = lower.get(x) {
                text.push_str(&format!("\x1b[48;{}m", color(*pixel)));
            }
            text.push('▀');
        }
        text.push_str("\x1b[0m\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn image(width: usize, height: usize, pixel: impl Fn(usize, usize) -> [u8; 4]) -> Picture {
        let pixels = (0..width * height).map(|index| pixel(index % width, index / width));
        Picture { width, height, pixels: pixels.collect() }
    }

    #[test]
    fn protocol_follows_from_the_environment() {
        let half_blocks = |is_true_color| Protocol::HalfBlocks { is_true_color };
        for (variables, expected) in [
            (&[("TERM", "xterm-256color")][..], half_blocks(false)),
            (&[("COLORTERM", "truecolor")], half_blocks(true)),
            (&[("TERM", "xterm-kitty")], Protocol::Kitty),
            (&[("KITTY_WINDOW_ID", "1")], Protocol::Kitty),
            (&[("KITTY_WINDOW_ID", "1"), ("TERM", "tmux")], half_blocks(false)),
            (&[("TERM_PROGRAM", "iTerm.app")], Protocol::Iterm),
            (&[("TERM", "foot")], Protocol::Sixel),
        ] {
            let detected = Protocol::detect(|name| {
                let variable = variables.iter().find(|(known, _)| *known == name);
                variable.map(|(_, value)| (*value).to_owned())
            });
            assert_eq!(detected, expected, "{variables:?}");
        }
    }

    #[test]
    fn images_are_encoded_for_each_protocol() {
        let image = image(64, 64, |x, y| {
            // Noise, so that the data does not fit into one sequence.
            let noise = (x * 7919 + y * 104_729).to_le_bytes();
            [noise[0], noise[1], noise[0] ^ noise[1], 255]
        });
        let encode = |protocol| encode_for(protocol, &image, 40, 10).unwrap();

        let kitty = encode(Protocol::Kitty);
        let mut data = String::new();
        for sequence in kitty.trim_end().split_terminator("\x1b\\") {
            let (control, chunk) = sequence.split_once(';').unwrap();
            assert!(control.starts_with("\x1b_G") && chunk.len() <= KITTY_CHUNK_BYTES);
            data.push_str(chunk);
        }
        let png = STANDARD.decode(data).unwrap();
        assert_eq!(Picture::decode(Cursor::new(png)).unwrap().unwrap(), image);

        let iterm = encode(Protocol::Iterm);
        assert!(iterm.starts_with("\x1b]1337;File=inline=1") && iterm.ends_with("\x07\n"));

        let sixel = encode(Protocol::Sixel);
        assert!(sixel.starts_with("\x1bPq\"1;1;64;64#0;2;") && sixel.ends_with("-\x1b\\\n"));
        assert_eq!(sixel.matches('-').count(), 11, "a band for every six rows");

        let is_true_color = true;
        let blocks = encode(Protocol::HalfBlocks { is_true_color });
        assert_eq!(blocks.lines().count(), 10);
        assert!(blocks.lines().all(|line| line.matches('▀').count() == 20));
    }

    #[test]
    fn sixels_are_drawn_at_their_places_in_their_colors() {
        let image = image(12, 8, |x, y| match (x, y) {
            (0..4, _) => [255, 0, 0, 255],
            (_, 0..6) => [0, 255, 0, 255],
            _ => [0, 0, 255, 255],
        });
        let text = sixel(&image);

        let mut drawn = vec![[0; 4]; 12 * 8];
        let (mut palette, mut color, mut x, mut top, mut count) = (BTreeMap::new(), 0, 0, 0, 1);
        let data = text.strip_prefix("\x1bPq\"1;1;12;8").unwrap().strip_suffix("\x1b\\\n").unwrap();
        let mut rest = data.chars().peekable();
        while let Some(character) = rest.next() {
            let mut numbers = String::new();
            while let Some(digit) = rest.next_if(|it| it.is_ascii_digit() || *it == ';') {
                numbers.push(digit);
            }
            let numbers: Vec<usize> = numbers.split(';').flat_map(str::parse).collect();
            match (character, numbers.as_slice()) {
                ('#', [number, 2, rgb @ ..]) => drop(palette.insert(*number, rgb.to_vec())),
                ('#', [number]) => color = *number,
                ('!', [length]) => count = *length,
                ('$', []) => x = 0,
                ('-', []) => (x, top) = (0, top + 6),
                ('?'..='~', []) => {
                    let bits = u32::from(character) - u32::from('?');
                    let rgb = palette[&color].iter().map(|percent| (percent * 255 / 100) as u8);
                    let rgba: Vec<u8> = rgb.chain([255]).collect();
                    for x in x..x + count {
                        for row in (0..6).filter(|row| bits >> row & 1 == 1) {
                            drawn[(top + row) * 12 + x].copy_from_slice(&rgba);
                        }
                    }
                    (x, count) = (x + count, 1);
                }
                unexpected => panic!("{unexpected:?}"),
            }
        }
        for (index, (drawn, expected)) in drawn.iter().zip(&image.pixels).enumerate() {
            let is_near = drawn.iter().zip(expected).all(|(one, other)| one.abs_diff(*other) < 40);
            assert!(is_near, "{index}: {drawn:?}, not {expected:?}");
        }
    }
}
