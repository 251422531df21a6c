//! The content of `driftCorrected`: `correction 7, owns "orders-db": updated [scope 3f2a9c71]`, with the sent secrets,
//! `replaced` after a replacement, `exists` after a create that contradicts the poll, and `creating` or `created` with the
//! last create, and `ids` with the hashes of stored ids, before the last bracket.
//!
//! It contains the facts that a crash must not lose: the number of corrections after which a poll must come, the claimed
//! external resource with its scope, the contradiction, and the create.

mod approval;
mod head;
mod stored_ids;
mod unseen_create;

use std::borrow::Cow;
use std::fmt;

use self::head::Head;
pub use self::head::{Claim, ClaimedName};
pub use self::stored_ids::StoredIds;
pub use self::unseen_create::UnseenCreate;
use crate::condition::{Condition, ConditionKind, CorrectedReason, DesiredHash, NotedSecrets};
use crate::facts::{self, Fact, FactList, Facts, InBrackets};
use crate::identity::ScopeId;
use crate::short_hash::parse_short_hash;

/// The beginning of each ending after a claim.
const SCOPE: &str = " [scope ";

/// The beginning of the part of an ending with the secrets, which follows the scope.
const SECRETS: &str = ", secrets ";

/// The text about a correction that was in progress when its process ended.
const INTERRUPTED: &str = "interrupted: nobody knows whether the correction was done";

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
        let (Head { correction, claim }, rest) = Head::split(condition.message.text());
        let is_ours = claim.is_some() || (correction > 0 && rest.starts_with(": "));
        let has_unknown_reason = is_ours && CorrectedReason::parse(&condition.reason).is_none();
        let head = Self { claim, ..Self::default() };
        has_unknown_reason || (head.claim.is_some() && head.has_unknown_ending(rest))
    }

    /// Returns true if a text after this head ends with an ending that has a part which this version does not know.
    fn has_unknown_ending(self, text: &str) -> bool {
        let ending = text.rfind(SCOPE).map(|start| &text[start + 1..]).unwrap_or_default();
        let first = facts::in_brackets(ending).and_then(|mut facts| facts.next());
        first.is_some_and(|scope| ScopeId::parse(scope.text).is_some()) && self.with_ending(ending).is_none()
    }

    /// Parses a message alone. A foreign message has correction 0, no claim, and is all text.
    #[must_use]
    pub fn parse(message: &str) -> Self {
        Self::parse_strictly(message).unwrap_or_else(|| Self { text: message.to_owned(), ..Self::default() })
    }

    fn parse_strictly(message: &str) -> Option<Self> {
        let (Head { correction, claim }, rest) = Head::split(message);
        let text = rest.strip_prefix(": ").filter(|_| correction > 0 || claim.is_some())?;
        let head = Self { correction, claim, ..Self::default() };
        let whole = facts::at_end(text).and_then(|(text, ending)| Some((text, head.clone().with_ending(ending)?)));
        let (text, status) = whole.unwrap_or((text, head));
        Some(Self { text: text.to_owned(), ..status })
    }

    /// Returns the status with the facts of an ending. Older records have marks without names, `secrets 9f31c2d4`. These
    /// are dropped, because they belong to no certain secret.
    fn with_ending(self, brackets: &str) -> Option<Self> {
        let without = nameless_marks(brackets).map(|marks| brackets.replacen(marks, "", 1));
        facts::read(self, &without.map_or(Cow::Borrowed(brackets), Cow::Owned))
    }

    /// Formats the message of the condition.
    #[must_use]
    pub fn message(&self) -> String {
        let head = Head { correction: self.correction, claim: self.claim.clone() };
        facts::append(&format!("{head}{}", self.text), &InBrackets(self))
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
    pub fn in_scope(mut self, present: impl Into<Option<ScopeId>>) -> Self {
        if let Some(claim) = &mut self.claim {
            let name = claim.name_mut();
            name.scope = name.scope.or(present.into());
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

    /// Returns true if the external system refused to create this desired state at this generation because the resource
    /// exists already. A poll of the same state that finds nothing is Unknown then.
    #[must_use]
    pub fn contradicts_absence(&self, generation: Option<i64>, desired_hash: Option<DesiredHash>) -> bool {
        self.exists.is_some() && self.exists == desired_hash && self.generation == generation
    }

    /// Returns the same record without the contradiction, so that a poll that finds nothing leads to one more create.
    #[must_use]
    pub fn without_contradiction(&self) -> Self {
        Self { exists: None, ..self.clone() }
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

/// The ending of a message. Without a claim it can only have a refused create.
impl Facts for CorrectionStatus {
    fn write(&self, list: &mut FactList<'_, '_>) -> fmt::Result {
        if let Some(claim) = &self.claim {
            list.fact("scope", claim.name().scope)?;
            self.secrets.write(list)?;
            list.word_if(self.replaced, "replaced")?;
        }
        list.fact("exists", self.exists)?;
        if self.claim.is_none() {
            return Ok(());
        }
        if let Some(unseen) = &self.unseen {
            list.fact(unseen.word(), Some(unseen))?;
        }
        list.fact("ids", self.ids.written())
    }

    fn take(&mut self, fact: Fact<'_>) -> Option<()> {
        match (fact.word, &mut self.claim) {
            ("exists", _) => self.exists = Some(DesiredHash::parse(fact.text)?),
            ("scope", Some(claim)) => claim.name_mut().scope = Some(ScopeId::parse(fact.text)?),
            ("replaced", Some(_)) => self.replaced = true,
            ("creating" | "created", Some(_)) => self.unseen = Some(UnseenCreate::parse(fact)?),
            ("ids", Some(_)) => self.ids = StoredIds::parse(fact.text)?,
            (_, Some(_)) => self.secrets.take(fact)?,
            (_, None) => return None,
        }
        Some(())
    }
}

/// Returns the part of an ending with marks without names.
fn nameless_marks(ending: &str) -> Option<&str> {
    let start = ending.find(SECRETS)?;
    let marks = start + SECRETS.len();
    let end = marks + ending[marks..].find([',', ']'])?;
    let are_bare = ending[marks..end].split(' ').all(|mark| parse_short_hash(mark).is_some());
    are_bare.then(|| &ending[start..end])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
