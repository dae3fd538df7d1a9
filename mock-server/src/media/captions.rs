//! WebVTT captions, whose cues divide a duration among the words of a text.

use std::fmt::Write as _;

/// The maximum number of characters in a cue, the usual length of a subtitle line.
const CUE_LENGTH: usize = 42;
const MAX_DURATION_MS: u64 = 86_400_000;

/// Returns the file. Without words it has no cues, which is valid.
pub(super) fn vtt(text: &str, duration_ms: u64) -> String {
    let duration_ms = duration_ms.clamp(1, MAX_DURATION_MS);
    let cues = cues(text);
    let total: usize = cues.iter().map(|cue| cue.chars().count()).sum();
    let mut file = String::from("WEBVTT\n");
    let mut spoken = 0;
    for cue in cues {
        let start = share(duration_ms, spoken, total);
        spoken += cue.chars().count();
        let end = share(duration_ms, spoken, total);
        // A cue must end after it starts. If there are more cues than milliseconds, some are lost.
        if start < end {
            // Writing to a string cannot fail.
            let _ =
                write!(file, "\n{} --> {}\n{}\n", timestamp(start), timestamp(end), escaped(&cue));
        }
    }
    file
}

/// Splits the text into cues, each as long as possible. The end of a sentence also ends a cue.
fn cues(text: &str) -> Vec<String> {
    let mut cues: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in text.split_whitespace() {
        match cues.last_mut() {
            Some(cue) if is_open && cue.chars().count() + word.chars().count() < CUE_LENGTH => {
                cue.push(' ');
                cue.push_str(word);
            }
            _ => cues.push(word.to_owned()),
        }
        is_open = !word.ends_with(['.', '!', '?']);
    }
    cues
}

/// Returns the milliseconds until `spoken` of `total` characters have been spoken.
fn share(duration_ms: u64, spoken: usize, total: usize) -> u64 {
    duration_ms * spoken as u64 / (total as u64).max(1)
}

/// Formats a time with hours, such as `00:00:01.500`.
fn timestamp(ms: u64) -> String {
    let (seconds, ms) = (ms / 1000, ms % 1000);
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    let (hours, minutes) = (minutes / 60, minutes % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}.{ms:03}")
}

/// Escapes cue text, which is markup and in which `-->` would start a timing line.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_divide_the_duration() {
        for (text, duration_ms, expected) in [
            (
                "Hello there. A new day.",
                10_000,
                "\n00:00:00.000 --> 00:00:05.454\nHello there.\n\
                 \n00:00:05.454 --> 00:00:10.000\nA new day.\n",
            ),
            (
                "A sentence is split between words, if it is long.",
                3_661_042,
                "\n00:00:00.000 --> 00:50:50.868\nA sentence is split between words, if it\n\
                 \n00:50:50.868 --> 01:01:01.042\nis long.\n",
            ),
            (
                "a --> b <i> & c",
                1000,
                "\n00:00:00.000 --> 00:00:01.000\na --&gt; b &lt;i&gt; &amp; c\n",
            ),
            // No cue has an empty interval.
            (
                "A. B. C. D.",
                2,
                "\n00:00:00.000 --> 00:00:00.001\nB.\n\n00:00:00.001 --> 00:00:00.002\nD.\n",
            ),
            (" \n\t", 5000, ""),
        ] {
            assert_eq!(vtt(text, duration_ms), format!("WEBVTT\n{expected}"));
        }
    }
}
