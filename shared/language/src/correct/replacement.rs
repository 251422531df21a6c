//! Whether a target can do what its rules ask for: `change: replace` needs a way to put another resource in place.
//!
//! This file must not know how a difference is found.

use super::Correct;
use crate::yaml::reader::Reader;
use crate::yaml::{Content, Node};

/// Refuses rules that nothing could follow, and a replacement that no rule asks for. Where nothing corrects at all the rules
/// ask for nothing.
pub(crate) fn check_replacement(reader: &mut Reader<'_>, spec: &Node, correct: &Correct) {
    let Some(section) = correct.section() else { return };
    let (kind, own) = match section.replaces() {
        Ok(own) => (section.key(), own),
        Err(why) => return refuse(reader, spec, why),
    };
    let rules = rules_that_replace(spec);
    let actions = correct.actions();
    if !actions.replace {
        let missing = match (actions.create, actions.delete) {
            (true, _) => "delete",
            (false, true) => "create",
            (false, false) => "replace",
        };
        for (position, rule) in &rules {
            let message = format!(
                "compare.rules[{position}].change: what cannot be changed is deleted and created again, or replaced by steps \
                 of its own: add {missing} to correct.{kind}"
            );
            reader.refuse::<()>(rule.at, message);
        }
    }
    let steps = spec.get("correct").and_then(|correct| correct.get(kind)?.get("replace"));
    if let Some(steps) = steps.filter(|_| own && rules.is_empty()) {
        let message = format!("correct.{kind}.replace: no rule of compare says change: replace, so it would never run");
        reader.refuse::<()>(steps.at, message);
    }
}

fn refuse(reader: &mut Reader<'_>, spec: &Node, why: &str) {
    for (position, rule) in rules_that_replace(spec) {
        reader.refuse::<()>(rule.at, format!("compare.rules[{position}].change: {why}"));
    }
}

/// The values of `change` in the rules, each with the position of its rule.
fn rules_that_replace(spec: &Node) -> Vec<(usize, &Node)> {
    let rules = spec.get("compare").and_then(|compare| compare.get("rules"));
    let Some(Content::List(rules)) = rules.map(|rules| &rules.content) else { return Vec::new() };
    rules.iter().enumerate().filter_map(|(position, rule)| Some((position, rule.get("change")?))).collect()
}
