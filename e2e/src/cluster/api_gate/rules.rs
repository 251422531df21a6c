//! Maps requests to faults, for all connections of a gate.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Asked, Fault};

type Which = Arc<dyn Fn(&Asked) -> bool + Send + Sync>;

#[derive(Clone)]
struct Rule {
    number: usize,
    which: Which,
    fault: Fault,
}

/// The current rules and their changes. Clones share them.
#[derive(Clone)]
pub(super) struct Rules {
    sender: watch::Sender<Vec<Rule>>,
    next: Arc<std::sync::atomic::AtomicUsize>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { sender: watch::channel(Vec::new()).0, next: Arc::default() }
    }
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules").finish_non_exhaustive()
    }
}

/// The rules that apply to one request, for the lifetime of its response.
pub(super) struct Ruled {
    asked: Asked,
    rules: watch::Receiver<Vec<Rule>>,
    /// Rules from this number on were added after the request.
    later: usize,
    /// The rule whose removal also ends the response, because a delayed response does not catch up.
    ends_with: Option<usize>,
}

impl Rules {
    pub(super) fn add(&self, which: Which, fault: Fault) {
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.sender.send_modify(|rules| rules.push(Rule { number, which, fault }));
    }

    pub(super) fn clear(&self) {
        self.sender.send_modify(Vec::clear);
    }

    pub(super) fn of(&self, asked: Asked) -> Ruled {
        let later = self.next.load(std::sync::atomic::Ordering::Relaxed);
        Ruled { asked, rules: self.sender.subscribe(), later, ends_with: None }
    }
}

impl Ruled {
    /// Returns the fault that applies to the request, apart from being held.
    pub(super) fn fault(&mut self) -> Option<Fault> {
        let rules = self.rules.borrow();
        let rule = rules.iter().find(|rule| rule.fault != Fault::Hold && (rule.which)(&self.asked))?;
        self.ends_with = matches!(rule.fault, Fault::Late(_)).then_some(rule.number);
        Some(rule.fault.clone())
    }

    /// Waits while the request is held.
    pub(super) async fn let_through(&mut self) {
        let asked = &self.asked;
        let is_held = |rules: &Vec<Rule>| rules.iter().any(|rule| rule.fault == Fault::Hold && (rule.which)(asked));
        // If the gate ends, the response ends too.
        let _ = self.rules.wait_for(|rules| !is_held(rules)).await;
    }

    /// Returns true if the response must break off: a later rule applies, or its own rule was removed.
    pub(super) fn is_cut(&self) -> bool {
        let cuts = |rule: &Rule| rule.fault != Fault::Hold && rule.number >= self.later && (rule.which)(&self.asked);
        let rules = self.rules.borrow();
        let has_ended = self.ends_with.is_some_and(|number| rules.iter().all(|rule| rule.number != number));
        has_ended || rules.iter().any(cuts)
    }

    /// Waits until the rules change.
    pub(super) async fn changed(&mut self) {
        if self.rules.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
