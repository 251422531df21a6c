//! Suggests the nearest known word for an unknown one.

/// Minimum letters of a word that begins another one.
const MIN_BEGINNING: usize = 3;

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

/// Returns the one known word that begins with this one: `roleArn` for `role`.
pub(crate) fn longer<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let mut longer = known.into_iter().filter(|candidate| candidate.starts_with(word));
    longer.next().filter(|_| word.len() >= MIN_BEGINNING && longer.next().is_none())
}

/// `: did you mean …?`, or nothing.
#[must_use]
pub fn did_you_mean<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(word, known).map(|near| format!(": did you mean `{near}`?")).unwrap_or_default()
}

/// `: did you mean …?`, or the list of the known words.
pub(crate) fn did_you_mean_or_known<'k>(word: &str, known: impl IntoIterator<Item = &'k str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(near) => format!(": did you mean `{near}`?"),
        None => format!("; known: {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
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
        assert_eq!(longer("ident", known), Some("identity"));
        assert_eq!((longer("in", known), longer("i", known), longer("post", known)), (None, None, None));
    }
}
