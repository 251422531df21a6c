//! The notes of one program, and which of them stand on its Lease.
//!
//! Nothing is written to an object of a target before the target's note stands: whoever works on a target holds its note,
//! and a note that somebody holds is not struck out. This file must not know what is written to objects.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::watch;

use crate::cleanup::{InForce, Notes, Scope};
use crate::lease::LeaseHandle;
use drift_model::names::SELECTIONS_ANNOTATION;
use drift_target::Target;

/// The most that the notes may take on the Lease, bytes. All annotations of an object together may take 256 KiB, and a
/// Lease that cannot be written is lost; the rest is for what else stands there.
const MOST_BYTES: usize = 192 * 1024;

/// The notes, for all parts of a program. Cheap to clone.
#[derive(Clone, Debug)]
pub struct NoteBoard {
    board: watch::Sender<Board>,
}

#[derive(Debug, Default)]
struct Board {
    wanted: Notes,
    standing: BTreeSet<Scope>,
    holders: BTreeMap<Scope, usize>,
}

/// A note that stands on the Lease for as long as this lives.
#[derive(Debug)]
#[must_use = "the note may be struck out when this is dropped"]
pub struct HeldNote {
    board: NoteBoard,
    scope: Scope,
}

impl Default for NoteBoard {
    fn default() -> Self {
        Self { board: watch::Sender::new(Board::default()) }
    }
}

impl NoteBoard {
    /// Begins a term with the notes that stood on the Lease when it was taken.
    pub fn begin(&self, lease: &LeaseHandle) {
        let found = lease.leadership().found_annotations();
        let (notes, unreadable) = found.get(SELECTIONS_ANNOTATION).map(|text| Notes::parse(text)).unwrap_or_default();
        if unreadable > 0 {
            tracing::warn!(unreadable, "the Lease has notes that cannot be read: what they speak of is not cleaned up");
        }
        self.board.send_modify(|board| {
            board.standing = notes.iter().map(|(scope, _)| scope.clone()).collect();
            board.wanted = notes;
        });
    }

    /// Notes every target in force.
    pub fn arrange(&self, in_force: InForce<'_>) {
        self.board.send_if_modified(|board| {
            let before = board.wanted.clone();
            in_force.targets.values().for_each(|target| board.wanted.add(target));
            board.wanted != before
        });
    }

    /// All notes.
    #[must_use]
    pub fn notes(&self) -> Notes {
        self.read(Clone::clone)
    }

    /// Asks the notes something.
    pub fn read<R>(&self, ask: impl FnOnce(&Notes) -> R) -> R {
        ask(&self.board.borrow().wanted)
    }

    /// Strikes notes out; whether none of them was held.
    pub fn forget(&self, scopes: &[Scope]) -> bool {
        let mut all = true;
        self.board.send_if_modified(|board| {
            for scope in scopes {
                if board.holders.contains_key(scope) {
                    all = false;
                } else {
                    board.wanted.remove(scope);
                    board.standing.remove(scope);
                }
            }
            true
        });
        all
    }

    /// Waits until the target's note stands on the Lease.
    pub async fn hold(&self, target: &Target) -> HeldNote {
        let scope = Scope::of(target);
        let mut changes = self.board.subscribe();
        loop {
            if self.try_hold(&scope) {
                return HeldNote { board: self.clone(), scope };
            }
            // The sender lives in `self`.
            let _ = changes.changed().await;
        }
    }

    fn try_hold(&self, scope: &Scope) -> bool {
        let mut stands = false;
        self.board.send_if_modified(|board| {
            stands = board.standing.contains(scope);
            if stands {
                *board.holders.entry(scope.clone()).or_default() += 1;
            }
            false
        });
        stands
    }

    /// Keeps the notes on the Lease, for as long as it is polled.
    pub async fn keep(&self, lease: &LeaseHandle) {
        let mut changes = self.board.subscribe();
        let mut written = None;
        loop {
            let wanted = changes.borrow_and_update().wanted.clone();
            let text = wanted.to_string();
            if text.len() > MOST_BYTES {
                tracing::error!(
                    bytes = text.len(),
                    "the targets select too much to be noted on the Lease, and new ones must wait: name fewer namespaces"
                );
                // The sender lives in `self`.
                let _ = changes.changed().await;
            } else if written.as_ref() != Some(&wanted) {
                lease.put(SELECTIONS_ANNOTATION, &text).await;
                self.board.send_modify(|board| {
                    let both = wanted.iter().map(|(scope, _)| scope).filter(|scope| board.wanted.has(scope));
                    board.standing = both.cloned().collect();
                });
                written = Some(wanted);
            } else if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Drop for HeldNote {
    fn drop(&mut self) {
        self.board.board.send_if_modified(|board| {
            if let Some(holders) = board.holders.get_mut(&self.scope) {
                *holders -= 1;
                if *holders == 0 {
                    board.holders.remove(&self.scope);
                }
            }
            false
        });
    }
}
