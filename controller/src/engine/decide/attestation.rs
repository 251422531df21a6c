//! The poller's attestation of a target's verdicts.
//!
//! A verdict on an object may be hours old. The poller's Lease shows that a poller lives. An annotation on it lists the
//! targets, with the version of each, for which every verdict is current. Freshness is measured with our own clock
//! since the record last changed, so no two clocks are compared.

use std::collections::BTreeMap;
use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::object::ObjectId;
use drift_api::timing::moment::Moment;
use drift_language::Target;

/// A Lease is fresh if its record changed within this time. It is three times the lease duration of 12 s, plus a margin
/// for a slow API server.
pub const FRESH_FOR: Duration = Duration::from_secs(40);

/// Current state of the poller's Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attestations {
    /// True if the Lease has a holder.
    pub held: bool,
    /// Time at which we saw the record change last; `None` before the first change.
    pub changed_at: Option<Moment>,
    /// Attestations by target name.
    pub by_target: BTreeMap<String, Attestation>,
    /// Hashes of the whole documents that the poller uses, by target name. A verdict is the same for two texts that
    /// differ in `correct` alone, and only one of them may be corrected by.
    pub texts: BTreeMap<String, String>,
}

/// The text by which an object is decided on.
#[derive(Clone, Copy, Debug)]
pub struct DecidingText<'t> {
    /// Name of the target.
    pub target: &'t str,
    /// Hash of everything that a verdict depends on.
    pub verdict_hash: &'t str,
    /// Hash of the whole document.
    pub document_hash: &'t str,
}

impl<'t> From<&'t Target> for DecidingText<'t> {
    fn from(target: &'t Target) -> Self {
        let Target { name, verdict_hash, document_hash, .. } = target;
        Self { target: name, verdict_hash, document_hash }
    }
}

impl Attestations {
    /// Parses the annotation with the texts: a JSON object from target name to hash.
    #[must_use]
    pub fn parse_texts(annotation: Option<&str>) -> BTreeMap<String, String> {
        annotation.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// Returns true if a poller appears to be alive.
    #[must_use]
    pub fn is_fresh(&self, now: Moment) -> bool {
        self.held && self.changed_at.is_some_and(|changed| now.saturating_since(changed) <= FRESH_FOR)
    }

    /// Returns the attestation of exactly this text; `None` if the poller does not attest it.
    #[must_use]
    pub fn word_for(&self, text: DecidingText<'_>, now: Moment) -> Option<&Attestation> {
        let DecidingText { target, verdict_hash, document_hash } = text;
        let is_of_text = self.texts.get(target).is_some_and(|hash| hash == document_hash);
        let is_current = is_of_text && self.is_fresh(now);
        self.by_target.get(target).filter(|attestation| is_current && attestation.hash == verdict_hash)
    }

    /// Returns true if the poller attests the verdict on this object for this version of the target.
    #[must_use]
    pub fn attests_to(&self, object: &ObjectId, text: DecidingText<'_>, now: Moment) -> bool {
        self.word_for(text, now).is_some_and(|attestation| !attestation.except.has(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_api::attestation::parse_annotation;

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    fn attestations(annotation: Option<&str>) -> Attestations {
        let by_target = annotation.map(parse_annotation).unwrap_or_default();
        let texts = by_target.keys().map(|target| (target.clone(), "whole".to_owned())).collect();
        Attestations { held: true, changed_at: Some(at(3)), by_target, texts }
    }

    fn object(namespace: &str, uid: &str) -> ObjectId {
        ObjectId { namespace: Some(namespace.into()), name: "p".into(), uid: uid.into() }
    }

    const ROLES: Option<&str> = Some(r#"{"roles":"abc except u1 u2"}"#);

    fn attests(attestations: &Attestations, target: &str, hash: &str, now: Moment) -> bool {
        attestations.attests_to(&object("a", "u0"), text(target, hash), now)
    }

    fn text<'t>(target: &'t str, verdict_hash: &'t str) -> DecidingText<'t> {
        DecidingText { target, verdict_hash, document_hash: "whole" }
    }

    #[test]
    fn a_verdict_by_another_whole_text_is_not_attested() {
        let mut attestations = attestations(ROLES);
        assert!(attests(&attestations, "roles", "abc", at(3)));
        for annotation in [Some(r#"{"roles":"other"}"#), Some(r#"{"others":"whole"}"#), Some("[]"), None] {
            attestations.texts = Attestations::parse_texts(annotation);
            assert!(!attests(&attestations, "roles", "abc", at(3)), "{annotation:?}");
        }
    }

    #[test]
    fn an_excepted_object_alone_is_not_attested() {
        let attests = |uid: &str| attestations(ROLES).attests_to(&object("a", uid), text("roles", "abc"), at(3));
        assert!(attests("u0") && !attests("u1") && !attests("u2"));
    }

    #[test]
    fn an_excepted_namespace_alone_is_not_attested() {
        let word = Some(r#"{"roles":"abc except-namespaces a,b except u1"}"#);
        let attests = |namespace: &str, uid: &str| {
            attestations(word).attests_to(&object(namespace, uid), text("roles", "abc"), at(3))
        };
        assert!(attests("c", "u0") && !attests("c", "u1") && !attests("a", "u0") && !attests("b", "u0"));
    }

    #[test]
    fn a_word_of_unknown_shape_attests_nothing() {
        for word in ["abc except-kinds Pod", "abc except u1 except-kinds Pod", "abc except-namespaces b c", "abc x"] {
            let annotation = serde_json::json!({"roles": word, "others": "abc"}).to_string();
            let attestations = attestations(Some(&annotation));
            assert!(!attests(&attestations, "roles", "abc", at(3)), "{word}");
            assert!(attests(&attestations, "others", "abc", at(3)), "{word}");
        }
    }

    #[test]
    fn nothing_is_attested_for_until_the_record_changes() {
        assert!(attests(&attestations(ROLES), "roles", "abc", at(3)));
        assert!(!attests(&Attestations { changed_at: None, ..attestations(ROLES) }, "roles", "abc", at(3)));
        assert!(!attests(&Attestations::default(), "roles", "abc", at(0)));
    }

    #[test]
    fn a_record_that_stopped_changing_is_stale_after_forty_seconds() {
        assert!(attests(&attestations(ROLES), "roles", "abc", at(43)));
        assert!(!attests(&attestations(ROLES), "roles", "abc", at(44)));
    }

    #[test]
    fn a_released_lease_attests_nothing() {
        assert!(!attests(&Attestations { held: false, ..attestations(ROLES) }, "roles", "abc", at(3)));
    }

    #[test]
    fn only_the_same_text_is_attested() {
        assert!(!attests(&attestations(ROLES), "roles", "other", at(3)));
        assert!(!attests(&attestations(ROLES), "proxies", "abc", at(3)));
        for broken in [None, Some(""), Some("[]"), Some(r#"{"roles":1}"#)] {
            assert!(!attests(&attestations(broken), "roles", "abc", at(3)), "{broken:?}");
        }
    }
}
