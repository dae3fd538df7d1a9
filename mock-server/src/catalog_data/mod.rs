//! First-party data that every workspace sees: background music, avatars and trending videos. The
//! media host serves their files under their IDs.

pub(crate) mod avatars;
pub(crate) mod music;
pub(crate) mod trending;

use crate::media::Spec;

pub(crate) fn file(id: &str) -> Option<Spec> {
    let track = music::by_id(id).map(music::MusicTrack::spec);
    track
        .or_else(|| avatars::by_id(id).map(avatars::CatalogAvatar::spec))
        .or_else(|| trending::by_id(id).map(trending::Video::spec))
}

/// Returns whether each word of the query is in one of the texts, ignoring case.
pub(crate) fn matches_all_words<'t>(
    query: &str,
    texts: impl Iterator<Item = &'t str> + Clone,
) -> bool {
    query.split_whitespace().all(|word| {
        let word = word.to_lowercase();
        texts.clone().any(|text| text.to_lowercase().contains(&word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_needs_every_word_of_the_query() {
        let texts = ["Neon Mile", "city"];
        for (query, found) in [("neon", true), ("CITY mile", true), ("neon lake", false)] {
            assert_eq!(matches_all_words(query, texts.into_iter()), found, "{query}");
        }
    }
}
