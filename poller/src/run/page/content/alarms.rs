//! The alarms: what needs a person, one line for each word, with its count, its objects and the next command.

use std::time::Duration;

use drift_api::held_corrections::{Held, Hold, TargetHold};
use drift_api::object::ObjectId;
use drift_api::printable::first_names;
use drift_language::kind_and_group;

use super::query::Link;
use super::{Content, NotActive, TargetLine};
use crate::engine::object::overview::order::words_by_person;
use crate::engine::object::overview::{
    CORRECTION_FAILED, DELETION_STAYS, FLAPPING, ObjectAddress, Shown, UNKNOWN, WordCount,
};

/// The words of whole targets, the most urgent first, each with its cause.
const OF_TARGETS: [(&str, &str); 6] = [
    (Held::BreakerOpen.as_str(), Held::BreakerOpen.cause()),
    (Held::TargetTaken.as_str(), Held::TargetTaken.cause()),
    (Held::TargetFormer.as_str(), Held::TargetFormer.cause()),
    (TargetHold::KindUnusable.as_str(), TargetHold::KindUnusable.cause()),
    (RIGHTS_MISSING, TargetHold::RightsMissing.cause()),
    (Held::NotAttested.as_str(), Held::NotAttested.cause()),
];

const RIGHTS_MISSING: &str = TargetHold::RightsMissing.as_str();
/// The alarm of targets whose polls are late.
const POLLS_LATE: &str = "PollsLate";
/// The intervals by which a poll of such a target is late, and the least time, as in the alert DriftPollsLate.
const LATE_AFTER: (u32, Duration) = (2, Duration::from_secs(15));
/// The alarm of documents that are not active.
const NOT_ACTIVE: &str = "NotActive";
/// The most targets that a line names.
const MOST_NAMES: usize = 3;

/// One line of alarms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::run::page) struct Alarm {
    /// The word, by which a filter finds the objects.
    pub(in crate::run::page) word: &'static str,
    /// The number of objects, targets or documents.
    pub(in crate::run::page) count: usize,
    /// What is counted: `object`, `target`, `document` or `part`.
    pub(in crate::run::page) unit: &'static str,
    /// The targets, and what it means.
    pub(in crate::run::page) text: String,
    /// The link to what is counted.
    pub(in crate::run::page) link: Option<String>,
    /// The next command.
    pub(in crate::run::page) command: String,
}

/// The alarms, in the order of the page.
pub(in crate::run::page) fn alarms(content: &Content) -> Vec<Alarm> {
    let lines: Vec<&TargetLine> = content.chosen().collect();
    let words = words_by_person().filter(|word| OF_TARGETS.iter().all(|(of_target, _)| of_target != word));
    let objects = words.filter_map(|word| of_objects(&lines, word));
    // Without a controller nothing heals, whatever else is wrong.
    let first = of_targets(content, &lines, Hold::NO_CONTROLLER, Hold::NO_CONTROLLER_CAUSE);
    let targets = OF_TARGETS.into_iter().filter_map(|(word, cause)| of_targets(content, &lines, word, cause));
    let unknown = of_objects(&lines, UNKNOWN);
    first
        .into_iter()
        .chain(objects)
        .chain(of_parts(content))
        .chain(targets)
        .chain(of_documents(content))
        .chain(of_late(content, &lines))
        .chain(unknown)
        .collect()
}

/// Returns the cause behind a word of objects: that of a hold, or of a mark.
fn cause_of(word: &str) -> &'static str {
    match word {
        DELETION_STAYS => "the external system does not delete the resource, so that the object stays",
        CORRECTION_FAILED => "the external system refuses the correction",
        FLAPPING => "the verdict keeps changing",
        UNKNOWN => "no poll says if they drifted",
        // Of either program.
        word if word == Held::WriteRefused.as_str() => {
            "the API server refuses a write to the object, and an Event on the object names the cause"
        }
        word => Held::parse(word).map_or("", Held::cause),
    }
}

/// Objects with a word.
fn of_objects(lines: &[&TargetLine], word: &'static str) -> Option<Alarm> {
    let counted = lines.iter().filter_map(|line| Some((*line, line.overview.as_ref()?.words.get(word)?)));
    let found: Vec<(&TargetLine, &WordCount)> = counted.collect();
    let (first, example) = found.first()?;
    let target = Some(first.name.as_str()).filter(|_| found.len() == 1);
    let link = Link::new().target(target);
    Some(Alarm {
        word,
        count: found.iter().map(|(_, count)| count.count).sum(),
        unit: "object",
        text: format!("{}: {}", names(found.iter().map(|(line, _)| line.name.clone())), cause_of(word)),
        link: Some(if word == UNKNOWN { link.shown(Shown::Unknown) } else { link.held(word) }.to_string()),
        command: explain_command(first, &example.first),
    })
}

