//! The beginning of a `driftCorrected` message: `correction 7, owns "orders-db": `.

use std::fmt;

use crate::collections::shared_text::SharedText;
use crate::facts::{self, Fact, FactList, Facts};
use crate::identity::{ResourceName, ScopeId};
use crate::printable::printable_json;

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

    pub(super) const fn name_mut(&mut self) -> &mut ClaimedName {
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

/// The number of corrections and the claim. The scope of the claim is at the end of the message.
#[derive(Default)]
pub(super) struct Head {
    /// K, or 0.
    pub(super) correction: u64,
    /// The claim, if the object has one.
    pub(super) claim: Option<Claim>,
}

impl Head {
    /// Splits a message after its head. The rest of ours begins with a colon.
    pub(super) fn split(message: &str) -> (Self, &str) {
        let mut head = Self::default();
        let rest = facts::read_head(&mut head, message);
        (head, rest)
    }
}

impl Facts for Head {
    fn write(&self, list: &mut FactList<'_, '_>) -> fmt::Result {
        list.fact("correction", Some(self.correction).filter(|count| *count > 0))?;
        let Some(claim) = &self.claim else { return Ok(()) };
        let quoted = serde_json::Value::from(&*claim.name().identity).to_string();
        list.fact(claim.word(), Some(printable_json(&quoted)))
    }

    fn take(&mut self, Fact { word, text }: Fact<'_>) -> Option<()> {
        let claim: fn(ClaimedName) -> Claim = match (word, &self.claim) {
            ("owns", None) => Claim::Owns,
            ("claims", None) => Claim::Claims,
            ("correction", None) if self.correction == 0 => {
                self.correction = facts::number(text).filter(|count| *count > 0)?;
                return Some(());
            }
            _ => return None,
        };
        let identity: String = serde_json::from_str(text).ok()?;
        self.claim = Some(claim(ClaimedName { identity: identity.into(), scope: None }));
        Some(())
    }
}

impl fmt::Display for Head {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = FactList::new(formatter, "");
        self.write(&mut list)?;
        list.end(": ").map(|_| ())
    }
}
