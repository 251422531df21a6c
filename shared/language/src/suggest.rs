//! Suggests the nearest known word for an unknown one.

/// Maximum edit distance of a misspelling: a third of the letters, at least one.
fn tolerance(word: &str) -> usize {
    (word.chars().count() / 3).max(1)
}

/// Returns the known word that was probably meant.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let lower = word.to_lowercase();
    let distance = |candidate: &str| strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
    let scored = known.into_iter().map(|candidate| (distance(candidate), candidate));
    scored.filter(|(distance, _)| *distance <= tolerance(word)).min().map(|(_, candidate)| candidate)
}

/// `: did you mean …?`, or nothing.
#[must_use]
pub fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(word, known).map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_words_are_suggested() {
        let known = ["interval", "identity", "read"];
        assert_eq!(nearest("intervall", known), Some("interval"));
        assert_eq!(nearest("Interval", known), Some("interval"));
        assert_eq!(nearest("raed", known), Some("read"));
        assert_eq!(nearest("postgres", known), None);
        assert_eq!(nearest("x", known), None);
    }
}
