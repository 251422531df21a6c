//! The alarms: one line each, with its count, a link and a command.

use maud::{Markup, html};

use super::objects::command;
use super::words::prose;
use crate::run::page::content::alarms::{Alarm, alarms as found};
use crate::run::page::content::{Content, NotActive};

/// The section of alarms. Without one, there is none.
pub(super) fn alarms(content: &Content) -> Markup {
    let alarms = found(content);
    html! {
        @if !alarms.is_empty() {
            section data-key="alarms" {
                h2 { "Alarms" }
                ul.alarms { @for alarm in &alarms { (line(alarm)) } }
                @if content.not_active.sentences.len() > 1 { (not_active(&content.not_active)) }
            }
        }
    }
}

fn line(alarm: &Alarm) -> Markup {
    let Alarm { word, count, unit, text, link, command: next } = alarm;
    let plural = if *count == 1 { "" } else { "s" };
    html! {
        li data-key={ "alarm " (word) " " (unit) } {
            p {
                strong.drifted {
                    @match link {
                        Some(link) => { a href=(link) { (word) ": " (count) " " (unit) (plural) } }
                        None => { (word) ": " (count) " " (unit) (plural) }
                    }
                }
                " " span { (prose(text)) }
            }
            (command(next, &format!("for {word}")))
        }
    }
}

/// The documents that are not active.
fn not_active(documents: &NotActive) -> Markup {
    let (verb, plural) = if documents.count == 1 { ("is", "") } else { ("are", "s") };
    html! {
        details data-key="not-active" {
            summary { (documents.count) " document" (plural) " " (verb) " not active" }
            ul { @for sentence in &documents.sentences { li { (prose(sentence)) } } }
        }
    }
}
