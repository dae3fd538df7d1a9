//! The pixel size of a resolution and an aspect ratio.

/// Returns the width and height, both even, of a resolution at an aspect ratio.
///
/// A resolution names the short side. `auto`, `adaptive` and unknown aspect ratios are 16:9;
/// unknown resolutions are `720p`.
pub(crate) fn dimensions(resolution: &str, aspect_ratio: &str) -> (u32, u32) {
    let short = short_side(resolution);
    let (across, down) = ratio(aspect_ratio);
    if across >= down {
        (long_side(short, across, down), short)
    } else {
        (short, long_side(short, down, across))
    }
}

fn short_side(resolution: &str) -> u32 {
    match resolution {
        "480p" => 480,
        "1080p" => 1080,
        "2K" | "2k" => 1440,
        "4K" | "4k" => 2160,
        _ => 720,
    }
}

fn ratio(aspect_ratio: &str) -> (u32, u32) {
    match aspect_ratio {
        "21:9" => (21, 9),
        "4:3" => (4, 3),
        "1:1" => (1, 1),
        "3:4" => (3, 4),
        "9:16" => (9, 16),
        "3:2" => (3, 2),
        "2:3" => (2, 3),
        _ => (16, 9),
    }
}

/// Returns `short * longer / shorter`, rounded to the nearest even number.
fn long_side(short: u32, longer: u32, shorter: u32) -> u32 {
    (short * longer + shorter) / (2 * shorter) * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_common_ones() {
        let rows = [
            ("480p", "16:9", (854, 480)),
            ("480p", "9:16", (480, 854)),
            ("480p", "21:9", (1120, 480)),
            ("480p", "3:4", (480, 640)),
            ("720p", "16:9", (1280, 720)),
            ("720p", "9:16", (720, 1280)),
            ("720p", "1:1", (720, 720)),
            ("720p", "4:3", (960, 720)),
            ("720p", "3:2", (1080, 720)),
            ("720p", "2:3", (720, 1080)),
            ("1080p", "16:9", (1920, 1080)),
            ("1080p", "21:9", (2520, 1080)),
            ("2K", "16:9", (2560, 1440)),
            ("4K", "16:9", (3840, 2160)),
            ("4K", "9:16", (2160, 3840)),
        ];
        for (resolution, aspect_ratio, expected) in rows {
            assert_eq!(
                dimensions(resolution, aspect_ratio),
                expected,
                "{resolution} {aspect_ratio}"
            );
        }
    }

    #[test]
    fn unknown_values_have_defaults() {
        for aspect_ratio in ["auto", "adaptive", "", "5:4"] {
            assert_eq!(dimensions("720p", aspect_ratio), (1280, 720));
            assert_eq!(dimensions("8K", aspect_ratio), (1280, 720));
        }
    }
}
