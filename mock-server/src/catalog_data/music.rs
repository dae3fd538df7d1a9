//! Background music: twelve tracks in six categories.

use crate::media::Spec;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MusicTrack {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) category: &'static str,
    pub(crate) mood: &'static str,
    pub(crate) seconds: u64,
    seed: u64,
}

/// The ID and name of each category.
pub(crate) const CATEGORIES: [(&str, &str); 6] = [
    ("acoustic", "Acoustic"),
    ("ambient", "Ambient"),
    ("cinematic", "Cinematic"),
    ("corporate", "Corporate"),
    ("electronic", "Electronic"),
    ("hip_hop", "Hip-hop"),
];

const fn track(
    id: &'static str,
    title: &'static str,
    category: &'static str,
    mood: &'static str,
    seconds: u64,
    seed: u64,
) -> MusicTrack {
    MusicTrack { id, title, category, mood, seconds, seed }
}

/// All tracks, grouped by category.
pub(crate) static TRACKS: [MusicTrack; 12] = [
    track("bgm_porch_light", "Porch Light", "acoustic", "calm", 62, 1),
    track("bgm_first_bike", "First Bike", "acoustic", "happy", 48, 2),
    track("bgm_slow_tide", "Slow Tide", "ambient", "calm", 90, 3),
    track("bgm_night_shift", "Night Shift", "ambient", "dark", 75, 4),
    track("bgm_last_ridge", "Last Ridge", "cinematic", "dramatic", 84, 5),
    track("bgm_new_continent", "New Continent", "cinematic", "uplifting", 96, 6),
    track("bgm_quarter_one", "Quarter One", "corporate", "uplifting", 60, 7),
    track("bgm_clean_desk", "Clean Desk", "corporate", "focused", 54, 8),
    track("bgm_neon_mile", "Neon Mile", "electronic", "energetic", 45, 9),
    track("bgm_soft_reset", "Soft Reset", "electronic", "focused", 58, 10),
    track("bgm_corner_store", "Corner Store", "hip_hop", "calm", 52, 11),
    track("bgm_full_court", "Full Court", "hip_hop", "energetic", 40, 12),
];

pub(crate) fn by_id(id: &str) -> Option<&'static MusicTrack> {
    TRACKS.iter().find(|track| track.id == id)
}

impl MusicTrack {
    /// Returns the specification of the track's file.
    pub(crate) fn spec(&self) -> Spec {
        Spec::Music { duration_ms: self.seconds * 1000, seed: self.seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_track_has_a_category_and_each_category_has_tracks() {
        for track in &TRACKS {
            assert!(CATEGORIES.iter().any(|(id, _)| *id == track.category));
            assert_eq!(by_id(track.id), Some(track));
        }
        for (id, _) in CATEGORIES {
            assert!(TRACKS.iter().any(|track| track.category == id), "{id}");
        }
    }
}
