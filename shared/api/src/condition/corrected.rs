//! The content of `driftCorrected`: `correction 7, owns "orders-db": updated [scope 3f2a9c71]`, with the sent secrets,
//! `replaced` after a replacement, `exists` after a create that contradicts the poll, and `creating` or `created` with the
//! last create, and `ids` with the hashes of stored ids, before the last bracket.
//!
//! It contains the facts that a crash must not lose: the number of corrections after which a poll must come, the claimed
//! external resource with its scope, the contradiction, and the create. Only this module writes and reads the message.

mod approval;
mod contradiction;
mod ending;
mod stored_ids;
mod unseen_create;

use std::fmt;

use self::ending::Ending;
pub use self::stored_ids::StoredIds;
pub use self::unseen_create::UnseenCreate;
use crate::collections::shared_text::SharedText;
use crate::condition::{Condition, ConditionKind, CorrectedReason, DesiredHash, NotedSecrets};
use crate::identity::{ResourceName, ScopeId};
use crate::printable::printable_json;

/// The text about a correction that was in progress when its process ended.
const INTERRUPTED: &str = "interrupted: nobody knows whether the correction was done";

/// The claim of an object on an external resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The object owns the external resource of this name: it may be created, updated and deleted.
    Owns(ClaimedName),
    /// The first create was rejected before it could take effect. It may be tried again. A resource that appears there
    /// meanwhile is not ours.
    Claims(ClaimedName),
}

/// The name of a claimed external resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedName {
    /// The identity of the resource.
    pub identity: SharedText,
    /// The scope of the claim. `None` if an older version wrote it, which counts as the present scope.
    pub scope: Option<ScopeId>,
}

impl ClaimedName {
    /// Returns true if this claim is for that resource.
    #[must_use]
    pub fn names(&self, resource: &ResourceName) -> bool {
        self.identity == resource.identity && self.is_in(resource.scope)
    }

    /// Returns true if the claim is in that scope.
    #[must_use]
    pub fn is_in(&self, scope: ScopeId) -> bool {
        self.scope.is_none_or(|claimed_in| claimed_in == scope)
    }

    /// Returns the claimed resource. `present` is the scope of the object's target.
    #[must_use]
    pub fn resource(&self, present: ScopeId) -> ResourceName {
        ResourceName { scope: self.scope.unwrap_or(present), identity: self.identity.clone() }
    }
}

impl From<ResourceName> for ClaimedName {
    fn from(ResourceName { scope, identity }: ResourceName) -> Self {
        Self { identity, scope: Some(scope) }
    }
}

impl Claim {
    /// Returns the claimed name.
    #[must_use]
    pub const fn name(&self) -> &ClaimedName {
        match self {
            Self::Owns(name) | Self::Claims(name) => name,
        }
    }

    const fn name_mut(&mut self) -> &mut ClaimedName {
        match self {
            Self::Owns(name) | Self::Claims(name) => name,
        }
    }

    const fn word(&self) -> &'static str {
        match self {
            Self::Owns(_) => "owns",
            Self::Claims(_) => "claims",
        }
    }
}

/// The controller's record of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorrectionStatus {
    /// Its reason, which determines the status. `None` if our condition is absent or must be removed.
    pub reason: Option<CorrectedReason>,
    /// K: the number of corrections after which a poll must look: those with a definite outcome, and creates in doubt.
    /// 0 before the first.
    pub correction: u64,
    /// The claim on the external resource; `None` without one.
    pub claim: Option<Claim>,
    /// The secrets that count as sent. Kept only with a claim.
    pub secrets: NotedSecrets,
    /// True if the last correction replaced the external resource, deleted it for a replacement, or created it after
    /// such a deletion, and no poll has confirmed the result yet. Kept only with a claim.
    pub replaced: bool,
    /// The desired state of the last create, if the external system refused that because the resource exists already.
    /// A poll of this generation that finds nothing is contradicted.
    pub exists: Option<DesiredHash>,
    /// The last create of the claimed resource, if a repeated one could make a second resource. Use
    /// [`Self::unseen_create`]. Kept only with a claim.
    pub unseen: Option<UnseenCreate>,
    /// The hashes of the ids that its steps stored. Kept only with a claim.
    pub ids: StoredIds,
    /// The sentence for display.
    pub text: String,
    /// The generation that was corrected.
    pub generation: Option<i64>,
}