/// Targets with a word.
fn of_targets(content: &Content, lines: &[&TargetLine], word: &'static str, cause: &str) -> Option<Alarm> {
    let has = |hold: &Hold| hold.word == word;
    let found: Vec<&TargetLine> = lines.iter().filter(|line| line.holds().any(has)).copied().collect();
    let first = found.first()?;
    let target = Some(first.name.as_str()).filter(|_| found.len() == 1);
    let example = first.overview.as_ref().and_then(|overview| overview.words.get(word));
    let command = match (word, example) {
        (Hold::NO_CONTROLLER, _) => content.site.controller_command.clone(),
        (RIGHTS_MISSING, _) => content.site.command("rbac --from-cluster"),
        (_, Some(example)) => explain_command(first, &example.first),
        (_, None) => content.site.command("check --from-cluster"),
    };
    let link = Link::new().target(target);
    Some(Alarm {
        word,
        count: found.len(),
        unit: "target",
        text: format!("{}: {cause}", names(found.iter().map(|line| with_count(line, word)))),
        link: Some(if example.is_some() { link.held(word) } else { link }.to_string()),
        command,
    })
}

/// Parts of this program that are not ready, such as its rights. A standby is not asked.
fn of_parts(content: &Content) -> impl Iterator<Item = Alarm> {
    let of_part = |(part, trouble): &(String, String)| {
        let is_rights = part == "rights";
        Alarm {
            word: if is_rights { RIGHTS_MISSING } else { "NotReady" },
            count: 1,
            unit: "part",
            text: format!("{part} of the poller: {trouble}"),
            link: Some("readyz".to_owned()),
            command: content.site.command(if is_rights { "rbac --from-cluster" } else { "check --from-cluster" }),
        }
    };
    content.unready.iter().filter(|_| content.leader_elsewhere.is_none()).map(of_part).collect::<Vec<_>>().into_iter()
}

/// Targets whose polls are late.
fn of_late(content: &Content, lines: &[&TargetLine]) -> Option<Alarm> {
    let (intervals, least) = LATE_AFTER;
    let limit = |line: &TargetLine| line.interval.saturating_mul(intervals).max(least);
    let is_late = |line: &&&TargetLine| line.overview.as_ref().is_some_and(|found| found.lateness > limit(line));
    let found: Vec<&TargetLine> = lines.iter().filter(is_late).copied().collect();
    let target = Some(found.first()?.name.as_str()).filter(|_| found.len() == 1);
    let cause = "polls are late by more than two intervals: the limits are too low, or the external system is slow";
    Some(Alarm {
        word: POLLS_LATE,
        count: found.len(),
        unit: "target",
        text: format!("{}: {cause}", names(found.iter().map(|line| line.name.clone()))),
        link: Some(Link::new().target(target).to_string()),
        command: content.site.command("check --from-cluster"),
    })
}

/// Documents that are not active.
fn of_documents(content: &Content) -> Option<Alarm> {
    let NotActive { count, sentences } = &content.not_active;
    let more = if sentences.len() > 1 { format!(", and {} more below", sentences.len() - 1) } else { String::new() };
    Some(Alarm {
        word: NOT_ACTIVE,
        count: *count,
        unit: "document",
        text: format!("{}{more}", sentences.first()?),
        link: None,
        command: content.site.command("check --from-cluster"),
    })
}

/// The name of a target with the number of its objects that have a word.
fn with_count(line: &TargetLine, word: &str) -> String {
    match line.overview.as_ref().and_then(|overview| overview.words.get(word)) {
        Some(found) if found.count == 1 => format!("{} (1 object)", line.name),
        Some(found) => format!("{} ({} objects)", line.name, found.count),
        None => line.name.clone(),
    }
}

/// The names of targets, the first few of them.
fn names(names: impl Iterator<Item = String>) -> String {
    first_names(&names.collect::<Vec<_>>(), MOST_NAMES)
}

/// Returns the command that explains an object of a target.
pub(in crate::run::page) fn explain_command(line: &TargetLine, object: &ObjectId) -> String {
    let kind = kind_and_group(&line.kind, &line.api_version).to_lowercase();
    format!("kubectl drift explain {}", object.as_arguments(&kind))
}

/// Returns the address of an object of a target.
pub(in crate::run::page) fn address(line: &TargetLine, object: &ObjectId) -> ObjectAddress {
    ObjectAddress { kind: kind_and_group(&line.kind, &line.api_version), name: object.to_string() }
}
