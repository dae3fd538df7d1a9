//! Reads the boxes of a file as a player does, independently of the muxer.

use super::super::video;

/// Returns the content of the box at a path. `#n` selects the nth box of a kind.
fn find<'a>(bytes: &'a [u8], path: &str) -> &'a [u8] {
    path.split('/').fold(bytes, |inside, kind| {
        let (kind, nth) = kind.split_once('#').unwrap_or((kind, "0"));
        children(inside)
            .into_iter()
            .filter(|(found, _)| *found == kind)
            .nth(nth.parse().unwrap())
            .unwrap_or_else(|| panic!("no {kind} of {path}"))
            .1
    })
}

fn children(mut bytes: &[u8]) -> Vec<(&str, &[u8])> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let size = number(bytes, 0) as usize;
        let kind = std::str::from_utf8(&bytes[4..8]).unwrap();
        found.push((kind, &bytes[8..size]));
        bytes = &bytes[size..];
    }
    found
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Returns the numbers of a table that follow the version, the flags and `skip` numbers.
fn numbers(table: &[u8], skip: usize) -> Vec<u32> {
    (1 + skip..table.len() / 4).map(|at| number(table, at * 4)).collect()
}

/// Returns the samples of a track, located through its tables.
fn samples<'a>(file: &'a [u8], track: &str) -> Vec<&'a [u8]> {
    let table = |kind: &str| find(file, &format!("moov/{track}/mdia/minf/stbl/{kind}"));
    let sizes = numbers(table("stsz"), 2);
    let runs = numbers(table("stsc"), 1);
    let mut sizes = sizes.into_iter();
    let mut samples = Vec::new();
    for (chunk, offset) in (1..).zip(numbers(table("stco"), 1)) {
        let run = runs.chunks(3).rfind(|run| run[0] <= chunk).unwrap();
        let mut at = offset as usize;
        for size in sizes.by_ref().take(run[1] as usize) {
            samples.push(&file[at..at + size as usize]);
            at += size as usize;
        }
    }
    assert_eq!(sizes.next(), None, "every sample is in a chunk");
    samples
}

/// Returns the sum of a track's sample durations in ticks, and the number of samples.
fn total_duration(file: &[u8], track: &str) -> (u32, u32) {
    let times = numbers(find(file, &format!("moov/{track}/mdia/minf/stbl/stts")), 1);
    times.chunks(2).fold((0, 0), |(ticks, count), run| (ticks + run[0] * run[1], count + run[0]))
}

fn video_file(duration_ms: u64) -> Vec<u8> {
    video::mp4(854, 480, duration_ms, true, 5)
}

#[test]
fn the_index_comes_before_the_media() {
    let file = video_file(1000);
    let kinds: Vec<&str> = children(&file).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["ftyp", "moov", "mdat"]);
}

#[test]
fn all_durations_agree() {
    for duration_ms in [1, 40, 41, 999, 1000, 2500, 5000, 16_000, 30_000] {
        let file = video_file(u64::from(duration_ms));
        assert_eq!(numbers(find(&file, "moov/mvhd"), 2)[..2], [1000, duration_ms]);
        for (track, timescale) in [("trak#0", 1000), ("trak#1", 48_000)] {
            let head = numbers(find(&file, &format!("moov/{track}/mdia/mdhd")), 2);
            let ticks = duration_ms * (timescale / 1000);
            assert_eq!(head[..2], [timescale, ticks]);
            let (total, count) = total_duration(&file, track);
            assert_eq!(total, ticks, "{track} of {duration_ms} ms");
            assert_eq!(count as usize, samples(&file, track).len());
        }
    }
}

#[test]
fn every_sample_is_one_nal_unit() {
    let file = video_file(5000);
    let keys = numbers(find(&file, "moov/trak/mdia/minf/stbl/stss"), 1);
    assert_eq!(keys, [1, 51, 101]);
    for (at, sample) in (1..).zip(samples(&file, "trak")) {
        assert_eq!(number(sample, 0) as usize, sample.len() - 4);
        let kind = if keys.contains(&at) { 5 } else { 1 };
        assert_eq!(sample[4] & 31, kind, "sample {at}");
    }
}

#[test]
fn samples_fill_the_media_data_without_gap_or_overlap() {
    let file = video_file(2500);
    let data = find(&file, "mdat");
    let range = |bytes: &[u8]| {
        let start = bytes.as_ptr() as usize - file.as_ptr() as usize;
        (start, start + bytes.len())
    };
    let mut pieces: Vec<_> = samples(&file, "trak#0").into_iter().map(range).collect();
    pieces.extend(samples(&file, "trak#1").into_iter().map(range));
    pieces.sort_unstable();
    let (mut at, end) = range(data);
    for piece in pieces {
        assert_eq!(piece.0, at);
        at = piece.1;
    }
    assert_eq!(at, end);
}

#[test]
fn header_and_sample_entry_have_the_size() {
    let file = video_file(40);
    let head = find(&file, "moov/trak/tkhd");
    assert_eq!(number(head, 76) >> 16, 854);
    assert_eq!(number(head, 80) >> 16, 480);
    let entry = &find(&file, "moov/trak/mdia/minf/stbl/stsd")[8..];
    assert_eq!(&entry[4..8], b"avc1");
    assert_eq!(number(entry, 32), 854 << 16 | 480);
}

#[test]
fn the_decoder_configuration_has_both_parameter_sets() {
    let file = video_file(40);
    let entry = &find(&file, "moov/trak/mdia/minf/stbl/stsd")[16..];
    let record = find(&entry[78..], "avcC");
    let length = usize::from(record[6]) << 8 | usize::from(record[7]);
    let sequence = &record[8..8 + length];
    assert_eq!(sequence[0] & 31, 7);
    assert_eq!(sequence[1..4], record[1..4], "profile, constraints, level");
    let picture = &record[8 + length + 3..];
    assert_eq!(picture[0] & 31, 8);
    assert_eq!(usize::from(record[8 + length + 2]), picture.len());
}

#[test]
fn a_video_without_audio_has_one_track() {
    let file = video::mp4(64, 64, 1000, false, 1);
    let tracks = children(find(&file, "moov")).into_iter();
    assert_eq!(tracks.filter(|(kind, _)| *kind == "trak").count(), 1);
}
