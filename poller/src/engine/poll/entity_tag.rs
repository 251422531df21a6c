//! The entity tag of the state in which an object was in sync, for conditional requests.
//!
//! A server answers 304 for a state with the same tag. A faulty tag could hide a change for ever, so the state is
//! read in full now and then. Only states in sync are remembered: drift, absence and their confirmation always rely
//! on whole responses.

use drift_language::HttpRead;
use drift_systems::HttpReply;
use http::header::{
    ETAG, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

/// Maximum length of a remembered tag in bytes. A hexadecimal digest has 64, and there may be a hundred thousand tags.
const MAX_TAG_BYTES: usize = 256;

/// Maximum consecutive polls that rely on one whole response. A server whose tags miss a change hides it for
/// this many intervals.
pub const MAX_REPEATS: u32 = 9;

/// Headers that request a part, or set a condition of their own.
const CONDITIONS: [HeaderName; 6] = [IF_MATCH, IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE, IF_RANGE, RANGE];

/// A server's tag of a state: the header `ETag`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityTag(Box<[u8]>);

/// A state in sync with its entity tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tagged {
    /// The response was whole and has this tag.
    Whole(EntityTag),
    /// The server reports an unchanged state.
    Repeated,
}

/// Tag of the last state in sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberedTag {
    tag: EntityTag,
    /// Number of polls since the whole response.
    repeats: u32,
}

impl EntityTag {
    /// Returns the entity tag of an answer; `None` if there is none, several, or one that is too long.
    #[must_use]
    pub fn of(reply: &HttpReply) -> Option<Self> {
        let mut values = reply.headers.get_all(ETAG).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let bytes = value.as_bytes();
        let quoted = bytes.strip_prefix(b"W/").unwrap_or(bytes).strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let is_tag = quoted.iter().all(|byte| *byte > b' ' && *byte < 0x7f && *byte != b'"');
        (is_tag && bytes.len() <= MAX_TAG_BYTES).then(|| Self(bytes.into()))
    }

    /// Makes a request conditional on a changed tag.
    pub fn put_into(&self, headers: &mut HeaderMap) {
        if let Ok(value) = HeaderValue::from_bytes(&self.0) {
            headers.insert(IF_NONE_MATCH, value);
        }
    }

    /// Returns true if the response to a request with this tag reports the same state.
    #[must_use]
    pub fn is_repeated_by(&self, reply: &HttpReply) -> bool {
        let is_same = || Self::of(reply).is_some_and(|tag| tag.opaque() == self.opaque());
        reply.status == StatusCode::NOT_MODIFIED && (!reply.headers.contains_key(ETAG) || is_same())
    }

    /// Returns the tag without the prefix of a weak tag.
    fn opaque(&self) -> &[u8] {
        self.0.strip_prefix(b"W/").unwrap_or(&self.0)
    }
}

impl RememberedTag {
    /// Returns the tag to keep after a poll that found the object in sync.
    #[must_use]
    pub fn after(known: Option<Self>, tagged: Option<Tagged>) -> Option<Self> {
        match tagged? {
            Tagged::Whole(tag) => Some(Self { tag, repeats: 0 }),
            Tagged::Repeated => known.map(|mut known| {
                known.repeats = known.repeats.saturating_add(1);
                known
            }),
        }
    }

    /// Returns the tag, unless the next poll must read the whole state.
    #[must_use]
    pub fn usable(&self) -> Option<&EntityTag> {
        (self.repeats < MAX_REPEATS).then_some(&self.tag)
    }
}

/// Returns true if a read is one request for one state, without its own condition.
#[must_use]
pub fn can_be_tagged(read: &HttpRead) -> bool {
    let request = &read.first.request;
    read.further.is_empty()
        && read.collection.is_none()
        && matches!(request.method, Method::GET | Method::HEAD)
        && !request.headers.iter().any(|(name, _)| CONDITIONS.contains(name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{TEXT, target};
    use drift_systems::ReplyBody;

    fn reply(status: u16, tags: &[&str]) -> HttpReply {
        let headers = tags.iter().map(|tag| (ETAG, tag.parse().unwrap())).collect();
        HttpReply { status: StatusCode::from_u16(status).unwrap(), headers, body: ReplyBody::Whole(Vec::new()) }
    }

    fn tag(text: &str) -> EntityTag {
        EntityTag::of(&reply(200, &[text])).unwrap()
    }

    #[test]
    fn only_names_of_a_state_are_remembered() {
        let long = format!("\"{}\"", "x".repeat(MAX_TAG_BYTES - 1));
        for (tags, expected) in [
            (vec!["\"a\""], true),
            (vec!["W/\"a\""], true),
            (vec!["\"\""], true),
            (vec![&long[1..]], false),
            (vec![long.as_str()], false),
            (vec!["\"a\"", "\"a\""], false),
            (vec!["a"], false),
            (vec!["\"a\", \"b\""], false),
            (vec!["w/\"a\""], false),
            (vec!["*"], false),
            (vec![], false),
        ] {
            assert_eq!(EntityTag::of(&reply(200, &tags)).is_some(), expected, "{tags:?}");
        }
    }

    #[test]
    fn only_our_own_304_repeats_a_state() {
        for (status, tags, expected) in [
            (304, vec![], true),
            (304, vec!["\"a\""], true),
            (304, vec!["W/\"a\""], true),
            (304, vec!["\"b\""], false),
            (304, vec!["a"], false),
            (200, vec!["\"a\""], false),
            (412, vec![], false),
        ] {
            assert_eq!(tag("\"a\"").is_repeated_by(&reply(status, &tags)), expected, "{status} {tags:?}");
        }
    }

    #[test]
    fn now_and_then_the_state_is_read_whole() {
        let after = |known, tagged| RememberedTag::after(known, Some(tagged));
        let mut known = after(None, Tagged::Whole(tag("\"a\"")));
        for _ in 0..MAX_REPEATS {
            assert_eq!(known.as_ref().and_then(RememberedTag::usable), Some(&tag("\"a\"")));
            known = after(known, Tagged::Repeated);
        }
        assert_eq!(known.as_ref().and_then(RememberedTag::usable), None);
        known = after(known, Tagged::Whole(tag("\"b\"")));
        assert_eq!(known.as_ref().and_then(RememberedTag::usable), Some(&tag("\"b\"")));
        assert_eq!(RememberedTag::after(known, None), None, "an answer without a name");
        assert_eq!(after(None, Tagged::Repeated), None);
    }

    #[test]
    fn only_one_plain_request_is_tagged() {
        let can = |read: &str| {
            let text = TEXT.replace(r#"{http: {url: "http://h/${self.spec.id}"}}"#, &format!("{{http: {{{read}}}}}"));
            let target = target(&text);
            let read = target.read.http().unwrap();
            can_be_tagged(read)
        };
        assert!(can("url: 'http://h/x'") && can("url: 'http://h/x', method: HEAD"));
        assert!(!can("url: 'http://h/x', method: POST"));
        assert!(!can("url: 'http://h/x', headers: {If-None-Match: '\"x\"'}"));
        assert!(!can("url: 'http://h/x', headers: {range: 'bytes=0-9'}"));
        assert!(!can("steps: [{name: a, url: 'http://h/x'}, {name: b, url: 'http://h/y'}]"));
        assert!(!can("url: 'http://h/x', each: '${response.body}', key: {item: '${item.name}'}"));
    }
}
