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
    fn cues_cover_the_whole_duration_without_gaps() {
        assert_eq!(
            vtt("Hello there. A new day.", 10_000),
            "WEBVTT\n\n\
             00:00:00.000 --> 00:00:05.454\nHello there.\n\n\
             00:00:05.454 --> 00:00:10.000\nA new day.\n"
        );
    }

    #[test]
    fn long_sentences_are_split_between_words() {
        let file = vtt(&"seven letters ".repeat(30), 60_000);
        let lines: Vec<&str> = file.lines().filter(|line| line.starts_with(['s', 'l'])).collect();
        assert!(lines.len() >= 10);
        assert!(lines.iter().all(|line| line.len() <= CUE_LENGTH));
    }

    #[test]
    fn markup_is_escaped() {
        let file = vtt("a --> b <i> & c", 1000);
        assert!(file.ends_with("\na --&gt; b &lt;i&gt; &amp; c\n"));
        assert_eq!(file.matches("-->").count(), 1);
    }

    #[test]
    fn a_text_without_words_has_no_cues() {
        assert_eq!(vtt(" \n\t", 5000), "WEBVTT\n");
    }

    #[test]
    fn no_cue_has_an_empty_interval() {
        let file = vtt(&"One. ".repeat(50), 7);
        for line in file.lines().filter(|line| line.contains("-->")) {
            let (start, end) = line.split_once(" --> ").unwrap();
            assert!(start < end, "{line}");
        }
    }

    #[test]
    fn formats_times_above_an_hour() {
        assert_eq!(timestamp(3_661_042), "01:01:01.042");
    }
}