impl CorrectionStatus {
    /// Reads the controller's condition. `None` if the reason is not ours, so that the message proves nothing.
    #[must_use]
    pub fn read(condition: &Condition) -> Option<Self> {
        let reason = Some(CorrectedReason::parse(&condition.reason)?);
        let generation = condition.observed_generation;
        Some(Self { reason, generation, ..Self::parse(condition.message.text()) })
    }

    /// Returns true if the condition is a record with a word that this version does not know: its message begins as ours
    /// does, and its reason or the ending after its claim is another one.
    #[must_use]
    pub fn is_of_newer_version(condition: &Condition) -> bool {
        let (correction, rest) = parse_correction(condition.message.text());
        let claim = parse_claim(rest).and_then(|(claim, rest)| claim.map(|_| rest));
        let has_unknown_reason =
            (correction > 0 || claim.is_some()) && CorrectedReason::parse(&condition.reason).is_none();
        has_unknown_reason || claim.is_some_and(Ending::is_unknown)
    }

    /// Parses a message alone. A foreign message has correction 0, no claim, and is all text.
    #[must_use]
    pub fn parse(message: &str) -> Self {
        Self::parse_strictly(message).unwrap_or_else(|| Self { text: message.to_owned(), ..Self::default() })
    }

    fn parse_strictly(message: &str) -> Option<Self> {
        let (correction, rest) = parse_correction(message);
        let (mut claim, rest) = parse_claim(rest)?;
        let text = match (correction, &claim) {
            (0, None) => rest,
            _ => rest.strip_prefix(": ")?,
        };
        let (text, ending) = match (correction, &mut claim) {
            (0, None) => (text, Ending::default()),
            (_, None) => Ending::split_without_claim(text),
            (_, Some(claim)) => {
                let (text, ending) = Ending::split(text);
                claim.name_mut().scope = ending.scope;
                (text, ending)
            }
        };
        let Ending { secrets, replaced, exists, unseen, ids, .. } = ending;
        Some(Self {
            correction,
            claim,
            secrets,
            replaced,
            exists,
            unseen,
            ids,
            text: text.to_owned(),
            ..Self::default()
        })
    }

    /// Formats the message of the condition.
    #[must_use]
    pub fn message(&self) -> String {
        let mut parts = Vec::with_capacity(2);
        parts.extend((self.correction > 0).then(|| format!("correction {}", self.correction)));
        parts.extend(self.claim.as_ref().map(ToString::to_string));
        let mut message =
            if parts.is_empty() { self.text.clone() } else { format!("{}: {}", parts.join(", "), self.text) };
        let &Self { ref secrets, replaced, exists, unseen, ref ids, .. } = self;
        let ending = match &self.claim {
            Some(claim) => {
                let (scope, secrets, ids) = (claim.name().scope, secrets.clone(), ids.clone());
                Ending { scope, secrets, replaced, exists, unseen, ids }
            }
            None => Ending { exists, ..Ending::default() },
        };
        message.push_str(&ending.to_string());
        message
    }

    /// Returns the name of the external resource that the object owns.
    #[must_use]
    pub const fn owned(&self) -> Option<&ClaimedName> {
        match &self.claim {
            Some(Claim::Owns(name)) => Some(name),
            Some(Claim::Claims(_)) | None => None,
        }
    }

    /// Returns the status with the present scope in a claim without scope.
    #[must_use]
    pub fn in_scope(mut self, present: ScopeId) -> Self {
        if let Some(claim) = &mut self.claim {
            claim.name_mut().scope.get_or_insert(present);
        }
        self
    }

    /// Returns another reason and sentence with the same K and claim, and without a contradiction of the poll. The note
    /// of a replacement is only kept if the attempts are exhausted or an approval is missing.
    #[must_use]
    pub fn keeping(&self, reason: CorrectedReason, text: &str, generation: Option<i64>) -> Self {
        let keeps = matches!(reason, CorrectedReason::AttemptsExhausted | CorrectedReason::AwaitingApproval);
        let replaced = self.replaced && keeps;
        Self { reason: Some(reason), text: text.to_owned(), generation, replaced, exists: None, ..self.clone() }
    }

