//! The tag at the end of every `driftObserved` message: `[desired 3f2a9c71d04b58e6, seen, correction 7, unhealed 2,
//! fields upstream members, replace]`.
//!
//! It carries the state for the next poll and the controller, in the only place that every conditions list keeps. Only
//! this module writes and reads it. A text in another format is not a tag.
//!
//! The answered request has brackets of its own before the others: `[polled 2026-01-01T00:00:00Z] [desired …]`. Programs
//! that do not know it read it as text, and still read the tag.

mod poll_request;

use std::fmt;

use crate::condition::text::spells;
use crate::condition::{DesiredHash, DifferingFields};

pub use poll_request::PollRequest;

/// The machine-readable part of a verdict. Empty parts are omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tag {
    /// The hash of the desired state; `None` if it could not be rendered.
    pub desired_hash: Option<DesiredHash>,
    /// Only in an Unknown: the object was in sync at this generation.
    pub seen: bool,
    /// True if a poll found the resource at an earlier generation. Omitted if the reason or `seen` says so.
    pub found: bool,
    /// True if the object's record has a create, and no poll since that correction found the resource.
    pub unfound: bool,
    /// K, the correction that this verdict verified.
    pub correction: u64,
    /// Consecutive corrections that were verified and left the object drifted.
    pub unhealed: u32,
    /// The fields that differ, if the target's corrections depend on them.
    pub fields: DifferingFields,
    /// True if a difference requires a deletion and a creation.
    pub replace: bool,
    /// True if the poller also writes the conditions of `ready: true`.
    pub ready: bool,
    /// The last request for a poll that a verdict answered.
    pub polled: Option<PollRequest>,
}

impl Tag {
    /// Finds the tag at the end of a message. `None` if there is none or another writer broke it.
    #[must_use]
    pub fn find(message: &str) -> Option<Self> {
        Self::split(message).1
    }

    /// Returns true if a message ends with a tag that has a part of ours and one which this version does not know.
    #[must_use]
    pub fn is_of_newer_version(message: &str) -> bool {
        const OF_OURS: [&str; 8] =
            ["desired", "seen", "found", "unfound", "correction", "unhealed", "replace", "ready"];
        let word = |part: &str| part.split_once(' ').map_or(part, |(word, _)| word).to_owned();
        let is_newer = |brackets: &str| {
            let inside = brackets.strip_prefix('[')?.strip_suffix(']')?;
            let (ours, others): (Vec<&str>, Vec<&str>) = inside
                .split(", ")
                .filter(|part| word(part) != "fields")
                .partition(|part| OF_OURS.contains(&&*word(part)));
            let is_word = |part: &&str| part.starts_with(|letter: char| letter.is_ascii_lowercase());
            let parse = |part: &&str| Self::parse(&format!("[{part}]")).is_some();
            (!others.is_empty() && others.iter().all(is_word) && !ours.is_empty() && ours.iter().all(parse))
                .then_some(())
        };
        split_brackets(message, is_newer).is_some()
    }

    /// Splits a message from its tag.
    #[must_use]
    pub fn split(message: &str) -> (&str, Option<Self>) {
        let (text, tag) = match split_brackets(message, Self::parse) {
            Some((text, tag)) => (text, Some(tag)),
            None => (message, None),
        };
        match split_brackets(text, PollRequest::parse) {
            Some((text, polled)) => (text, Some(Self { polled: Some(polled), ..tag.unwrap_or_default() })),
            None => (text, tag),
        }
    }

    /// Returns true if it equals the other except for the fields that differ and the answered request. Those fields
    /// change as often as the external state. A change of these parts alone has no effect.
    #[must_use]
    pub fn says_as_much_as(&self, other: &Self) -> bool {
        let of = |tag: &Self| {
            (tag.desired_hash, tag.seen, tag.found, tag.unfound, tag.correction, tag.unhealed, tag.replace, tag.ready)
        };
        of(self) == of(other)
    }

    /// Returns the message that ends with this tag.
    #[must_use]
    pub fn append_to(&self, text: &str) -> String {
        let tag = self.to_string();
        if tag.is_empty() { text.to_owned() } else { format!("{text} {tag}") }
    }

    /// Parses the last brackets.
    fn parse(text: &str) -> Option<Self> {
        let inside = text.strip_prefix('[')?.strip_suffix(']')?;
        let mut tag = Self::default();
        for part in inside.split(", ") {
            match part.split_once(' ') {
                Some(("desired", hex)) => tag.desired_hash = Some(DesiredHash::parse(hex)?),
                Some(("correction", count)) => tag.correction = parse_count(count)?,
                Some(("unhealed", count)) => tag.unhealed = parse_count(count)?,
                Some(("fields", names)) => tag.fields = DifferingFields::parse(names)?,
                None if part == "seen" => tag.seen = true,
                None if part == "found" => tag.found = true,
                None if part == "unfound" => tag.unfound = true,
                None if part == "replace" => tag.replace = true,
                None if part == "ready" => tag.ready = true,
                _ => return None,
            }
        }
        // A valid tag has one order, no duplicate part, and no explicit zero.
        spells(text, &tag).then_some(tag)
    }
}

