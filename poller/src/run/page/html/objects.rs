//! The objects: a card for each drifted one, a line for equal Unknowns, and a table of the rest.

use std::collections::HashMap;

use drift_api::condition::CorrectedReason;
use maud::{Markup, html};

use super::words::{age, name, span, value};
use crate::engine::object::deletion::{DELETING, NO_VERDICT};
use crate::engine::object::overview::{FieldChanges, ObjectRow, Rank, RowCondition};
use crate::run::page::content::{Content, ShownObject};

/// The sections of objects, with the section of targets after those that need attention.
pub(super) fn objects(content: &Content, targets: &Markup) -> Markup {
    let mut drifted = Vec::new();
    let mut unknown = Vec::new();
    let mut deleting = Vec::new();
    let mut in_sync = Vec::new();
    for object in content.objects() {
        match object.row.rank() {
            Rank::Drifted => drifted.push(object),
            Rank::Unknown => unknown.push(object),
            Rank::Deleting => deleting.push(object),
            Rank::InSync => in_sync.push(object),
        }
    }
    html! {
        @if !drifted.is_empty() {
            section data-key="drifted" {
                h2 { "Drifted" }
                div.cards { @for object in drifted { (card(content, object)) } }
            }
        }
        @if !unknown.is_empty() {
            section data-key="unknown" { h2 { "Unknown" } @for fold in folds(unknown) { (fold_of(content, &fold)) } }
        }
        (targets)
        @for (key, title, objects) in [("deleting", "Deleting", deleting), ("in-sync", "In sync", in_sync)] {
            @if !objects.is_empty() { section data-key=(key) { h2 { (title) } (table(content, &objects, HasTarget::Yes)) } }
        }
    }
}

/// Unknown objects of one target with the same cause, at least one.
type Fold<'c> = Vec<ShownObject<'c>>;

/// Groups equal Unknowns, in the order of the first of each group.
fn folds(unknown: Vec<ShownObject<'_>>) -> Vec<Fold<'_>> {
    let mut places = HashMap::new();
    let mut folds: Vec<Fold<'_>> = Vec::new();
    for object in unknown {
        let verdict = object.row.verdict.as_ref();
        let cause = verdict.map(|verdict| (verdict.reason.as_str(), verdict.text.as_str()));
        let place = *places.entry((object.target.name.as_str(), cause)).or_insert(folds.len());
        match folds.get_mut(place) {
            Some(fold) => fold.push(object),
            None => folds.push(vec![object]),
        }
    }
    folds
}

fn fold_of(content: &Content, fold: &[ShownObject<'_>]) -> Markup {
    let Some(first) = fold.first() else { return html! {} };
    let (verdict, count) = (first.row.verdict.as_ref(), first.row.alike.max(fold.len()));
    let (reason, text) = verdict.map_or(("NoVerdict", "no verdict yet"), |verdict| (&verdict.reason, &verdict.text));
    let oldest = fold.iter().filter_map(|object| object.row.verdict.as_ref()).map(|verdict| &verdict.since).min();
    html! {
        details data-key={ "fold " (first.target.name) " " (reason) " " (text) } {
            summary {
                @if count == 1 { strong.unknown { (first.target.kind) " " (name(&first.row.id.to_string())) } }
                @else { strong.unknown { (count) " objects" } }
                " of target " span.word { (first.target.name) } ": " strong { (reason) } ", " (text)
                @if let Some(oldest) = oldest { span.soft { " for " (age(oldest, content.now)) } }
            }
            (table(content, fold, HasTarget::No))
            @if count > fold.len() { p.soft { "and " (count - fold.len()) " more" } }
        }
    }
}

fn card(content: &Content, object: ShownObject<'_>) -> Markup {
    let ShownObject { target, row } = object;
    let Some(verdict) = &row.verdict else { return html! {} };
    let held = object.held(content.now);
    html! {
        article data-key=(key(object)) {
            h3 { span.soft { (target.kind) } " " (name(&row.id.to_string())) }
            p {
                strong.drifted { (verdict.reason) } " for " (age(&verdict.since, content.now)) " · target "
                span.word { (target.name) } @for mark in &row.marks { " · " (mark) }
            }
            (difference(verdict))
            @if let Some(correction) = &row.correction { p { "Correction: " (note(correction)) } }
            @if held.is_empty() { p.soft { (unheld(row)) } }
            @for why in &held { p.held { strong { "Not corrected: " } (why.sentence) } }
            (command(content, object))
        }
    }
}

/// The sentence about a drifted object that nothing holds. Its record names the failure of the last correction.
fn unheld(row: &ObjectRow) -> &'static str {
    let failed = |record: &RowCondition| record.reason == CorrectedReason::CorrectionFailed.as_str();
    match row.correction.as_ref().is_some_and(failed) {
        true => "The last correction failed, see above. Another one follows.",
        false => "No known reason holds a correction.",
    }
}

/// Desired beside observed, or the sentence if it names no fields.
fn difference(verdict: &RowCondition) -> Markup {
    let Some(changes) = FieldChanges::parse(&verdict.text) else { return html! { p { (verdict.text) } } };
    html! {
        table.fields {
            thead { tr { th { "Field" } th { "Desired" } th { "Observed" } } }
            tbody { @for field in &changes.fields {
                tr {
                    th scope="row" { code { (value(&field.path)) } }
                    td data-name="desired" { code { (value(&field.desired)) } }
                    td data-name="observed" { code { (value(&field.observed)) } }
                }
            } }
        }
        @if changes.more > 0 { p.soft { "and " (changes.more) " more" } }
    }
}

/// The command that explains an object, and a button that copies it. Without the script the button is hidden.
fn command(content: &Content, object: ShownObject<'_>) -> Markup {
    let command = content.explain_command(object);
    html! { div.command { code { (command) } button.copy type="button" { "Copy" } } }
}

/// The correction record, without the time of its last transition: a repeated correction does not change that.
fn note(correction: &RowCondition) -> Markup {
    html! {
        (correction.reason)
        @if !correction.text.is_empty() { span.soft { ", " (correction.text) } }
    }
}

/// Whether a table of objects has a column for their target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HasTarget {
    Yes,
    No,
}

