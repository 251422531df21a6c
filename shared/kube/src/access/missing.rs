//! The rights that targets lack, and the rules that grant them.
//!
//! A person who adds a target for their own kind reads these rules on its ConfigMap and copies them into a role. So
//! they are exact: no verb on a resource that does not need it.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::watch;

use crate::access::Right;
use crate::events::NoticeKind;

/// A change of a target's missing rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RightsNews {
    /// Some rights are missing: the rules that grant them, and the role they belong in.
    Missing(String),
    /// All rights are granted, after some were missing.
    Granted,
}

impl RightsNews {
    /// Returns the kind, reason and note of an Event on the target's ConfigMap. Also logs the note.
    #[must_use]
    pub fn words(&self, program: &str, target: &str) -> (NoticeKind, &'static str, String) {
        match self {
            Self::Missing(rules) => {
                let note = format!(
                    "{program} lacks rights that target {target} needs (`kubectl drift rbac` prints its roles): for its \
                     ServiceAccount, {rules}"
                );
                tracing::warn!(target = target, note, "rights are missing");
                (NoticeKind::Warning, "RightsMissing", note)
            }
            Self::Granted => {
                let note = format!("{program} has all rights that target {target} needs");
                tracing::info!(target = target, "all rights of the target are there");
                (NoticeKind::Normal, "RightsGranted", note)
            }
        }
    }
}

/// Follows the missing ones among some rights.
#[derive(Debug)]
pub struct MissingRights {
    rights: BTreeSet<Right>,
    missing: watch::Receiver<BTreeSet<Right>>,
    told: BTreeSet<Right>,
}

impl MissingRights {
    pub(crate) fn new(rights: Vec<Right>, mut missing: watch::Receiver<BTreeSet<Right>>) -> Self {
        // A right that is already missing counts as a change here.
        missing.mark_changed();
        Self { rights: rights.into_iter().collect(), missing, told: BTreeSet::new() }
    }

    /// Waits for the next change.
    pub async fn next(&mut self) -> RightsNews {
        loop {
            if self.missing.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            let lacking: BTreeSet<Right> =
                self.missing.borrow_and_update().intersection(&self.rights).cloned().collect();
            if lacking != self.told {
                self.told = lacking;
                return if self.told.is_empty() { RightsNews::Granted } else { RightsNews::Missing(rules(&self.told)) };
            }
        }
    }
}

/// Returns the rules that grant some rights: `add to a ClusterRole of its ServiceAccount: {apiGroups: …}`.
#[must_use]
pub fn rules(missing: &BTreeSet<Right>) -> String {
    let mut places = BTreeMap::<Vec<String>, Vec<String>>::new();
    let mut namespaces = BTreeMap::<Option<&str>, BTreeSet<&Right>>::new();
    for right in missing {
        namespaces.entry(right.namespace.as_deref()).or_default().insert(right);
    }
    // Namespaces with equal rules are combined.
    for (namespace, rights) in namespaces {
        places.entry(rules_of(&rights)).or_default().extend(namespace.map(str::to_owned));
    }
    let place = |namespaces: &[String]| match namespaces {
        [] => "a ClusterRole".to_owned(),
        [namespace] => format!("a Role in namespace {namespace}"),
        many => format!("Roles in the namespaces {}", many.join(", ")),
    };
    let parts = places.iter().map(|(rules, namespaces)| format!("to {} add {}", place(namespaces), rules.join(", ")));
    parts.collect::<Vec<_>>().join("; ")
}

/// The common parts of one rule's resources: their group, the single object, the verbs.
type InCommon<'r> = (&'r str, Option<&'r str>, Vec<&'r str>);

