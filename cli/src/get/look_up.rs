//! The targets and Leases that a list needs.

use std::cell::RefCell;
use std::collections::BTreeSet;

use drift_kube::process::clock;

use super::asked::AskedKind;
use super::held::LeaseHolds;
use super::listed_targets::{AskedObjects, ListedTargets};
use super::settings::GetSettings;
use crate::cluster::warn;
use crate::ending::CommandError;
use crate::kinds::KindWord;
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
    let holds = LeaseHolds::of(live.attested, controller.map_err(|_| ()), clock::wall());
    Ok(ListedTargets {
        asked: AskedObjects::among(&known, words),
        known,
        troubles: live.troubles,
        single_troubles: live.single_troubles,
        selector: settings.selector.clone().unwrap_or_default(),
        whole,
        holds: RefCell::new(holds.with_unwritten(live.unwritten)),
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
