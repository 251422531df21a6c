//! Explains keys of one section that are written in another, where they have no meaning, and suggests a fix.

use crate::json_schema::RECORDED;

/// Maximum number of sections to suggest: the four actions of a correction share their keys.
const MOST_SECTIONS: usize = 4;

/// The message about `idempotent` in a step that sends no key.
const NO_KEY: &str = "only a step of correct.http sends an Idempotency-Key; leave it out";

/// Returns the sections that a key belongs in, according to the whole language: "`mode` belongs in `correct`, not in
/// `compare`". `None` if no section has the key, too many are equally near, or the nearest has the same name as this one.
pub(crate) fn where_it_belongs(place: &str, key: &str) -> Option<String> {
    let sections = RECORDED.sections_with(key);
    let mut sections: Vec<_> = sections.map(|section| (distance(place, section), section)).collect();
    let nearest = sections.iter().map(|(distance, _)| *distance).min()?;
    sections.retain(|(distance, _)| *distance == nearest);
    // A section of the same name, as another `metadata`, describes something else.
    let name = steps(place).last().copied();
    if sections.len() > MOST_SECTIONS
        || name.is_some() && sections.iter().any(|(_, other)| steps(other).last().copied() == name)
    {
        return None;
    }
    let at = |section: &str| if section.is_empty() { "at the top level".to_owned() } else { format!("in `{section}`") };
    let homes: Vec<_> = sections.iter().map(|(_, section)| at(section)).collect();
    Some(format!("`{key}` belongs {}, not {}", homes.join(" or "), at(place)))
}

/// Returns how far a section is from a place: the number of steps up to their common section and down again.
fn distance(place: &str, section: &str) -> usize {
    let (from, to) = (steps(place), steps(section));
    let common = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
    from.len() + to.len() - 2 * common
}

/// Returns the steps of a place without the numbers of items. Places below `spec` count from there.
fn steps(place: &str) -> Vec<&str> {
    let steps = place.split('.').filter(|step| !step.is_empty() && *step != "spec");
    steps.filter_map(|step| step.split('[').next()).collect()
}

/// Returns the reason why this key has no meaning at this place, and the fix. `None` for an unknown key.
pub(crate) fn why_misplaced(place: &str, key: &str) -> Option<&'static str> {
    let is_within =
        |section: &str| place.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let is_step_of =
        |action: &str| place.strip_prefix(action).is_some_and(|rest| rest.starts_with('[') && rest.ends_with(']'));
    match key {
        "timeout" if is_within("correct.job") => Some("a Job has a deadline of its own; write activeDeadlineSeconds"),
        "timeout" if place == "correct.http" || place == "correct.postgres" => {
            Some("each step has its own; write it in a step")
        }
        "timeout" if place == "correct.kubernetes" || place == "correct.nudge" => {
            Some("a request to the API server has a fixed deadline; leave it out")
        }
        "timeout" if is_within("read.http") || place == "read.postgres" => {
            Some("one deadline holds for the whole poll; write spec.timeout")
        }
        "idempotent"
            if ["correct.postgres", "correct.job", "correct.kubernetes", "correct.nudge"]
                .iter()
                .any(|section| place.starts_with(section)) =>
        {
            Some(NO_KEY)
        }
        "idempotent"
            if ["update", "delete", "replace"].iter().any(|action| is_step_of(&format!("correct.http.{action}"))) =>
        {
            Some("only a step of create says that; leave it out")
        }
        _ => None,
    }
}
