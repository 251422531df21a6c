//! The selections of the program's targets, and those noted on its Lease.
//!
//! Before any write to an object of a target, its selection must be noted. The task that works on a target holds its
//! note, and a held note is not removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::watch;

use crate::cleanup::{KnownTargets, Selection, Selections};
use crate::config::Configuration;
use crate::lease::LeaseHandle;
use drift_api::names::SELECTIONS_ANNOTATION;
use drift_language::{Target, TargetState};

/// Maximum size of the notes on the Lease, in bytes. All annotations of an object together may take 256 KiB, and a
/// Lease that cannot be written is lost. The rest is for its other annotations.
const MOST_BYTES: usize = 192 * 1024;

/// The selections of one program's targets, shared by all its parts. Cheap to clone.
#[derive(Clone, Debug)]
pub struct NotedSelections {
    notes: watch::Sender<Notes>,
    /// True if targets with reports are noted too.
    with_reports: bool,
}

#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The content of the Lease at the beginning of the term of these notes. Each term has its own.
    found: Arc<BTreeMap<String, String>>,
    wanted: Selections,
    current: BTreeSet<Selection>,
    holders: BTreeMap<Selection, usize>,
}

/// A note that stays on the Lease until this is dropped.
#[derive(Debug)]
#[must_use = "the note may be struck out when this is dropped"]
pub struct HeldNote {
    noted: NotedSelections,
    selection: Selection,
}

impl Default for NotedSelections {
    fn default() -> Self {
        Self { notes: watch::Sender::new(Notes::default()), with_reports: false }
    }
}

impl NotedSelections {
    /// Creates the notes of the program that deletes the reports of removed targets. The other one notes no target with
    /// reports, because it leaves nothing of it.
    #[must_use]
    pub fn with_reports() -> Self {
        Self { with_reports: true, ..Self::default() }
    }

    /// Returns true if the program leaves something of the target.
    fn has_marks_of(&self, target: &Target) -> bool {
        self.with_reports || !target.objects.keeps_reports()
    }

    /// Begins a term with the notes found on the Lease when it was acquired. Work that restarts within a term keeps its
    /// notes, including changes since then.
    pub fn begin(&self, lease: &LeaseHandle) {
        let annotations = lease.leadership().found_annotations();
        if Arc::ptr_eq(&annotations, &self.notes.borrow().found) {
            return;
        }
        let (found, unreadable) =
            annotations.get(SELECTIONS_ANNOTATION).map(|text| Selections::parse(text)).unwrap_or_default();
        if unreadable > 0 {
            tracing::warn!(unreadable, "the Lease has notes that cannot be read: what they speak of is not cleaned up");
        }
        self.notes.send_modify(|notes| {
            notes.current = found.iter().map(|(selection, _)| selection.clone()).collect();
            notes.wanted = found;
            notes.found = annotations;
        });
    }

    /// Notes every active target of which the program leaves something.
    pub fn arrange(&self, configuration: &Configuration) {
        self.notes.send_if_modified(|notes| {
            let before = notes.wanted.clone();
            let marking = configuration.targets.values().filter(|target| self.has_marks_of(target));
            marking.for_each(|target| notes.wanted.add(target));
            for (target, hashes) in configuration.forgotten.iter().filter(|(target, _)| is_there(configuration, target))
            {
                notes.wanted.outlive(target, hashes);
            }
            notes.wanted != before
        });
    }

    /// Returns all notes.
    #[must_use]
    pub fn all(&self) -> Selections {
        self.read(Clone::clone)
    }

    /// Returns a receiver that follows the notes.
    pub(super) fn subscribe(&self) -> watch::Receiver<Notes> {
        self.notes.subscribe()
    }

    /// Calls `ask` with all notes.
    pub fn read<R>(&self, ask: impl FnOnce(&Selections) -> R) -> R {
        ask(&self.notes.borrow().wanted)
    }

    /// Calls `ask` with the targets that are known by all notes and this configuration.
    pub fn know<R>(&self, configuration: &Configuration, ask: impl FnOnce(KnownTargets<'_>) -> R) -> R {
        self.read(|notes| ask(KnownTargets::new(notes, configuration)))
    }

    /// Removes notes. Returns true if none of them was held.
    pub fn forget(&self, selections: &[Selection]) -> bool {
        let mut all = true;
        self.notes.send_if_modified(|notes| {
            for selection in selections {
                if notes.holders.contains_key(selection) {
                    all = false;
                } else {
                    notes.wanted.remove(selection);
                    notes.current.remove(selection);
                }
            }
            true
        });
        all
    }

    /// Waits until the target's note is on the Lease. `None` at once for a target of which the program leaves nothing.
    pub async fn hold(&self, target: &Target) -> Option<HeldNote> {
        if !self.has_marks_of(target) {
            return None;
        }
        let selection = Selection::of(target);
        let mut changes = self.notes.subscribe();
        loop {
            if self.try_hold(&selection) {
                return Some(HeldNote { noted: self.clone(), selection });
            }
            // `self` owns the sender.
            let _ = changes.changed().await;
        }
    }

    fn try_hold(&self, selection: &Selection) -> bool {
        let mut stands = false;
        self.notes.send_if_modified(|notes| {
            stands = notes.current.contains(selection);
            if stands {
                *notes.holders.entry(selection.clone()).or_default() += 1;
            }
            false
        });
        stands
    }

    /// Keeps the notes on the Lease until the future is dropped.
    pub async fn keep(&self, lease: &LeaseHandle) {
        let mut changes = self.notes.subscribe();
        let mut written = None;
        loop {
            let wanted = changes.borrow_and_update().wanted.clone();
            let text = wanted.to_string();
            if text.len() > MOST_BYTES {
                tracing::error!(
                    bytes = text.len(),
                    "the targets select too much to be noted on the Lease, and new ones must wait: name fewer namespaces"
                );
                // `self` owns the sender.
                let _ = changes.changed().await;
            } else if written.as_ref() != Some(&wanted) {
                lease.put(SELECTIONS_ANNOTATION, &text).await;
                self.notes.send_modify(|notes| {
                    let both =
                        wanted.iter().map(|(selection, _)| selection).filter(|selection| notes.wanted.has(selection));
                    notes.current = both.cloned().collect();
                });
                written = Some(wanted);
            } else if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Returns true if a ConfigMap has a text of the target.
fn is_there(configuration: &Configuration, target: &str) -> bool {
    matches!(configuration.state_of(target), TargetState::Live | TargetState::Taken)
}

impl Drop for HeldNote {
    fn drop(&mut self) {
        self.noted.notes.send_if_modified(|notes| {
            if let Some(holders) = notes.holders.get_mut(&self.selection) {
                *holders -= 1;
                if *holders == 0 {
                    notes.holders.remove(&self.selection);
                }
            }
            false
        });
    }
}
