//! WebVTT captions, whose cues divide a duration among the words of a text.

use std::fmt::Write as _;

/// The maximum number of words in a cue, about as many as a subtitle line has.
const WORDS: usize = 7;
const MAX_DURATION_MS: u64 = 86_400_000;

/// Returns the file. Without words it has no cues, which is valid.
pub(super) fn vtt(text: &str, duration_ms: u64) -> String {
    let duration_ms = duration_ms.clamp(1, MAX_DURATION_MS);
    // Cue text is markup, and `-->` would start a timing line.
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let words: Vec<_> = text.split_whitespace().collect();
    let time_of = |word: usize| duration_ms * word as u64 / words.len() as u64;
    let mut file = String::from("WEBVTT\n");
    for (index, cue) in words.chunks(WORDS).enumerate() {
        let first = index * WORDS;
        let (start, end) = (time_of(first), time_of(first + cue.len()));
        // A cue must end after it starts. If there are more cues than milliseconds, some are lost.
        if start < end {
            let times = format!("{} --> {}", timestamp(start), timestamp(end));
            // Writing to a string cannot fail.
            let _ = write!(file, "\n{times}\n{}\n", cue.join(" "));
        }
    }
    file
}

/// Formats a time with hours, such as `00:00:01.500`.
fn timestamp(ms: u64) -> String {
    let (seconds, ms) = (ms / 1000, ms % 1000);
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    let (hours, minutes) = (minutes / 60, minutes % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}.{ms:03}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_divide_the_duration() {
        for (text, duration_ms, expected) in [
            (
                "A sentence is split between words, if it is long.",
                3_661_042,
                "\n00:00:00.000 --> 00:42:42.729\nA sentence is split between words, if\n\
                 \n00:42:42.729 --> 01:01:01.042\nit is long.\n",
            ),
            (
                "a --> b <i> & c",
                1000,
                "\n00:00:00.000 --> 00:00:01.000\na --&gt; b &lt;i&gt; &amp; c\n",
            ),
            // No cue has an empty interval.
            ("a b c d e f g h", 1, "\n00:00:00.000 --> 00:00:00.001\nh\n"),
            (" \n\t", 5000, ""),
        ] {
            assert_eq!(vtt(text, duration_ms), format!("WEBVTT\n{expected}"));
        }
    }
}
