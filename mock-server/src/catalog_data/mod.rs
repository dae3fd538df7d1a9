//! What comes with the service and belongs to nobody: background music, avatars, trending videos.
//! Their files are on the media host under their own ids.

pub(crate) mod avatars;
pub(crate) mod music;
pub(crate) mod trending;

use crate::media::Spec;

/// What the file of that id is made from.
pub(crate) fn file(id: &str) -> Option<Spec> {
    let track = music::by_id(id).map(music::Track::spec);
    track
        .or_else(|| avatars::by_id(id).map(avatars::CatalogAvatar::spec))
        .or_else(|| trending::by_id(id).map(trending::Video::spec))
}

/// Whether every word of a query is in one of these texts, whatever its case.
pub(crate) fn matches_all_words<'t>(
    query: &str,
    texts: impl Iterator<Item = &'t str> + Clone,
) -> bool {
    query.split_whitespace().all(|word| {
        let word = word.to_lowercase();
        texts
            .clone()
            .any(|text| text.to_lowercase().contains(&word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_query_has_to_be_found() {
        let texts = ["Neon Mile", "city"];
        for (query, found) in [("neon", true), ("CITY mile", true), ("neon lake", false)] {
            assert_eq!(
                matches_all_words(query, texts.into_iter()),
                found,
                "{query}"
            );
        }
    }
}
