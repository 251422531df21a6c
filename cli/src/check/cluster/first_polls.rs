//! The first polls of a target, by the verdicts on its objects: has the poller read the external system for one of
//! them?
//!
//! Pure.

use std::collections::BTreeMap;

use drift_api::condition::{Condition, ObservedReason};
use drift_api::object::{LeanObject, ObjectId};
use drift_api::printable::printable;
use drift_api::unwritten::Doubt;
use drift_language::Target;
use drift_poller::engine::object::deletion::verdict_of;

/// The verdicts on the objects of one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FirstPolls {
    /// The objects that the target selects, without those that are being deleted.
    pub(super) objects: u64,
    /// Objects whose external resource was read.
    pub(super) read: u64,
    /// Those of them whose external resource is absent.
    absent: Group,
    /// Objects that the target is not to poll, by the reason: it, or the object's spec, says so.
    unwanted: BTreeMap<String, u64>,
    /// The other objects, by the reason of their verdict.
    failing: BTreeMap<String, Group>,
}

/// Objects with one reason.
#[derive(Clone, Debug, Default, PartialEq)]
struct Group {
    count: u64,
    /// The first of them, and its message.
    first: Option<(ObjectId, String)>,
}

/// The conclusion from the verdicts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Conclusion {
    /// Nothing speaks against the target.
    Good,
    /// The read works, and finds nothing. That is right in an empty external system only.
    AllAbsent(String),
    /// No object was read. Later verdicts may differ.
    Unread(String),
}

impl Group {
    fn add(&mut self, object: &LeanObject, message: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| (object.id.clone(), printable(message)));
    }

    /// The first object with its message, and the command that shows more.
    fn sentence(&self, target: &Target) -> String {
        let Some((object, message)) = &self.first else { return String::new() };
        let arguments = object.as_arguments(&target.objects.kind_word());
        format!("{object}: {message}; `kubectl drift explain {arguments}` shows the request and the cause")
    }
}

impl FirstPolls {
    /// Adds an object that the target selects. `doubt` is what the poller's Lease says against its verdict.
    pub(super) fn add(&mut self, object: &LeanObject, doubt: Option<Doubt>) {
        if object.deleting {
            return;
        }
        self.objects += 1;
        let is_current =
            |verdict: &Condition| object.generation.is_none() || verdict.observed_generation == object.generation;
        let verdict = verdict_of(object).filter(|verdict| is_current(verdict));
        match (doubt, verdict) {
            (Some(Doubt::Unwritten(word)), _) => self.fail(word.as_str(), object, word.sentence()),
            (Some(Doubt::Unattested), _) | (None, None) => {
                self.fail(ObservedReason::NotYetPolled.as_str(), object, "no verdict on its present spec");
            }
            (None, Some(verdict)) => match ObservedReason::parse(&verdict.reason) {
                Some(reason @ (ObservedReason::Suspended | ObservedReason::NotAllowed)) => {
                    *self.unwanted.entry(reason.to_string()).or_default() += 1;
                }
                Some(reason) if reason.is_presence() => self.read += 1,
                Some(reason) if reason.is_absence() => {
                    self.read += 1;
                    self.absent.add(object, verdict.message.sentence());
                }
                _ => self.fail(&verdict.reason, object, verdict.message.sentence()),
            },
        }
    }

    fn fail(&mut self, reason: &str, object: &LeanObject, message: &str) {
        self.failing.entry(reason.to_owned()).or_default().add(object, message);
    }

    /// Returns the numbers of the objects that were not read, by the reasons of their verdicts.
    pub(super) fn unread(&self) -> BTreeMap<String, u64> {
        let failing = self.failing.iter().map(|(reason, group)| (reason.clone(), group.count));
        self.unwanted.clone().into_iter().chain(failing).collect()
    }

