//! The targets and Leases that a list needs.

use std::cell::RefCell;
use std::collections::BTreeSet;

use drift_kube::process::clock;
use drift_poller::engine::object::overview::LeaseHolds;

use super::asked::AskedKind;
use super::listed_targets::{AskedObjects, ListedTargets};
use super::settings::GetSettings;
use crate::cluster::warn;
use crate::ending::CommandError;
use crate::kinds::KindWord;
use crate::targets::leases::{Holder, controller_holds};
use crate::targets::session::Session;
use crate::targets::{KnownKind, known_kinds};

/// Returns the targets that are asked for; and whether they are all that there are.
///
/// # Errors
/// If the targets cannot be read, none of them is meant, or stderr is closed.
pub(super) async fn look_up(
    session: &Session<'_>,
    settings: &GetSettings,
    asked: Vec<AskedKind>,
) -> Result<ListedTargets, CommandError> {
    let words: Vec<&str> = asked.iter().map(|one| one.word.as_str()).collect();
    let (live, controller, words) = futures::join!(
        session.live_targets(),
        session.lease(&settings.controller_lease),
        KindWord::look_up_each(&session.client, &words)
    );
    let live = live?;
    if let Err(sentence) = &controller {
        warn(&format!("{sentence}: NEXT does not show what the controller holds"))?;
    }
    // A document that is wrong, and a kind that cannot be listed, make the whole uncertain.
    let (mut known, all_told) = known_kinds(&session.client, &live).await?;
    let whole = live.is_whole() && all_told;
    if let Some(name) = &settings.target {
        if let Some(lost) = live.by_last_good.iter().find(|lost| lost.name == *name) {
            let message = format!("which objects target {name} has is unknown: {}", lost.trouble);
            return Err(CommandError::CannotTell(message));
        }
        known = of_target(known, name)?;
    }
    let words: Vec<_> = asked.into_iter().zip(words).collect();
    for (asked, word) in &words {
        if whole && !known.iter().any(|one| word.means(&one.kind)) {
            return Err(CommandError::BadUsage(no_target_about(&asked.word, &known, settings.target.as_deref())));
        }
    }
    known.retain(|one| words.is_empty() || words.iter().any(|(_, word)| word.means(&one.kind)));
    let is_corrected = known.iter().any(|one| one.target.text().is_some_and(|target| target.correct.mode.corrects()));
    let place = (settings.controller_lease.as_str(), session.home);
    let uncorrected = controller.as_ref().ok().filter(|_| is_corrected);
    let uncorrected = uncorrected.and_then(|lease| Holder::Controller.vacancy(lease.as_ref(), place, clock::wall()));
    let is_unpolled = live.vacancy.is_some();
    let of_programs: Vec<String> = live.vacancy.into_iter().chain(uncorrected).collect();
    let troubles = of_programs.iter().cloned().chain(live.troubles).collect();
    let single_troubles = of_programs.into_iter().chain(live.single_troubles).collect();
    let controller = controller_holds(&controller, clock::wall());
    let holds = LeaseHolds { attested: live.attested, unwritten: live.unwritten, controller };
    Ok(ListedTargets {
        asked: AskedObjects::among(&known, words),
        known,
        troubles,
        single_troubles,
        selector: settings.selector.clone().unwrap_or_default(),
        whole,
        is_unpolled,
        holds: RefCell::new(holds),
        ..ListedTargets::default()
    })
}

fn of_target(known: Vec<KnownKind>, name: &str) -> Result<Vec<KnownKind>, CommandError> {
    let (meant, others): (Vec<_>, Vec<_>) = known.into_iter().partition(|one| one.target.name() == name);
    if meant.is_empty() {
        let names: BTreeSet<&str> = others.iter().map(|one| one.target.name()).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        return Err(CommandError::BadUsage(format!("there is no target {name} with objects; there are: {names}")));
    }
    Ok(meant)
}

/// The sentence for a kind that no target has, with the kinds that they have.
fn no_target_about(word: &str, known: &[KnownKind], target: Option<&str>) -> String {
    let kinds: BTreeSet<&str> = known.iter().map(|one| one.kind.resource.plural.as_str()).collect();
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    match target {
        Some(target) => format!("target {target} is not about {word}, but about {kinds}"),
        None => format!("no target is about {word}; there are targets about {kinds}"),
    }
}
