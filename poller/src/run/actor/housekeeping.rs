//! What the actor tells of its objects besides what it writes: its counts, that it vouches, and answers for people.
//!
//! It must not change anything that is decided by.

use std::collections::BTreeSet;

use drift_api::timing::moment::Moment;
use drift_api::voucher::{MOST_EXCEPTED_NAMESPACES, Voucher};
use drift_kube::process::clock;

use super::{TargetActor, read_clock};
use crate::engine::object::overview::overview;
use crate::run::metrics::of_target;
use crate::run::page::Asked;

impl TargetActor {
    pub(super) fn housekeep(&mut self) {
        let now = read_clock();
        self.counts.count(self.objects.states(), now.moment);
        let skipped = i64::try_from(self.skipped.len()).unwrap_or(i64::MAX);
        self.context.metrics.skipped.get_or_create(&of_target(&self.target.name)).set(skipped);
        self.show_crowded();
    }

    /// Says which namespaces are not vouched for as a whole.
    fn show_crowded(&mut self) {
        let crowded = self.objects.crowded_namespaces();
        let known = self.crowded.as_ref().map(|(namespaces, _)| namespaces);
        if known.unwrap_or(&BTreeSet::new()) == &crowded {
            return;
        }
        let name = &self.target.name;
        if crowded.is_empty() {
            tracing::info!(target_name = name, "no namespace is excepted any more");
            self.crowded = None;
            return;
        }
        let mut named: Vec<&str> = crowded.iter().take(MOST_EXCEPTED_NAMESPACES).map(String::as_str).collect();
        named.extend((crowded.len() > MOST_EXCEPTED_NAMESPACES).then_some("…"));
        let what = match crowded.len() > MOST_EXCEPTED_NAMESPACES {
            true => "nothing of the target is corrected",
            false => "nothing is corrected there",
        };
        let sentence = format!(
            "too many verdicts are not the poller's own in the namespaces {}: {what} until they are renewed; either the API \
             server refuses them (Events WriteRefused say why), or another writer of their status called the objects \
             drifted, before or after they came into the selection",
            named.join(", ")
        );
        tracing::warn!(target_name = name, "{sentence}");
        let remark = self.context.health.remark(format!("target {name}"), sentence);
        self.crowded = Some((crowded, remark));
    }

    pub(super) fn answer(&self, asked: Asked) {
        asked.answer_with(|question| overview(&self.target.name, self.objects.states(), question, clock::now()));
    }

    pub(super) fn vouch(&self, now: Moment) {
        let except = self.objects.vouched_except(now);
        let hash = &self.target.verdict_hash;
        // Asked at every turn, and news hardly ever.
        if !self.context.in_force.says(&self.target.name, except.as_ref().map(|except| (hash.as_str(), except))) {
            let voucher = except.map(|except| Voucher { hash: hash.clone(), except });
            self.context.in_force.set(&self.target.name, voucher);
        }
        self.vouched.set(i64::from(self.context.in_force.is_written(&self.target.name)));
    }
}
