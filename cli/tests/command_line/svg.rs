//! Lines of a terminal as an SVG image.

use std::fmt::Write;

use crate::pty::{Style, StyledText};

/// The size of a character and of the frame, in pixels.
const CHARACTER_WIDTH: f64 = 8.4;
const LINE_HEIGHT: usize = 19;
const MARGIN: usize = 16;

/// The first eight colors of a terminal, on a dark background.
const PALETTE: [&str; 8] =
    ["#484f58", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#e6edf3"];

pub(crate) fn image(lines: &[Vec<StyledText>], columns: u16, title: &str) -> String {
    let width = (f64::from(columns) * CHARACTER_WIDTH).ceil() as usize + 2 * MARGIN;
    let height = lines.len() * LINE_HEIGHT + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\" \
         fill=\"#c9d1d9\" xml:space=\"preserve\">\n",
        escape(title)
    );
    for (row, line) in lines.iter().enumerate() {
        let top = MARGIN + row * LINE_HEIGHT;
        let mut column = 0;
        for run in line {
            let length = console::measure_text_width(&run.text);
            draw(&mut svg, run, column, length, top);
            column += length;
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn draw(svg: &mut String, run: &StyledText, column: usize, length: usize, top: usize) {
    let left = MARGIN as f64 + column as f64 * CHARACTER_WIDTH;
    let width = length as f64 * CHARACTER_WIDTH;
    let (foreground, background) = colors(&run.style);
    if let Some(color) = background {
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{LINE_HEIGHT}\" fill=\"{color}\"/>"
        );
    }
    if run.text.trim().is_empty() {
        return;
    }
    let mut attributes = String::new();
    if let Some(color) = foreground {
        let _ = write!(attributes, " fill=\"{color}\"");
    }
    if run.style.is_bold {
        attributes.push_str(" font-weight=\"bold\"");
    }
    if run.style.is_dim {
        attributes.push_str(" opacity=\"0.6\"");
    }
    if run.style.is_underlined {
        attributes.push_str(" text-decoration=\"underline\"");
    }
    let baseline = top + 14;
    // With a length, columns are aligned in any font.
    let _ = writeln!(
        svg,
        "<text x=\"{left:.1}\" y=\"{baseline}\" textLength=\"{width:.1}\"{attributes}>{}</text>",
        escape(&run.text)
    );
}

/// Returns the colors of the text and behind it, where they are not the default.
fn colors(style: &Style) -> (Option<String>, Option<String>) {
    let (foreground, background) = (css(style.foreground), css(style.background));
    match style.is_inverse {
        false => (foreground, background),
        true => (
            Some(background.unwrap_or_else(|| "#0d1117".to_owned())),
            Some(foreground.unwrap_or_else(|| "#c9d1d9".to_owned())),
        ),
    }
}

fn css(color: vt100::Color) -> Option<String> {
    match color {
        vt100::Color::Default => None,
        vt100::Color::Idx(index) => {
            let name = PALETTE.get(usize::from(index % 8)).unwrap();
            Some((*name).to_owned())
        }
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
