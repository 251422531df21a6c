//! The page as HTML. maud escapes every value that it writes.

mod alarms;
mod groups;
mod objects;
mod targets;
#[cfg(test)]
mod tests;
mod words;

use maud::{DOCTYPE, Markup, html};

use super::content::{Content, Link, Signal};
use crate::engine::object::overview::order::Page;
use crate::engine::object::overview::{GROUPS_PER_PAGE, OBJECTS_PER_PAGE, Shown, Sort};
use alarms::alarms;
use groups::groups;
use objects::{list, object_page};
use targets::targets;
use words::{prose, time};

/// The whole page.
#[must_use]
pub(super) fn page(content: &Content) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title(content)) }
                link rel="icon" type="image/svg+xml" href={ "icon-" (content.signal().as_str()) ".svg" };
                link rel="stylesheet" href="page.css";
                script src="page.js" defer {}
            }
            body {
                a.skip href="#main" { "Skip to the alarms" }
                header { (headline(content)) (status(content)) }
                (form(content))
                main #main tabindex="-1" { (notices(content)) (body(content)) }
            }
        }
    };
    markup.into_string()
}

/// What the query asks for: an object, a list of objects, or the overview.
fn body(content: &Content) -> Markup {
    let question = &content.question;
    if question.object.is_some() {
        return html! { (object_page(content)) (empty(content)) };
    }
    if question.lists_objects() {
        let objects = content.objects();
        return html! {
            (filters(content))
            (empty(content))
            (list(content, &objects.items))
            (pager(content, &objects, OBJECTS_PER_PAGE, "objects"))
        };
    }
    let found = content.groups();
    html! {
        @if found.number == 0 { (alarms(content)) (targets(content)) }
        (empty(content))
        (groups(content, &found.items))
        (pager(content, &found, GROUPS_PER_PAGE, "groups"))
    }
}

/// The icon of the browser's tab. Shape and colour both tell the state.
#[must_use]
pub(super) fn icon(signal: Signal) -> String {
    let (colour, sign) = match signal {
        Signal::Drifted => ("#c62828", "M32 14v22M32 47v3"),
        Signal::Unknown => ("#b26a00", "M23 24a9 9 0 1 1 13 9q-4 2-4 7M32 48v3"),
        Signal::InSync => ("#1a7f37", "M18 33l10 10 18-21"),
        Signal::NoCounts => ("#6b7480", "M20 32h24"),
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\"><circle cx=\"32\" cy=\"32\" r=\"30\" fill=\"{colour}\"/>\
         <path d=\"{sign}\" fill=\"none\" stroke=\"#fff\" stroke-width=\"7\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/></svg>"
    )
}

fn title(content: &Content) -> String {
    let question = &content.question;
    let object = question.object.as_ref().map(|object| format!("{} – ", object.name));
    let target = question.target.as_ref().map(|target| format!(" – {target}"));
    let (object, target) = (object.unwrap_or_default(), target.unwrap_or_default());
    format!("{object}{}{target} – {} – drift {}", content.headline(), content.site.place(), env!("CARGO_PKG_VERSION"))
}

/// The counts, each with a link to its objects. A screen reader hears when they change.
fn headline(content: &Content) -> Markup {
    let target = content.question.target.as_deref();
    let count = |shown: Shown, number: usize, word: &str| {
        let class = if number > 0 { shown.as_str() } else { "soft" };
        html! { a class=(class) href=(Link::new().target(target).shown(shown)) { (number) " " (word) } }
    };
    html! {
        h1 {
            @match content.counts() {
                Some(counts) => {
                    (count(Shown::Drifted, counts.drifted, "drifted")) " · "
                    (count(Shown::Unknown, counts.unknown, "unknown")) " · "
                    (count(Shown::InSync, counts.in_sync, "in sync"))
                    @if counts.deleting > 0 { " · " (count(Shown::Deleting, counts.deleting, "deleting")) }
                }
                None => { span.soft { (content.headline()) } }
            }
        }
        p.hidden role="status" { (content.headline()) }
    }
}

