//! What the actor does for all its objects at once: the poller's word, the breaker, and what grows old unseen.
//!
//! It must not decide for any one of them.

use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;
use drift_kube::process::clock;

use super::TargetActor;
use crate::core::held::Held;
use crate::metrics::of_target;

/// How often what is remembered of the objects is looked through for what delays nothing any more, the longest of which counts for an hour.
const ROOM_GIVEN_BACK_EVERY: Duration = Duration::from_secs(60);

impl TargetActor {
    pub(super) fn attend_breaker(&mut self, now: Moment) {
        let Some(transition) = self.roster.evaluate_breaker(now) else { return };
        self.executor.announcer.breaker(transition);
        self.show_breaker();
        self.reconsider_all();
    }

    pub(super) fn show_breaker(&self) {
        let open = i64::from(self.roster.breaker_is_open());
        self.context.metrics.breaker_open.get_or_create(&of_target(&self.name)).set(open);
    }

    /// At each housekeeping and not at each change: the age grows by itself.
    fn show_deletions(&self) {
        let (metrics, labels) = (&self.context.metrics, of_target(&self.name));
        let age = self.deletions.oldest_age(clock::wall_since_epoch()).as_secs();
        metrics.objects_deleting.get_or_create(&labels).set(i64::try_from(self.deletions.count()).unwrap_or(i64::MAX));
        metrics.deletion_age.get_or_create(&labels).set(i64::try_from(age).unwrap_or(i64::MAX));
    }

    pub(super) fn reconsider_all(&mut self) {
        let uids: Vec<Uid> = self.roster.uids().cloned().collect();
        self.add_all(&uids);
    }

    /// Everybody is decided anew when the poller begins or ceases to vouch, or excepts others than before.
    pub(super) fn note_vouching(&mut self) {
        let word = self.word(clock::now());
        if word == self.last_word {
            return;
        }
        let vouched = word.is_some();
        let except = word.as_ref().map(|word| &word.except);
        let excepted = except.map_or(0, |except| except.objects.len());
        let namespaces = except.map(|except| except.namespaces.iter().cloned().collect::<Vec<_>>().join(" "));
        let namespaces = namespaces.unwrap_or_default();
        self.last_word = word;
        tracing::info!(target_name = %self.name, vouched, excepted, namespaces, "the poller's word for this target changed");
        self.context.metrics.vouched.get_or_create(&of_target(&self.name)).set(i64::from(vouched));
        self.reconsider_all();
    }

    /// When a Secret that the target uses changed whoever could not be corrected for the lack of one is tried again, and everybody
    /// whose fields cannot be read back is decided anew: one of them may have moved.
    pub(super) fn note_secrets(&mut self) {
        let change = self.executor.secrets.changed(&self.executor.target, &mut self.secrets);
        if change.is_none() {
            return;
        }
        let waited = self.roster.send_anew(|object| change.concerns(object));
        self.add_all(&waited);
        if !self.executor.target.compare.write_only.is_empty() {
            let is_concerned = |uid: &&Uid| self.roster.object(uid).is_some_and(|object| change.concerns(object));
            let concerned: Vec<Uid> = self.roster.uids().filter(is_concerned).cloned().collect();
            self.add_all(&concerned);
        }
    }

    pub(super) fn lacks_something_to_send(&self) -> bool {
        self.held_counts.holds_any_for(Held::Unsendable)
    }

    /// Not at each housekeeping: all objects are looked at.
    fn give_room_back(&mut self, now: Moment) {
        if now >= self.room_given_back + ROOM_GIVEN_BACK_EVERY {
            self.room_given_back = now;
            self.roster.give_room_back(now);
        }
    }

    pub(super) fn housekeep(&mut self) {
        self.give_room_back(clock::now());
        self.show_deletions();
        self.tell_of_scope_wait(clock::now());
        self.note_vouching();
        self.note_secrets();
        // The poller's word may have gone and come back between two looks at it.
        if self.last_word.is_some() {
            let not_vouched: Vec<Uid> = self.held_counts.held_for(Held::NotVouched).cloned().collect();
            self.add_all(&not_vouched);
        }
    }
}
