//! The targets of a kind that do not select an object, the nearest first: by the number of requirements that the object
//! does not meet, then those that ask for a value of its labels under another key.

use std::collections::BTreeSet;
use std::fmt;

use drift_api::printable::printable;
use drift_language::ObjectSelection;
use serde_json::Value;

/// Targets that are shown. The nearest one is nearly always the meant one.
const MOST_TARGETS: usize = 5;

/// The targets that do not select an object.
#[derive(Debug, Default)]
pub(crate) struct Unselecting {
    /// The labels of the object, as `key=value`.
    labels: Vec<String>,
    targets: Vec<Unmet>,
}

/// A target, and what the object lacks for it.
#[derive(Debug)]
struct Unmet {
    target: String,
    requirements: Vec<String>,
    /// True if the value of a required label is that of another label of the object.
    has_value: bool,
}

impl Unselecting {
    /// Adds a target that does not select the object with this namespace and these labels.
    pub(crate) fn add(&mut self, target: &str, objects: &ObjectSelection, place: (Option<&str>, Option<&Value>)) {
        let (namespace, labels) = place;
        let fields = labels.and_then(Value::as_object).into_iter().flatten();
        let fields = fields.map(|(key, value)| (key, value.as_str().unwrap_or_default()));
        self.labels = fields.clone().map(|(key, value)| format!("{key}={value}")).collect();
        let values: BTreeSet<&str> = fields.map(|(_, value)| value).filter(|value| !value.is_empty()).collect();
        let is_outside = namespace.is_some_and(|namespace| {
            !objects.namespaces.is_empty() && objects.namespaces.iter().all(|one| one != namespace)
        });
        let namespaces = is_outside.then(|| format!("namespace {}", objects.namespaces.join(" or ")));
        let unmet: Vec<String> = objects.label_selector.unmet(labels).collect();
        let wanted =
            |one: &str| Some(one.split_once('=')?.1.trim_start_matches('=').to_owned()).filter(|_| !one.contains("!="));
        let has_value = unmet.iter().filter_map(|one| wanted(one)).any(|value| values.contains(&*value));
        let requirements = namespaces.into_iter().chain(unmet.iter().map(|one| format!("label {one}"))).collect();
        self.targets.push(Unmet { target: target.to_owned(), requirements, has_value });
        // A target without a known text may select it by labels that are not known.
        self.targets.sort_by_key(|unmet| {
            let count = if unmet.requirements.is_empty() { usize::MAX } else { unmet.requirements.len() };
            (count, !unmet.has_value)
        });
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}

impl fmt::Display for Unselecting {
    /// Continues the sentence `no target selects KIND/NAME`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.labels {
            [] => formatter.write_str(", which has no labels:")?,
            labels => write!(formatter, ", which has the labels {}:", printable(&labels.join(",")))?,
        }
        for Unmet { target, requirements, .. } in self.targets.iter().take(MOST_TARGETS) {
            let needs =
                if requirements.is_empty() { "labels that are not known".to_owned() } else { requirements.join(", ") };
            write!(formatter, "\n  target {target} needs {needs}")?;
        }
        match self.targets.len().saturating_sub(MOST_TARGETS) {
            0 => Ok(()),
            more => write!(formatter, "\n  and {more} more targets of the kind need more"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_language::LabelSelector;
    use drift_language::fixtures::proxies::{TEXT, target};
    use serde_json::json;

    fn said(targets: &[(&str, &[&str], &str)], labels: &Value) -> String {
        let mut unselecting = Unselecting::default();
        for (name, namespaces, selector) in targets {
            let namespaces = namespaces.iter().map(|name| (*name).to_owned()).collect();
            let label_selector = LabelSelector::parse(selector).unwrap();
            let objects = ObjectSelection { namespaces, label_selector, ..target(TEXT).objects.clone() };
            unselecting.add(name, &objects, (Some("team-a"), Some(labels)));
        }
        unselecting.to_string()
    }

    #[test]
    fn the_nearest_target_comes_first() {
        let labels = json!({"app": "shop", "tier": "dev"});
        let targets: [(&str, &[&str], &str); 3] =
            [("far", &["team-b", "team-c"], "tier=prod"), ("near", &[], "app=shop,tier=prod"), ("lost", &[], "")];
        let expected = ", which has the labels app=shop,tier=dev:\n  target near needs label tier=prod\n  target far needs \
                        namespace team-b or team-c, label tier=prod\n  target lost needs labels that are not known";
        assert_eq!(said(&targets, &labels), expected);
        let renamed: [(&str, &[&str], &str); 2] = [("billing", &[], "sys=billing"), ("shop", &[], "sys=shop")];
        let first = |targets: &[(&str, &[&str], &str)]| said(targets, &labels).lines().nth(1).unwrap().to_owned();
        assert_eq!(first(&renamed), "  target shop needs label sys=shop");
        let excluded: [(&str, &[&str], &str); 2] = [("other", &[], "sys=other"), ("not", &[], "tier!=dev")];
        assert_eq!(first(&excluded), "  target other needs label sys=other");
        let many = [("t", &[][..], "a=b"); 20];
        let text = said(&many, &json!({}));
        assert!(
            text.starts_with(", which has no labels:\n") && text.ends_with("and 15 more targets of the kind need more"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 7);
    }
}