    /// Concludes from the verdicts of all objects.
    pub(super) fn conclude(&self, target: &Target) -> Conclusion {
        let name = &target.name;
        if self.read > 0 {
            return match self.absent.count == self.read {
                true => Conclusion::AllAbsent(format!(
                    "target {name}: none of its {} read objects exists in the external system; if they should exist, the address of the read is wrong: {}",
                    self.read,
                    self.absent.sentence(target)
                )),
                false => Conclusion::Good,
            };
        }
        let worst = self.failing.iter().max_by_key(|(_, group)| group.count);
        worst.map_or(Conclusion::Good, |(reason, group)| {
            Conclusion::Unread(format!(
                "target {name}: no object has been read, {} of {} are {reason}: {}",
                group.count,
                self.objects,
                group.sentence(target)
            ))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::object::field_paths::FieldPaths;
    use drift_api::unwritten::UnwrittenWord;
    use drift_language::{Catalogue, CreationTimes, Refused, Texts};
    use serde_json::json;
    use std::sync::Arc;

    fn target() -> Arc<Target> {
        const TARGETS: &str = include_str!("../../../../manifests/components/proxies/targets.yaml");
        let manifest = drift_language::manifests_of(TARGETS).remove(0);
        let data = manifest["data"].as_object().unwrap().iter();
        let data = data.map(|(key, text)| (key.clone(), text.as_str().unwrap().to_owned())).collect();
        let texts = Texts::from([("targets".to_owned(), data)]);
        let catalogue = Catalogue::default().update_without(&texts, &CreationTimes::new(), &Refused::new());
        catalogue.targets().values().next().unwrap().clone()
    }

    fn object(name: &str, reason: &str, observed_generation: i64) -> LeanObject {
        let status = ObservedReason::parse(reason).map_or("Unknown", |reason| reason.status().as_str());
        let condition = json!({"type": "driftObserved", "status": status, "reason": reason, "message": "m",
            "observedGeneration": observed_generation, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let conditions = if reason.is_empty() { json!([]) } else { json!([condition]) };
        let whole = json!({"metadata": {"name": name, "namespace": "n", "uid": name, "generation": 2},
            "status": {"conditions": conditions}});
        LeanObject::prune(&whole, &FieldPaths::default())
    }

    fn conclusion(objects: &[(LeanObject, Option<Doubt>)]) -> String {
        let mut polls = FirstPolls::default();
        objects.iter().for_each(|(object, doubt)| polls.add(object, *doubt));
        match polls.conclude(&target()) {
            Conclusion::Good => "good".to_owned(),
            Conclusion::AllAbsent(said) => format!("absent: {said}"),
            Conclusion::Unread(said) => format!("unread: {said}"),
        }
    }

    #[test]
    fn one_object_that_was_read_proves_the_target() {
        for (reasons, expected) in [
            (&[][..], "good"),
            (&["InSync"][..], "good"),
            (&["Unauthorized", "FieldsDiffer"], "good"),
            (&["NotCreated", "NotUpdated"], "good"),
            (&["Settling", "RuleError"], "good"),
            (&["Suspended", "NotAllowed"], "good"),
            (&["NotCreated"], "absent: target proxies: none of its 1 read objects exists in the external system; "),
            (&["Unauthorized"], "unread: target proxies: no object has been read, 1 of 1 are Unauthorized: n/0: m; "),
            (
                &["RuleError", "Unauthorized", "RuleError", "Suspended"],
                "unread: target proxies: no object has been read, 2 of 4 are RuleError: ",
            ),
            (&["AllMissing", "AllMissing"], "unread: target proxies: no object has been read, 2 of 2 are AllMissing: "),
            (&[""], "unread: target proxies: no object has been read, 1 of 1 are NotYetPolled: "),
        ] {
            let objects: Vec<_> = reasons
                .iter()
                .enumerate()
                .map(|(number, reason)| (object(&number.to_string(), reason, 2), None))
                .collect();
            let said = conclusion(&objects);
            assert!(said.starts_with(expected), "{reasons:?}: {said}");
        }
        let said = conclusion(&[(object("web", "Unauthorized", 2), None)]);
        assert!(said.contains("`kubectl drift explain proxy.demo.driftpoller.dev/web -n n` shows"), "{said}");
    }

    #[test]
    fn a_verdict_that_is_not_current_proves_nothing() {
        let unwritten = Doubt::Unwritten(UnwrittenWord::RightsMissing);
        for (object, doubt, expected) in [
            (object("old", "InSync", 1), None, "NotYetPolled"),
            (object("doubted", "InSync", 2), Some(Doubt::Unattested), "NotYetPolled"),
            (object("unwritten", "InSync", 2), Some(unwritten), "RightsMissing"),
        ] {
            let said = conclusion(&[(object, doubt)]);
            assert!(said.contains(&format!("1 of 1 are {expected}: ")), "{said}");
        }
    }
}
