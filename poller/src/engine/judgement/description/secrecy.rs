//! The parts of a difference to hide: redacted fields, and texts whose name or content looks like a secret.

use drift_api::secrets::secret_names::looks_secret;
use drift_language::RulePlace;
use serde_json::Value;

use super::REDACTED;
use crate::engine::judgement::difference::{Key, Segment};

/// Fields that name the items of lists: an item with the name `API_TOKEN` contains a secret.
const NAMING_FIELDS: [&str; 5] = ["name", "key", "id", "field", "header"];

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

/// Returns true if an item of a list has a name like a secret: `{name: DB_PASSWORD, value: …}`.
#[must_use]
pub fn is_named_like_a_secret(item: &Value) -> bool {
    NAMING_FIELDS.iter().any(|field| item.get(field).and_then(Value::as_str).is_some_and(looks_secret))
}

/// Returns true if a text is a private key or sets a password like a connection string, regardless of its field name.
#[must_use]
pub fn holds_secret(text: &str) -> bool {
    let sets_secret = text
        .split(|letter: char| letter.is_whitespace() || ";&?,".contains(letter))
        .filter_map(|part| part.split_once('='))
        .any(|(name, secret)| !secret.is_empty() && looks_secret(name));
    sets_secret || text.contains("PRIVATE KEY-----")
}

/// Hides the part before the `@` in every `scheme://user:password@host` in a text.
#[must_use]
pub fn without_userinfo(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let end = after.find(|letter: char| letter.is_whitespace() || "/?#\"'".contains(letter)).unwrap_or(after.len());
        let authority = after.get(..end).unwrap_or_default();
        // A password may contain characters that end an authority. In a valid authority, a port follows the colon.
        let is_cut_short = authority
            .split_once(':')
            .is_some_and(|(_, port)| port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()));
        let end = if is_cut_short && !authority.contains('@') {
            after.find(char::is_whitespace).unwrap_or(after.len())
        } else {
            end
        };
        let (authority, tail) = after.split_at(end);
        shown.push_str(before);
        shown.push_str("://");
        match authority.rsplit_once('@') {
            None => shown.push_str(authority),
            Some((_, host)) => {
                shown.push_str(REDACTED);
                shown.push('@');
                shown.push_str(host);
            }
        }
        rest = tail;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_that_sets_a_password_holds_a_secret() {
        for secret in ["host=db password=hunter2", "Server=db;Pwd=hunter2;", "https://host/x?api_key=hunter2"] {
            assert!(holds_secret(secret), "{secret}");
        }
        assert!(!holds_secret("a=1&sort=token"));
    }

    proptest! {
        #[test]
        fn no_userinfo_survives(user in "[a-z]{1,8}", password in "[A-Z][A-Z0-9/#?]{7}", token in "[A-Z0-9]{8}") {
            let text = without_userinfo(&format!("see db://{user}:{password}@host/x and http://{token}@host:80/@path"));
            prop_assert!(!text.contains(&password) && !text.contains(&token), "{text}");
            prop_assert!(text.ends_with("http://(redacted)@host:80/@path"), "{text}");
        }
    }
}
