//! The ending of a `driftCorrected` message:
//! `[scope 3f2a9c71, secrets password@9f31c2d4, replaced, exists 3f2a9c71d04b58e6, creating 7-3f2a9c71-2,
//! ids externalId@3f2a9c71]`.
//!
//! Any text in another format is not an ending. Older records have marks without names, `secrets 9f31c2d4`. These are
//! dropped, because they belong to no certain secret.

use std::borrow::Cow;
use std::fmt;

use crate::condition::text::spells;
use crate::condition::{DesiredHash, NotedSecrets, StoredIds, UnseenCreate};
use crate::identity::ScopeId;
use crate::short_hash::parse_short_hash;

/// The beginning of each ending after a claim.
const SCOPE: &str = " [scope ";

/// The beginning of the part with the secrets, which follows the scope.
const SECRETS: &str = ", secrets ";

/// The machine-readable ending. Empty parts are omitted.
#[derive(Default)]
pub(super) struct Ending {
    /// The scope of the claim.
    pub(super) scope: Option<ScopeId>,
    /// The secrets that count as sent.
    pub(super) secrets: NotedSecrets,
    /// True if the last correction was an accepted replacement.
    pub(super) replaced: bool,
    /// The desired state whose create was refused because the resource exists already.
    pub(super) exists: Option<DesiredHash>,
    /// The last create that a poll has to find.
    pub(super) unseen: Option<UnseenCreate>,
    /// The hashes of the stored ids.
    pub(super) ids: StoredIds,
}

impl Ending {
    /// Splits a text from its ending. An invalid ending is part of the text.
    pub(super) fn split(text: &str) -> (&str, Self) {
        let found = text.rfind(" [").and_then(|start| Some((&text[..start], Self::parse(&text[start..])?)));
        found.unwrap_or_else(|| (text, Self::default()))
    }

    /// The same for a message without a claim, whose ending can only contain a refused create.
    pub(super) fn split_without_claim(text: &str) -> (&str, Self) {
        let (rest, Self { scope, secrets, replaced, exists, unseen, ids }) = Self::split(text);
        let has_facts = secrets != NotedSecrets::default() || !ids.is_empty();
        let is_of_claim = scope.is_some() || has_facts || replaced || unseen.is_some();
        let is_alone = !is_of_claim && exists.is_some();
        if is_alone { (rest, Self { exists, ..Self::default() }) } else { (text, Self::default()) }
    }

    /// Returns true if a text ends with an ending that has a part which this version does not know.
    pub(super) fn is_unknown(text: &str) -> bool {
        let Some(ending) = text.rfind(SCOPE).map(|start| &text[start..]).filter(|ending| ending.ends_with(']')) else {
            return false;
        };
        let id = ending[SCOPE.len()..].split([',', ']']).next();
        id.and_then(ScopeId::parse).is_some() && Self::parse(ending).is_none()
    }

    fn parse(text: &str) -> Option<Self> {
        let text = &*nameless_marks(text).map_or(Cow::Borrowed(text), |part| text.replacen(part, "", 1).into());
        let mut ending = Self::default();
        for part in text.strip_prefix(" [")?.strip_suffix(']')?.split(", ") {
            match part.split_once(' ') {
                Some(("scope", id)) => ending.scope = Some(ScopeId::parse(id)?),
                Some(("exists", hash)) => ending.exists = Some(DesiredHash::parse(hash)?),
                Some((word @ ("creating" | "created"), rest)) => ending.unseen = Some(UnseenCreate::parse(word, rest)?),
                Some(("ids", rest)) => ending.ids = StoredIds::parse(rest)?,
                Some((word, rest)) => ending.secrets.take_part(word, rest)?,
                None if part == "replaced" => ending.replaced = true,
                None => return None,
            }
        }
        spells(text, &ending).then_some(ending)
    }
}

/// Returns the part with marks without names.
fn nameless_marks(text: &str) -> Option<&str> {
    let (_, marks) = text.split_once(SECRETS)?;
    let end = marks.find([',', ']'])?;
    let are_bare = marks[..end].split(' ').all(|mark| parse_short_hash(mark).is_some());
    let start = text.len() - marks.len() - SECRETS.len();
    are_bare.then(|| &text[start..start + SECRETS.len() + end])
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<_> = self.scope.map(|scope| format!("scope {scope}")).into_iter().collect();
        parts.extend(self.secrets.parts());
        parts.extend(self.replaced.then(|| "replaced".to_owned()));
        parts.extend(self.exists.map(|exists| format!("exists {exists}")));
        parts.extend(self.unseen.map(|unseen| unseen.to_string()));
        parts.extend(self.ids.part());
        if parts.is_empty() { Ok(()) } else { write!(formatter, " [{}]", parts.join(", ")) }
    }
}