    /// Counts a correction with an unknown outcome, so that a poll follows before any other attempt.
    #[must_use]
    pub fn in_doubt(&self, text: &str, generation: Option<i64>) -> Self {
        let correction = self.correction.saturating_add(1);
        Self { correction, ..self.keeping(CorrectedReason::CorrectionFailed, text, generation) }
    }

    /// Returns the record of an object whose external resource no longer belongs to another object. K is raised, so
    /// that a poll comes first: the present verdict may be about the other object's resource.
    #[must_use]
    pub fn freed(&self, generation: Option<i64>) -> Self {
        let text = "no other object has the external resource any more; it is polled first";
        let correction = self.correction.saturating_add(1);
        Self { correction, ..self.keeping(CorrectedReason::IdentityFree, text, generation) }
    }

    /// Returns the record of an object whose correction was in progress when its process ended.
    #[must_use]
    pub fn interrupted(&self, generation: Option<i64>) -> Self {
        self.in_doubt(INTERRUPTED, generation)
    }

    /// Returns true if the last counted correction was interrupted.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.failure().is_some_and(|failure| failure.starts_with(INTERRUPTED))
    }

    /// Returns the status with another text about the time since the interruption. `None` if nothing was interrupted.
    #[must_use]
    pub fn still_interrupted(&self, text: &str, generation: Option<i64>) -> Option<Self> {
        let text = format!("{INTERRUPTED}; {text}");
        self.is_interrupted().then(|| self.keeping(CorrectedReason::CorrectionFailed, &text, generation))
    }

    /// Returns the condition to write over `current`, or `None` to remove it. `now` (RFC 3339) becomes the transition
    /// time only if the status changes.
    #[must_use]
    pub fn to_condition(&self, current: Option<&Condition>, now: &str) -> Option<Condition> {
        let reason = self.reason?;
        Some(Condition {
            kind: ConditionKind::Corrected,
            status: reason.status(),
            reason: reason.as_str().into(),
            message: self.message().into(),
            observed_generation: self.generation,
            last_transition_time: Condition::transition_time(current, reason.status(), now),
        })
    }

    /// Returns true if `current` already says exactly this. A claim without its scope counts as equal: the scope is
    /// added with the next change.
    #[must_use]
    pub fn stands(&self, current: Option<&Condition>) -> bool {
        let mut said = self.clone();
        let current_claim = current.and_then(Self::read).and_then(|current| current.claim);
        if let (Some(claim), Some(ClaimedName { scope: None, .. })) =
            (&mut said.claim, current_claim.as_ref().map(Claim::name))
        {
            claim.name_mut().scope = None;
        }
        match (said.to_condition(current, ""), current) {
            (Some(condition), Some(current)) => condition.says_the_same(current),
            (condition, current) => condition.is_none() && current.is_none(),
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = serde_json::Value::from(&*self.name().identity).to_string();
        write!(formatter, "{} {}", self.word(), printable_json(&quoted))
    }
}

/// Parses the leading `correction K`, if present, and returns the rest (without its comma if a claim follows).
fn parse_correction(message: &str) -> (u64, &str) {
    let parsed = message.strip_prefix("correction ").and_then(|rest| {
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let (count, rest) = rest.split_at(digits);
        let count = count.parse::<u64>().ok().filter(|count| *count > 0)?;
        Some((count, rest))
    });
    match parsed {
        Some((count, rest)) => match rest.strip_prefix(", ") {
            Some(claim) if claim.starts_with("owns ") || claim.starts_with("claims ") => (count, claim),
            _ if rest.starts_with(": ") => (count, rest),
            _ => (0, message),
        },
        None => (0, message),
    }
}

/// Parses the leading claim, if present, and returns the rest. `None` if its identity is not quoted. Its scope is at
/// the end of the message.
fn parse_claim(text: &str) -> Option<(Option<Claim>, &str)> {
    let claim: fn(ClaimedName) -> Claim = match text.split_once(' ') {
        Some(("owns", _)) => Claim::Owns,
        Some(("claims", _)) => Claim::Claims,
        _ => return Some((None, text)),
    };
    let (_, quoted) = text.split_once(' ')?;
    let mut values = serde_json::Deserializer::from_str(quoted).into_iter::<String>();
    let identity: String = values.next()?.ok()?;
    Some((Some(claim(ClaimedName { identity: identity.into(), scope: None })), quoted.get(values.byte_offset()..)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