fn table(content: &Content, objects: &[ShownObject<'_>], has_target: HasTarget) -> Markup {
    html! {
        table.stacked {
            thead { tr {
                th { "Object" } @if has_target == HasTarget::Yes { th { "Target" } }
                th { "Verdict" } th { "Since" } th { "Correction" } th.number { "Next poll" }
            } }
            tbody { @for object in objects { (line(content, *object, has_target)) } }
        }
    }
}

fn line(content: &Content, object: ShownObject<'_>, has_target: HasTarget) -> Markup {
    let ShownObject { target, row } = object;
    html! { tr data-key=(key(object)) {
        td data-name="Object" {
            span.soft { (target.kind) } " " (name(&row.id.to_string()))
            span.soft { @for mark in &row.marks { " · " (mark) } }
        }
        @if has_target == HasTarget::Yes { td.short data-name="Of target" { (name(&target.name)) } }
        td.short data-name="Verdict" { @match &row.verdict {
            Some(verdict) => { span class=(class(row.rank())) title=(verdict.text) { (verdict.reason) } }
            None if row.deleting => { span.soft title=(NO_VERDICT) { (DELETING) } }
            None => { span.unknown { "no verdict yet" } }
        } }
        td.short data-name="Since" { @if let Some(verdict) = &row.verdict { (age(&verdict.since, content.now)) } }
        td data-name="Correction" {
            @if let Some(correction) = &row.correction { (note(correction)) }
            @for why in object.held(content.now) { div.held { (why.sentence) } }
        }
        td.number.short data-name="Next poll" { @match row.next_poll {
            Some(next) => { (span(next)) }
            None => { span.soft { "–" } }
        } }
    } }
}

/// Identifies an object across refreshes.
fn key(ShownObject { target, row }: ShownObject<'_>) -> String {
    format!("{} {} {}", target.name, row.id, row.id.uid)
}

const fn class(rank: Rank) -> &'static str {
    match rank {
        Rank::Drifted => "drifted",
        Rank::Unknown => "unknown",
        Rank::Deleting => "soft",
        Rank::InSync => "in-sync",
    }
}
