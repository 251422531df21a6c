//! The tag at the end of every `driftObserved` message: `[desired 3f2a9c71d04b58e6, seen, correction 7, unhealed 2,
//! fields upstream members, replace]`.
//!
//! It carries the state for the next poll and the controller, in the only place that every conditions list keeps. A text
//! in another format is not a tag.
//!
//! The answered request has brackets of its own before the others: `[polled 2026-01-01T00:00:00Z] [desired …]`. Programs
//! that do not know it read it as text, and still read the tag.

mod poll_request;

use std::fmt;

use crate::condition::{DesiredHash, DifferingFields};
use crate::facts::{self, Fact, FactList, Facts};

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
        let Some(facts) = facts::at_end(message).and_then(|(_, brackets)| facts::in_brackets(brackets)) else {
            return false;
        };
        // The names of fields are no words of ours.
        let facts = facts.filter(|fact| fact.word != "fields");
        let (ours, others): (Vec<Fact<'_>>, Vec<Fact<'_>>) = facts.partition(|fact| OF_OURS.contains(&fact.word));
        let is_word = |fact: &Fact<'_>| fact.word.starts_with(|letter: char| letter.is_ascii_lowercase());
        let is_valid = |fact: &Fact<'_>| facts::read(Self::default(), &format!("[{fact}]")).is_some();
        !others.is_empty() && others.iter().all(is_word) && !ours.is_empty() && ours.iter().all(is_valid)
    }

    /// Splits a message from its tag.
    #[must_use]
    pub fn split(message: &str) -> (&str, Option<Self>) {
        let (text, tag) = match facts::split(message, Self::default()) {
            Some((text, tag)) => (text, Some(tag)),
            None => (message, None),
        };
        match facts::split(text, None::<PollRequest>) {
            Some((text, polled)) => (text, Some(Self { polled, ..tag.unwrap_or_default() })),
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
        facts::append(text, self)
    }
}

impl Facts for Tag {
    fn write(&self, list: &mut FactList<'_, '_>) -> fmt::Result {
        list.fact("desired", self.desired_hash)?;
        list.word_if(self.seen, "seen")?;
        list.word_if(self.found, "found")?;
        list.word_if(self.unfound, "unfound")?;
        list.fact("correction", Some(self.correction).filter(|count| *count > 0))?;
        list.fact("unhealed", Some(self.unhealed).filter(|count| *count > 0))?;
        list.fact("fields", Some(&self.fields).filter(|fields| !fields.is_empty()))?;
        list.word_if(self.replace, "replace")?;
        list.word_if(self.ready, "ready")
    }

    fn take(&mut self, Fact { word, text }: Fact<'_>) -> Option<()> {
        match word {
            "desired" => self.desired_hash = Some(DesiredHash::parse(text)?),
            "seen" => self.seen = true,
            "found" => self.found = true,
            "unfound" => self.unfound = true,
            "correction" => self.correction = facts::number(text)?,
            "unhealed" => self.unhealed = facts::number(text)?,
            "fields" => self.fields = DifferingFields::parse(text)?,
            "replace" => self.replace = true,
            "ready" => self.ready = true,
            _ => return None,
        }
        Some(())
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        facts::write_lists(formatter, &[&self.polled, self])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