/// Splits a text from the brackets at its end, if these can be parsed.
fn split_brackets<T>(text: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<(&str, T)> {
    let (text, brackets) = text.split_at_checked(text.rfind('[')?)?;
    Some((text.trim_end(), parse(brackets)?))
}

fn parse_count<N: std::str::FromStr>(digits: &str) -> Option<N> {
    digits.parse().ok()
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut opening = "[";
        if let Some(polled) = &self.polled {
            write!(formatter, "{polled}")?;
            opening = " [";
        }
        let mut write = |is_said: bool, part: fmt::Arguments<'_>| {
            if !is_said {
                return Ok(());
            }
            formatter.write_str(std::mem::replace(&mut opening, ", "))?;
            formatter.write_fmt(part)
        };
        if let Some(desired_hash) = self.desired_hash {
            write(true, format_args!("desired {desired_hash}"))?;
        }
        write(self.seen, format_args!("seen"))?;
        write(self.found, format_args!("found"))?;
        write(self.unfound, format_args!("unfound"))?;
        write(self.correction > 0, format_args!("correction {}", self.correction))?;
        write(self.unhealed > 0, format_args!("unhealed {}", self.unhealed))?;
        write(!self.fields.is_empty(), format_args!("fields {}", self.fields))?;
        write(self.replace, format_args!("replace"))?;
        write(self.ready, format_args!("ready"))?;
        if opening == ", " { formatter.write_str("]") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_tag_reads_as_documented() {
        let tag = Tag {
            desired_hash: DesiredHash::parse("3f2a9c71d04b58e6"),
            seen: true,
            correction: 7,
            unhealed: 2,
            ..Tag::default()
        };
        assert_eq!(tag.append_to("text"), "text [desired 3f2a9c71d04b58e6, seen, correction 7, unhealed 2]");
        let fields = Tag { fields: DifferingFields::named(["upstream", "members"]), replace: true, ..tag };
        assert_eq!(
            fields.append_to("text"),
            "text [desired 3f2a9c71d04b58e6, seen, correction 7, unhealed 2, fields members upstream, replace]"
        );
        assert_eq!(Tag::default().append_to("text"), "text");
    }

    #[test]
    fn an_answered_request_precedes_the_tag() {
        let polled = Some(PollRequest::of("2026-01-01T00:00:00Z"));
        let alone = Tag { polled: polled.clone(), ..Tag::default() };
        assert_eq!(alone.append_to("text"), "text [polled 2026-01-01T00:00:00Z]");
        let tag = Tag { correction: 7, polled, ..Tag::default() };
        assert_eq!(tag.append_to("text"), "text [polled 2026-01-01T00:00:00Z] [correction 7]");
        assert_eq!(Tag::split("text [polled T] [correction 7] more"), ("text [polled T] [correction 7] more", None));
        assert!(tag.says_as_much_as(&Tag { polled: None, ..tag.clone() }), "the controller has nothing to do for it");
    }

    #[test]
    fn foreign_and_broken_texts_are_no_tag() {
        let broken = [
            "",
            "text",
            "text []",
            "[desired 3f2a9c7]",
            "text [correction 0]",
            "text [correction 07]",
            "text [correction +7]",
            "text [seen, seen]",
            "text [unhealed 1, correction 2]",
            "text [desired 3f2a9c71d04b58e6] more",
            "text [hello]",
            "text [fields]",
            "text [fields ]",
            "text [fields b a]",
            "text [replace, fields a]",
            "text [replace, replace]",
            "text [ready, replace]",
            "text [correction 7,unhealed 2]",
            "text [correction 7, polled T]",
            "text [polled ]",
            "text [polled a b]",
            "text [correction 99999999999999999999999]",
        ];
        for message in broken {
            assert_eq!(Tag::split(message), (message, None));
        }
    }

    prop_compose! {
        fn tags()(
            desired_hash in proptest::option::of(any::<u32>()), seen: bool, found: bool, unfound: bool,
            correction: u64, unhealed: u32,
            names in proptest::collection::vec("\\PC{0,9}|[a-z]{1,9}", 0..4), replace: bool, ready: bool,
            polled in proptest::option::of("\\PC{0,99}|[0-9TZ:.-]{1,40}"),
        ) -> Tag {
            let fields = DifferingFields::named(names.iter().map(String::as_str));
            let polled = polled.as_deref().map(PollRequest::of);
            Tag { desired_hash: desired_hash.map(|seed| DesiredHash::of(&json!(seed))), seen, found, unfound, correction, unhealed, fields, replace, ready, polled }
        }
    }

    proptest! {
        #[test]
        fn a_tag_survives_its_message(tag in tags(), text in "[a-z\\[\\]:;/ ]{0,40}[a-z:;]") {
            let message = tag.append_to(&text);
            let expected = (tag != Tag::default()).then(|| tag.clone());
            prop_assert_eq!(Tag::split(&message), (text.as_str(), expected));
            let known_before = Tag { polled: None, ..tag }.to_string();
            prop_assert!(message.ends_with(&known_before), "older programs read the last brackets: {}", message);
        }

        #[test]
        fn any_text_is_read_without_panic(message in "\\PC*") {
            let _ = Tag::find(&message);
        }
    }
}
