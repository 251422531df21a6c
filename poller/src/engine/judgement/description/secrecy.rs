//! The parts of a difference to hide: redacted fields, and texts whose name or content looks like a secret.

use drift_api::secrets::secret_names::{is_named_like_a_secret, looks_secret};
use drift_api::secrets::secret_texts::holds_secret;
use drift_language::RulePlace;

use crate::engine::judgement::difference::{Key, Segment};

/// Returns true if a text is hidden here. Numbers and booleans are shown, because they rarely contain secrets.
pub(super) fn is_hidden_text(place: &RulePlace<'_>, text: &str, is_secret: bool) -> bool {
    place.is_redacted() || holds_secret(text) || (is_secret && !place.is_shown())
}

/// Returns true if the value of a key is hidden.
pub(super) fn is_hidden_key(key: &Key<'_>) -> bool {
    let is_secret_text = |text: &str| holds_secret(text) || (looks_secret(key.name) && !key.is_shown);
    key.is_redacted || key.value.as_str().is_some_and(is_secret_text)
}

/// Returns true if a path names a secret.
pub(super) fn names_secret(path: &[Segment<'_>]) -> bool {
    path.iter().any(|segment| match segment {
        Segment::Field(name) => looks_secret(name),
        Segment::Item { items, .. } => items.iter().flatten().any(|item| is_named_like_a_secret(item)),
        Segment::Keyed { keys, item } => {
            is_named_like_a_secret(item) || keys.iter().any(|key| key.value.as_str().is_some_and(looks_secret))
        }
    })
}
