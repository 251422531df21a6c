//! The roles that grant the rights that targets need: for one account, one for the cluster and one for each namespace.
//!
//! Each rule covers one resource and lists the targets that need its verbs, so that a reviewer sees the reason. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::access::Right;

/// The usual order of verbs. Others follow.
const ORDER: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];

/// The rules of one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// The namespace. `None` for the whole cluster.
    pub namespace: Option<String>,
    /// The rules, sorted by group and resource.
    pub rules: Vec<Rule>,
}

/// The verbs on one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The API group. Empty for the core group.
    pub group: String,
    /// The plural resource name, with its subresource: `proxies/status`.
    pub resource: String,
    /// The only object that it covers. `None` for all.
    pub name: Option<String>,
    /// The verbs in their usual order.
    pub verbs: Vec<&'static str>,
    /// The verbs with the targets that need them. Targets with the same needs share an entry.
    pub wanted: Vec<(Vec<&'static str>, Vec<String>)>,
}

/// Targets by the right that they need.
type Wanting = BTreeMap<Right, BTreeSet<String>>;

/// Returns the roles that grant exactly these rights, each given with its target. A right for the whole cluster is not
/// repeated for a namespace.
#[must_use]
pub fn roles(wanted: impl IntoIterator<Item = (Right, String)>) -> Vec<Role> {
    let mut wanting = Wanting::new();
    for (right, target) in wanted {
        wanting.entry(right).or_default().insert(target);
    }
    let mut places = BTreeMap::<Option<String>, Vec<(Right, BTreeSet<String>)>>::new();
    for (right, targets) in widened(wanting) {
        places.entry(right.namespace.clone()).or_default().push((right, targets));
    }
    places.into_iter().map(|(namespace, wanting)| Role { namespace, rules: rules(wanting) }).collect()
}

/// Merges rights in a namespace into the same right for the whole cluster.
fn widened(wanting: Wanting) -> Wanting {
    let everywhere: BTreeSet<Right> = wanting.keys().filter(|right| right.namespace.is_none()).cloned().collect();
    let mut widened = Wanting::new();
    for (right, targets) in wanting {
        let wide = Right { namespace: None, ..right.clone() };
        let right = if everywhere.contains(&wide) { wide } else { right };
        widened.entry(right).or_default().extend(targets);
    }
    widened
}

fn rules(wanting: Vec<(Right, BTreeSet<String>)>) -> Vec<Rule> {
    let mut resources = BTreeMap::<(String, String, Option<String>), BTreeMap<String, Vec<&'static str>>>::new();
    for (right, targets) in wanting {
        let resource = (right.group.clone(), right.resource_name(), right.name.clone());
        let by_target = resources.entry(resource).or_default();
        targets.into_iter().for_each(|target| by_target.entry(target).or_default().push(right.verb));
    }
    let rule = |((group, resource, name), by_target): (_, BTreeMap<String, Vec<&'static str>>)| {
        let verbs = ordered(by_target.values().flatten().copied());
        let mut wanted = BTreeMap::<Vec<&'static str>, Vec<String>>::new();
        for (target, verbs) in by_target {
            wanted.entry(ordered(verbs)).or_default().push(target);
        }
        Rule { group, resource, name, verbs, wanted: wanted.into_iter().collect() }
    };
    resources.into_iter().map(rule).collect()
}

/// Sorts the verbs and removes duplicates.
fn ordered(verbs: impl IntoIterator<Item = &'static str>) -> Vec<&'static str> {
    let place = |verb: &'static str| (ORDER.iter().position(|known| *known == verb).unwrap_or(ORDER.len()), verb);
    let sorted: BTreeSet<_> = verbs.into_iter().map(place).collect();
    sorted.into_iter().map(|(_, verb)| verb).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(verb: &'static str, resource: &str, subresource: &'static str, namespace: Option<&str>) -> Right {
        let namespace = namespace.map(str::to_owned);
        Right { verb, group: "g.example".to_owned(), resource: resource.to_owned(), subresource, name: None, namespace }
    }

    fn shown(wanted: &[(Right, &str)]) -> Vec<String> {
        let roles = roles(wanted.iter().map(|(right, target)| (right.clone(), (*target).to_owned())));
        let of_role = |role: &Role| {
            let place = role.namespace.clone().unwrap_or_else(|| "everywhere".to_owned());
            let rules = role.rules.iter().map(|rule| format!("{} {:?} {:?}", rule.resource, rule.verbs, rule.wanted));
            format!("{place}: {}", rules.collect::<Vec<_>>().join(", "))
        };
        roles.iter().map(of_role).collect()
    }

    #[test]
    fn verbs_of_one_resource_are_one_rule() {
        let wanted = [
            (right("store", "as", "status", None), "t"),
            (right("patch", "as", "status", None), "t"),
            (right("watch", "as", "", None), "t"),
            (right("get", "as", "", None), "t"),
            (right("get", "as", "", None), "u"),
        ];
        assert_eq!(
            shown(&wanted),
            [
                r#"everywhere: as ["get", "watch"] [(["get"], ["u"]), (["get", "watch"], ["t"])], as/status ["patch", "store"] [(["patch", "store"], ["t"])]"#
            ]
        );
    }

    #[test]
    fn what_holds_everywhere_is_not_repeated() {
        let wanted = [
            (right("get", "as", "", Some("n")), "t"),
            (right("patch", "as", "", Some("n")), "t"),
            (right("get", "as", "", None), "u"),
        ];
        let expected = [r#"everywhere: as ["get"] [(["get"], ["t", "u"])]"#, r#"n: as ["patch"] [(["patch"], ["t"])]"#];
        assert_eq!(shown(&wanted), expected);
    }
}