/// Builds one rule for the resources of a group with equal verbs.
fn rules_of(rights: &BTreeSet<&Right>) -> Vec<String> {
    let mut verbs = BTreeMap::<(&str, String, Option<&str>), Vec<&str>>::new();
    for right in rights {
        verbs.entry((&right.group, right.resource_name(), right.name.as_deref())).or_default().push(right.verb);
    }
    let mut rules = BTreeMap::<InCommon<'_>, Vec<String>>::new();
    for ((group, resource, name), verbs) in verbs {
        rules.entry((group, name, verbs)).or_default().push(resource);
    }
    let rule = |((group, name, verbs), resources): (&InCommon<'_>, &Vec<String>)| {
        let name = name.map(|name| format!(", resourceNames: [{name}]")).unwrap_or_default();
        let (resources, verbs) = (resources.join(", "), verbs.join(", "));
        format!("{{apiGroups: [\"{group}\"], resources: [{resources}]{name}, verbs: [{verbs}]}}")
    };
    rules.iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::rights::{RightsNeeded, right_to_read_lease, right_to_tell};
    use futures::FutureExt as _;

    fn right(verb: &'static str, subresource: &'static str, namespace: Option<&str>) -> Right {
        let (group, resource) = ("demo.example".to_owned(), "proxies".to_owned());
        Right { verb, group, resource, subresource, name: None, namespace: namespace.map(str::to_owned) }
    }

    #[test]
    fn rules_grant_what_is_missing_and_no_more() {
        let everywhere = [
            right("get", "", None),
            right("list", "", None),
            right("watch", "", None),
            right("patch", "status", None),
            right_to_tell(None),
        ];
        assert_eq!(
            rules(&everywhere.into()),
            "to a ClusterRole add {apiGroups: [\"demo.example\"], resources: [proxies], verbs: [get, list, watch]}, \
             {apiGroups: [\"demo.example\"], resources: [proxies/status], verbs: [patch]}, \
             {apiGroups: [\"events.k8s.io\"], resources: [events], verbs: [create]}"
        );
        let some = ["a", "b"].map(|namespace| right("patch", "", Some(namespace)));
        let with_status = [right("patch", "status", Some("a")), right("patch", "status", Some("b"))];
        let all: BTreeSet<Right> = some.into_iter().chain(with_status).chain([right_to_read_lease("c", "l")]).collect();
        assert_eq!(
            rules(&all),
            "to a Role in namespace c add {apiGroups: [\"coordination.k8s.io\"], resources: [leases], resourceNames: [l], \
             verbs: [get]}; to Roles in the namespaces a, b add {apiGroups: [\"demo.example\"], resources: [proxies, \
             proxies/status], verbs: [patch]}"
        );
    }

    #[test]
    fn missing_rights_name_the_command_for_roles() {
        let (kind, reason, note) =
            RightsNews::Missing("to a ClusterRole add x".to_owned()).words("drift-poller", "flags");
        assert_eq!((kind, reason), (NoticeKind::Warning, "RightsMissing"));
        let expected = "drift-poller lacks rights that target flags needs (`kubectl drift rbac` prints its roles): for its \
                        ServiceAccount, to a ClusterRole add x";
        assert_eq!(note, expected);
    }

    #[tokio::test]
    async fn what_a_target_lacks_is_told_once_each_way() {
        let needed = RightsNeeded::default();
        let (_, missing) = needed.to_be_asked();
        let (ours, others) = (right("get", "", None), right("get", "", Some("b")));
        let mut follower = needed.follow_missing(vec![ours.clone()]);
        let mut next = move || follower.next().now_or_never();
        assert_eq!(next(), None, "nothing is known yet");
        missing.send_replace([ours.clone(), others.clone()].into());
        let rule = "to a ClusterRole add {apiGroups: [\"demo.example\"], resources: [proxies], verbs: [get]}";
        assert_eq!(next(), Some(RightsNews::Missing(rule.to_owned())));
        missing.send_replace([ours.clone()].into());
        assert_eq!(next(), None, "another target's rights");
        let mut late = needed.follow_missing(vec![ours]);
        assert!(matches!(late.next().now_or_never(), Some(RightsNews::Missing(_))), "it is known already");
        missing.send_replace([others].into());
        assert_eq!(next(), Some(RightsNews::Granted));
    }
}