fn form(content: &Content) -> Markup {
    let asked = &content.question;
    let words = content.words();
    let held = asked.held.as_deref();
    html! {
        form method="get" action="." role="search" {
            select name="target" aria-label="Target" {
                option value="" { "all targets" }
                @if let Some(unknown) = content.unknown_target() {
                    option value=(unknown) selected { (unknown) " (not active)" }
                }
                @for line in &content.targets {
                    option value=(line.name) selected[asked.target.as_ref() == Some(&line.name)] { (line.name) }
                }
            }
            select name="shown" aria-label="Verdict" {
                @let names = ["all verdicts", "drifted", "unknown", "in sync", "deleting"];
                @for (shown, text) in Shown::ALL.into_iter().zip(names) {
                    option value=(shown.as_str()) selected[asked.shown == shown] { (text) }
                }
            }
            select name="held" aria-label="Hold" {
                option value="" { "any hold" }
                @if let Some(none) = held.filter(|held| !words.contains_key(held)) {
                    option value=(none) selected { (none) " (0)" }
                }
                @for (word, count) in &words {
                    option value=(word) selected[held == Some(word)] { (word) " (" (count) ")" }
                }
            }
            select name="sort" aria-label="Order" {
                option value="" { "grouped" }
                @for (sort, text) in Sort::ALL.into_iter().zip(["by verdict", "by age", "by name", "by target"]) {
                    option value=(sort.as_str()) selected[asked.sort == Some(sort)] { (text) }
                }
            }
            input type="search" name="search" value=(asked.search) placeholder="namespace/name" aria-label="Search"
                autocomplete="off" autocapitalize="none" spellcheck="false";
            button { "Show" }
        }
    }
}

/// The installation, and the age of the page. The script shows here why it is not newer.
fn status(content: &Content) -> Markup {
    html! {
        p.status {
            strong { a href="." { "drift" } } " " span.word { (env!("CARGO_PKG_VERSION")) }
            " · " strong.word { (content.site.place()) } " · updated "
            (time(&content.now.to_string(), content.now, |_| content.now.strftime("%H:%M:%S UTC").to_string()))
        }
    }
}

/// The word or the group that a list is about, with the link to all.
fn filters(content: &Content) -> Markup {
    let question = &content.question;
    let target = question.target.as_deref();
    html! {
        @if let Some(word) = &question.held {
            p.filter data-key="held" {
                "Objects with " strong { (word) } ". " a href=(Link::new().target(target)) { "Show the groups" }
            }
        }
        @if question.group.is_some() {
            p.filter data-key="group" {
                "One group of equal objects. " a href=(Link::new().target(target)) { "Show the groups" }
            }
        }
    }
}

/// The links to the other pages of a list.
fn pager<T>(content: &Content, page: &Page<T>, size: usize, what: &str) -> Markup {
    let link = |number: usize| Link::to_page(&content.question, number);
    let last = page.before + page.items.len();
    html! {
        @if page.total > size || page.number > 0 {
            nav.pager aria-label="Pages" data-key="pager" {
                @if page.number > 0 && page.count > 0 { a rel="prev" href=(link(page.number.min(page.count) - 1)) { "← before" } }
                span {
                    @if page.items.is_empty() { "none" } @else { (page.before + 1) "–" (last) }
                    " of " (page.total) " " (what)
                }
                @if page.number + 1 < page.count { a rel="next" href=(link(page.number + 1)) { "next →" } }
                @if page.is_cut(size) && page.number + 1 >= page.count {
                    span { "Choose a target or search to see the others." }
                }
            }
        }
    }
}

fn notices(content: &Content) -> Markup {
    let silent = content.silent_targets();
    html! {
        @if let Some(command) = &content.leader_elsewhere {
            p.notice data-key="standby" {
                "This replica stands by and polls nothing. The Lease names the leader: " code { (command) }
            }
        }
        @if let Some(why) = &content.unread_holds { p.notice data-key="unread-holds" { (prose(why)) } }
        @if !silent.is_empty() {
            p.notice data-key="silent" {
                "No counts for " (silent.join(", ")) ". Either a target is busy, or its kind cannot be watched: see "
                a href="readyz" { "/readyz" } "."
            }
        }
        @if let Some(target) = content.unknown_target() {
            p.notice data-key="unknown-target" {
                "No active target is called " code { (target) } ". " a href="." { "Show all targets" }
            }
        }
    }
}

/// The line about objects that the lists lack.
fn empty(content: &Content) -> Markup {
    let (matching, asked) = (content.matching(), &content.question);
    let is_filtered = asked.lists_objects() || asked.shown != Shown::All || asked.target.is_some();
    let is_silent = !content.silent_targets().is_empty();
    html! {
        @if content.leader_elsewhere.is_some() || content.unknown_target().is_some() || matching > 0 {}
        @else if let Some(object) = &asked.object {
            p.empty data-key="empty" {
                "No target selects " code { (object) } ", or it is gone. " a href="." { "Show all" }
            }
        }
        @else if is_filtered {
            p.empty data-key="empty" {
                "Nothing matches"
                @if !asked.search.is_empty() { " " code { (asked.search) } }
                ". " a href="." { "Clear the filter" }
            }
        }
        @else if !content.targets.is_empty() && !is_silent {
            p.empty data-key="empty" { "No target selects an object." }
        }
    }
}
