//! Trending videos.

use crate::media::Spec;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Video {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) tags: &'static [&'static str],
    pub(crate) views: u64,
    pub(crate) seconds: u64,
    pub(crate) published_at: &'static str,
}

const fn video(
    id: &'static str,
    title: &'static str,
    tags: &'static [&'static str],
    views: u64,
    seconds: u64,
    published_at: &'static str,
) -> Video {
    Video { id, title, tags, views, seconds, published_at }
}

/// All trending videos, by descending number of views.
#[rustfmt::skip]
pub(crate) static VIDEOS: [Video; 12] = [
    video("trend_fox_door", "This fox knocks every morning", &["animals", "fox", "morning"], 18_402_113, 14, "2025-11-28T07:12:00Z"),
    video("trend_pan_flip", "One pan, four flips, no hands", &["food", "cooking", "tricks"], 12_970_455, 11, "2025-12-02T17:40:00Z"),
    video("trend_desk_build", "I built a desk from one plank", &["diy", "wood", "satisfying"], 9_815_002, 20, "2025-11-19T15:05:00Z"),
    video("trend_cat_lawyer", "The cat objects, your honour", &["animals", "cat", "comedy"], 8_644_871, 9, "2025-12-10T20:30:00Z"),
    video("trend_glass_blow", "A glass swan in fifteen seconds", &["craft", "satisfying", "glass"], 7_201_339, 15, "2025-11-30T11:00:00Z"),
    video("trend_unbox_mini", "Unboxing the smallest camera", &["product", "unboxing", "technology"], 5_533_908, 18, "2025-12-14T16:20:00Z"),
    video("trend_rain_run", "Running the ridge in the rain", &["sport", "outdoor", "running"], 4_870_126, 16, "2025-11-25T08:45:00Z"),
    video("trend_skin_serum", "Thirty days with one serum", &["beauty", "product", "review"], 3_918_774, 20, "2025-12-05T18:10:00Z"),
    video("trend_bread_cut", "The sound of this bread", &["food", "asmr", "baking"], 3_402_650, 8, "2025-12-08T06:55:00Z"),
    video("trend_lego_city", "A city of bricks, from above", &["toys", "timelapse", "city"], 2_750_481, 17, "2025-11-22T13:30:00Z"),
    video("trend_dance_step", "The step everybody gets wrong", &["dance", "tutorial", "music"], 2_106_037, 12, "2025-12-12T19:00:00Z"),
    video("trend_van_tour", "My van, all six square metres", &["travel", "van", "tour"], 1_688_214, 19, "2025-11-27T10:15:00Z"),
];

pub(crate) fn by_id(id: &str) -> Option<&'static Video> {
    VIDEOS.iter().find(|video| video.id == id)
}

impl Video {
    /// Returns the specification of the video's file.
    pub(crate) fn spec(&self) -> Spec {
        Spec::Video {
            width: 360,
            height: 640,
            duration_ms: self.seconds * 1000,
            with_audio: true,
            seed: self.views,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn videos_are_sorted_by_views() {
        assert!(VIDEOS.is_sorted_by(|one, next| one.views > next.views));
        for video in &VIDEOS {
            assert_eq!(by_id(video.id), Some(video));
        }
    }
}
