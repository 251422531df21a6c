//! Single objects: a card for a drifted one, a table of the rest, and the page of one object.

use maud::{Markup, html};

use super::words::{age, name, prose, span, value};
use crate::engine::object::deletion::{DELETING, NO_VERDICT};
use crate::engine::object::overview::{CORRECTION_FAILED, FieldChanges, ObjectRow, Rank, RowCondition};
use crate::run::page::content::alarms::{address, explain_command};
use crate::run::page::content::{Content, Link, ShownObject};

/// A list of objects: cards for the drifted ones, then a table. In another order than that of the verdicts, all are in the table.
pub(super) fn list(content: &Content, objects: &[ShownObject<'_>]) -> Markup {
    let is_by_verdict = content.question.sort.is_none();
    let (cards, rows): (Vec<_>, Vec<_>) =
        objects.iter().partition(|object| is_by_verdict && object.row.rank() == Rank::Drifted);
    html! {
        @if !cards.is_empty() {
            section data-key="drifted" {
                h2 { "Drifted" }
                div.cards { @for object in cards { (card(content, object)) } }
            }
        }
        @if !rows.is_empty() {
            section data-key="objects" { h2 { "Objects" } (table(content, &rows, HasTarget::Yes)) }
        }
    }
}

/// The page of the object that is asked for. Two targets may select it.
pub(super) fn object_page(content: &Content) -> Markup {
    html! {
        div.cards.single data-key="object" { @for object in content.objects().items { (whole(content, object)) } }
    }
}

fn whole(content: &Content, object: ShownObject<'_>) -> Markup {
    let ShownObject { target, row } = object;
    html! {
        article class=(class(row.rank())) data-key=(key(object)) {
            h2 { span.soft { (target.kind) } " " (name(&row.id.to_string())) }
            p {
                (verdict(row)) @if let Some(verdict) = &row.verdict { " for " (age(&verdict.since, content.now)) }
                " · target " a.word href=(Link::new().target(Some(&target.name))) { (target.name) }
                @for mark in &row.marks { " · " (mark) }
            }
            @if let Some(verdict) = &row.verdict { (difference(verdict)) }
            @if let Some(correction) = &row.correction { p { "Correction: " (note(correction)) } }
            (holds(row))
            @if let Some(next) = row.next_poll { p.soft { "Next poll in " (span(next)) } }
            (command(&explain_command(target, &row.id), &row.id.to_string()))
            @if let Some(report) = &row.report { (report_command(row, report)) }
        }
    }
}

/// The command that prints the DriftReport with the conditions of an object.
fn report_command(row: &ObjectRow, report: &str) -> Markup {
    let namespace = row.id.namespace.as_ref().map(|namespace| format!(" -n {namespace}")).unwrap_or_default();
    html! {
        p.soft { "Its conditions are in a DriftReport:" }
        (command(&format!("kubectl get driftreport {report}{namespace} -o yaml"), &format!("for the report of {}", row.id)))
    }
}

/// The card of a drifted object.
pub(super) fn card(content: &Content, object: ShownObject<'_>) -> Markup {
    let ShownObject { target, row } = object;
    html! {
        article data-key=(key(object)) {
            h3 { (link(object)) }
            p {
                (verdict(row)) @if let Some(verdict) = &row.verdict { " for " (age(&verdict.since, content.now)) }
                " · target " span.word { (target.name) } @for mark in &row.marks { " · " (mark) }
            }
            @if let Some(verdict) = &row.verdict { (difference(verdict)) }
            @if let Some(correction) = &row.correction { p { "Correction: " (note(correction)) } }
            (holds(row))
            (command(&explain_command(target, &row.id), &row.id.to_string()))
            @if let Some(report) = &row.report { (report_command(row, report)) }
        }
    }
}

/// The name of an object, with the link to its page.
fn link(object: ShownObject<'_>) -> Markup {
    let ShownObject { target, row } = object;
    let link = Link::new().object(address(target, &row.id));
    html! { span.soft { (target.kind) } " " a href=(link) { (name(&row.id.to_string())) } }
}

fn verdict(row: &ObjectRow) -> Markup {
    html! { @match &row.verdict {
        Some(verdict) => { strong class=(class(row.rank())) title=(verdict.text) { (verdict.reason) } }
        None if row.deleting => { span.soft title=(NO_VERDICT) { (DELETING) } }
        None => { span.unknown { "no verdict yet" } }
    } }
}

/// The holds of a drifted object or a deletion. Without one, a failed correction is the reason that is known.
fn holds(row: &ObjectRow) -> Markup {
    let failed = |record: &RowCondition| record.reason == CORRECTION_FAILED;
    let what = if row.deleting { "Not deleted: " } else { "Not corrected: " };
    html! {
        @for hold in &row.holds { p.held { strong { (what) } (prose(&hold.sentence)) } }
        @if row.holds.is_empty() && row.rank() == Rank::Drifted {
            p.soft {
                @if row.correction.as_ref().is_some_and(failed) {
                    "The last correction failed, see above. Another one follows."
                } @else { "No known reason holds a correction." }
            }
        }
    }
}

/// Desired beside observed, or the sentence if it names no fields.
fn difference(verdict: &RowCondition) -> Markup {
    let Some(changes) = FieldChanges::parse(&verdict.text) else { return html! { p { (prose(&verdict.text)) } } };
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

/// A command, and a button that copies it. Without the script the button is hidden.
pub(super) fn command(command: &str, about: &str) -> Markup {
    html! {
        div.command {
            code { (command) }
            button.copy type="button" { span { "Copy" } span.hidden { " the command " (about) } }
        }
    }
}

/// The correction record, without the time of its last transition: a repeated correction does not change that.
fn note(correction: &RowCondition) -> Markup {
    html! {
        (correction.reason)
        @if !correction.text.is_empty() { span.soft { ", " (prose(&correction.text)) } }
    }
}

/// Whether a table of objects has a column for their target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HasTarget {
    Yes,
    No,
}

/// A table of objects.
pub(super) fn table(content: &Content, objects: &[ShownObject<'_>], has_target: HasTarget) -> Markup {
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
        td data-name="Object" { (link(object)) span.soft { @for mark in &row.marks { " · " (mark) } } }
        @if has_target == HasTarget::Yes { td.short data-name="Of target" { (name(&target.name)) } }
        td.short data-name="Verdict" { (verdict(row)) }
        td.short data-name="Since" { @if let Some(verdict) = &row.verdict { (age(&verdict.since, content.now)) } }
        td data-name="Correction" {
            @if let Some(correction) = &row.correction { (note(correction)) }
            @for hold in &row.holds { div.held { (prose(&hold.sentence)) } }
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
        Rank::Deleting => "soft",
        Rank::Drifted | Rank::Unknown | Rank::InSync => rank.as_str(),
    }
}
