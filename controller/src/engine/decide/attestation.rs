//! Whether the poller vouches for a target's verdicts now.
//!
//! A verdict that stands on an object may be hours old. The poller's Lease says that a poller lives, and an
//! annotation on it says for which targets, and for which text of them, every verdict that stands is its own word.
//! Freshness is measured by our own clock since the record last changed, so no two clocks are compared.
//! This file must not know how the Lease is read.

use std::collections::BTreeMap;
use std::time::Duration;

use drift_api::object::ObjectId;
use drift_api::timing::moment::Moment;
use drift_api::voucher::Voucher;

/// A Lease whose record changed within this time is fresh: three times the 12 s that it is held for, and a little
/// for a slow API server.
pub const FRESH_FOR: Duration = Duration::from_secs(40);

/// What the poller's Lease says now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vouching {
    /// Whether somebody holds it.
    pub held: bool,
    /// When its record last changed under our eyes; `None` until a change was seen.
    pub changed_at: Option<Moment>,
    /// Target name to the poller's word for it.
    pub in_force: BTreeMap<String, Voucher>,
}

impl Vouching {
    /// Reads the annotation: a JSON object of target name to [`Voucher`]. What is no such thing vouches for nothing, a
    /// single word for nothing of its target.
    #[must_use]
    pub fn parse_in_force(annotation: Option<&str>) -> BTreeMap<String, Voucher> {
        let words: Option<BTreeMap<String, String>> = annotation.and_then(|text| serde_json::from_str(text).ok());
        words
            .unwrap_or_default()
            .into_iter()
            .filter_map(|(target, word)| Some((target, Voucher::parse(&word)?)))
            .collect()
    }

    /// Whether a poller lives, as far as we can tell.
    #[must_use]
    pub fn is_fresh(&self, now: Moment) -> bool {
        self.held && self.changed_at.is_some_and(|changed| now.saturating_since(changed) <= FRESH_FOR)
    }

    /// The poller's word for the target with this text; `None` where it does not vouch for it.
    #[must_use]
    pub fn word_for(&self, target: &str, verdict_hash: &str, now: Moment) -> Option<&Voucher> {
        self.in_force.get(target).filter(|voucher| self.is_fresh(now) && voucher.hash == verdict_hash)
    }

    /// Whether the poller vouches for the verdict on this object of the target with this text.
    #[must_use]
    pub fn vouches_for(&self, object: &ObjectId, (target, verdict_hash): (&str, &str), now: Moment) -> bool {
        self.word_for(target, verdict_hash, now).is_some_and(|voucher| !voucher.except.has(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    fn vouching(annotation: Option<&str>) -> Vouching {
        Vouching { held: true, changed_at: Some(at(3)), in_force: Vouching::parse_in_force(annotation) }
    }

    fn object(namespace: &str, uid: &str) -> ObjectId {
        ObjectId { namespace: Some(namespace.into()), name: "p".into(), uid: uid.into() }
    }

    const ROLES: Option<&str> = Some(r#"{"roles":"abc except u1 u2"}"#);

    fn vouches(vouching: &Vouching, target: &str, hash: &str, now: Moment) -> bool {
        vouching.vouches_for(&object("a", "u0"), (target, hash), now)
    }

    #[test]
    fn an_excepted_object_alone_is_not_vouched_for() {
        let vouches = |uid: &str| vouching(ROLES).vouches_for(&object("a", uid), ("roles", "abc"), at(3));
        assert!(vouches("u0") && !vouches("u1") && !vouches("u2"));
    }

    #[test]
    fn an_excepted_namespace_alone_is_not_vouched_for() {
        let word = Some(r#"{"roles":"abc except-namespaces a,b except u1"}"#);
        let vouches =
            |namespace: &str, uid: &str| vouching(word).vouches_for(&object(namespace, uid), ("roles", "abc"), at(3));
        assert!(vouches("c", "u0") && !vouches("c", "u1") && !vouches("a", "u0") && !vouches("b", "u0"));
    }

    #[test]
    fn a_word_of_unknown_shape_vouches_for_nothing() {
        for word in ["abc except-kinds Pod", "abc except u1 except-kinds Pod", "abc except-namespaces b c", "abc x"] {
            let annotation = serde_json::json!({"roles": word, "others": "abc"}).to_string();
            let vouching = vouching(Some(&annotation));
            assert!(!vouches(&vouching, "roles", "abc", at(3)), "{word}");
            assert!(vouches(&vouching, "others", "abc", at(3)), "{word}");
        }
    }

    #[test]
    fn nothing_is_vouched_for_until_the_record_changes() {
        assert!(vouches(&vouching(ROLES), "roles", "abc", at(3)));
        assert!(!vouches(&Vouching { changed_at: None, ..vouching(ROLES) }, "roles", "abc", at(3)));
        assert!(!vouches(&Vouching::default(), "roles", "abc", at(0)));
    }

    #[test]
    fn a_record_that_stopped_changing_is_stale_after_forty_seconds() {
        assert!(vouches(&vouching(ROLES), "roles", "abc", at(43)));
        assert!(!vouches(&vouching(ROLES), "roles", "abc", at(44)));
    }

    #[test]
    fn a_released_lease_vouches_for_nothing() {
        assert!(!vouches(&Vouching { held: false, ..vouching(ROLES) }, "roles", "abc", at(3)));
    }

    #[test]
    fn only_the_same_text_is_vouched_for() {
        assert!(!vouches(&vouching(ROLES), "roles", "other", at(3)));
        assert!(!vouches(&vouching(ROLES), "proxies", "abc", at(3)));
        for broken in [None, Some(""), Some("[]"), Some(r#"{"roles":1}"#)] {
            assert!(!vouches(&vouching(broken), "roles", "abc", at(3)), "{broken:?}");
        }
    }
}
