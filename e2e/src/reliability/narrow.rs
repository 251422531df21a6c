//! Rows of unit tests and simulations, which do not run the whole system.
//!
//! Each row names its test. A test in this file fails if that test does not exist.

/// A situation and its test.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    /// The situation in a few words.
    pub sequence: &'static str,
    /// The action of the test.
    pub injected: &'static str,
    /// The behaviour that holds.
    pub held: &'static str,
    /// The test: its file in this repository, a space, and its function.
    pub test: &'static str,
}

/// The rows, in the order of the document.
pub const NARROW: &[Narrow] = &[
    Narrow {
        sequence: "An answer is about something else",
        injected: "`200 {\"error\": \"maintenance\"}`, and other answers without any field of `desired`",
        held: "never drift",
        test: "e2e/tests/composed/known.rs an_answer_about_something_else_is_no_drift",
    },
    Narrow {
        sequence: "Two targets have one external resource",
        injected: "an object of each target names the same resource, from the start or after an edit",
        held: "one object owns it. The deletion of the other one leaves the resource",
        test: "e2e/tests/composed/known.rs objects_of_two_targets_never_own_one_resource",
    },
    Narrow {
        sequence: "A claim was cleaned up",
        injected: "a target is away until the clean-up, others create the resource again, the target returns",
        held: "the claim stays lost",
        test: "e2e/tests/composed/known.rs a_claim_that_was_cleaned_up_stays_lost",
    },
    Narrow {
        sequence: "A version of a kind is no longer served",
        injected: "the API server serves the kind only in another version",
        held: "clean-up and release use the served version. They report nothing as gone",
        test: "shared/kube/src/cleanup/collector_tests.rs a_kind_served_in_another_version_is_not_gone",
    },
    Narrow {
        sequence: "Status writes fail during a deletion",
        injected: "the outcome of a correction cannot be written, and the object is deleted",
        held: "the controller still removes the finalizer",
        test: "e2e/tests/composed/known.rs a_deletion_waits_for_no_refused_status",
    },
    Narrow {
        sequence: "A deletion finds no resource",
        injected: "404 and 410",
        held: "the resource counts as gone, whatever `doneOn` says",
        test: "shared/language/src/tests.rs a_deletion_takes_what_is_gone_whatever_it_says",
    },
    Narrow {
        sequence: "SIGTERM comes between two steps of a correction",
        injected: "the controller gets SIGTERM after the first request",
        held: "it sends the remaining steps within the drain time",
        test: "controller/tests/acting/acts.rs a_begun_correction_goes_on_while_the_program_ends",
    },
    Narrow {
        sequence: "A first create is rejected",
        injected: "401, 403 or 429, then another writer creates the resource",
        held: "the claim allows a create and nothing else",
        test: "e2e/tests/composed/known.rs a_create_that_was_turned_away_owns_nothing",
    },
    Narrow {
        sequence: "A value could leave its segment of a URL",
        injected: "`..` and `.` between slashes: plain, encoded and doubly encoded",
        held: "RuleError, and nothing is sent",
        test: "shared/language/src/cel/tests.rs no_value_leads_out_of_its_segment",
    },
    Narrow {
        sequence: "etcd is restored to an older revision",
        injected: "a list returns objects with smaller versions than the known ones",
        held: "the live read decides",
        test: "controller/tests/acting/actor.rs a_list_of_a_smaller_version_is_checked_live",
    },
    Narrow {
        sequence: "Lists contain large objects",
        injected: "pages of objects of 1 MiB",
        held: "the next page asks for fewer objects. No page is kept as a whole",
        test: "shared/kube/src/client/pages.rs pages_of_large_objects_have_few",
    },
    Narrow {
        sequence: "Templates are too expensive",
        injected: "the owner of an object chooses large texts, lists, patterns and loops",
        held: "the cost is charged before the work. Then RuleError",
        test: "shared/language/src/cel/tests.rs what_would_cost_too_much_is_refused",
    },
    Narrow {
        sequence: "A worker thread is blocked",
        injected: "an evaluation blocks the threads of the program",
        held: "a separate thread renews the Lease",
        test: "shared/kube/src/lease/tests.rs a_worker_that_is_blocked_stops_no_renewal",
    },
    Narrow {
        sequence: "An external system asks one object to wait",
        injected: "429 with a long `Retry-After` for the URL of one object",
        held: "that object waits. The host waits only after three objects within 10 s",
        test: "shared/systems/src/guard/host_health.rs three_objects_told_within_ten_seconds_pause_the_host",
    },
    Narrow {
        sequence: "Objects ask for polls without pause",
        injected: "requested and regular polls wait at the same time",
        held: "of four polls, three are requested ones",
        test: "poller/src/engine/object/object_store/tests.rs of_four_turns_prompt_polls_take_three",
    },
    Narrow {
        sequence: "Many objects need a write",
        injected: "200 objects of one target at once",
        held: "at most eight writes of the target run at once",
        test: "controller/tests/acting/actor.rs a_target_has_few_writes_under_way_at_once",
    },
    Narrow {
        sequence: "A host hangs",
        injected: "three different objects in a row get no answer",
        held: "the host is paused for 1 to 30 s, with one probe",
        test: "shared/systems/src/guard/host_health.rs three_unanswered_objects_in_a_row_pause_the_host",
    },
    Narrow {
        sequence: "Many corrections wait for a silent host",
        injected: "a correction gets the probe of the host, and its claim is refused",
        held: "it reserves the probe before the claim. It returns the probe when it stops",
        test: "controller/tests/acting/acts.rs one_correction_has_the_silent_host",
    },
    Narrow {
        sequence: "Answers are malicious",
        injected: "1 MiB of empty maps, repeated keys, nesting, huge numbers or JSON texts. Any bytes and headers",
        held: "a verdict on that object alone, in bounded time",
        test: "poller/tests/hostile.rs a_mebibyte_of_anything_is_judged_in_time",
    },
    Narrow {
        sequence: "A host is paused while a collection is read",
        injected: "three other requests pause the host while a page is read",
        held: "the next page is not requested. The traversal is late. No object turns Unknown",
        test: "poller/src/run/reads/poll/tests.rs a_page_of_a_pausing_host_is_late",
    },
    Narrow {
        sequence: "A server answers 304",
        injected: "304 to requests with and without `If-None-Match`",
        held: "with the header, the state is unchanged. Without it: ExternalError",
        test: "poller/src/run/reads/poll/tests.rs an_unchanged_state_is_not_sent_again",
    },
    Narrow {
        sequence: "Large answers trickle",
        injected: "four come from one host, then from four hosts. Another answer waits for memory",
        held: "each host has a share of the memory. A late answer does not mark its host as silent",
        test: "shared/systems/src/http/tests/memory.rs a_host_that_trickles_keeps_no_other_waiting",
    },
    Narrow {
        sequence: "Live reads fail",
        injected: "the API server answers none of them",
        held: "the controller retries less and less often",
        test: "controller/tests/acting/actor.rs live_reads_that_fail_back_off",
    },
    Narrow {
        sequence: "Another writer removes the finalizer or edits a condition",
        injected: "it does so again as fast as the programs restore them",
        held: "the programs limit the rate of their own writes",
        test: "e2e/tests/composed/known.rs another_writer_is_answered_at_our_own_pace",
    },
    Narrow {
        sequence: "A verdict is replayed",
        injected: "another writer restores an earlier True",
        held: "no correction while the poller may contradict it",
        test: "e2e/tests/composed/known.rs a_replayed_verdict_is_not_acted_on",
    },
    Narrow {
        sequence: "A leader hangs",
        injected: "the main threads stop for more than 8 s",
        held: "it loses the Lease. The term does not resume",
        test: "shared/kube/src/lease/tests.rs a_leader_whose_work_hangs_loses_the_lease",
    },
    Narrow {
        sequence: "A machine is suspended",
        injected: "the boot clock runs ahead of the monotonic clock",
        held: "the suspended time counts for Leases and attestations",
        test: "shared/kube/src/process/clock.rs suspended_time_counts_and_slow_readings_do_not",
    },
    Narrow {
        sequence: "A Lease becomes stale during a request",
        injected: "the external system has not answered yet",
        held: "the controller cuts off the request",
        test: "controller/tests/acting/acts.rs a_stale_lease_cuts_off_a_request",
    },
    Narrow {
        sequence: "Steps are edited while an outcome is in doubt",
        injected: "`correct` is edited between two tries",
        held: "a poll comes first. The next try has another key",
        test: "e2e/tests/composed/known.rs another_request_has_another_key",
    },
    Narrow {
        sequence: "An old claim comes back",
        injected: "an object loses its label, another adopts its resource, the first gets its label back",
        held: "the second object keeps the resource. The first gives up its claim",
        test: "e2e/tests/composed/known.rs an_old_claim_that_comes_back_is_void",
    },
    Narrow {
        sequence: "An input of an approved correction changes",
        injected: "a label, a status field, a Secret or the target changes after the approval, for each action",
        held: "another approval is asked for",
        test: "controller/src/engine/decide/approval.rs whatever_changes_what_is_sent_asks_again",
    },
    Narrow {
        sequence: "An approved correction is read live",
        injected: "a label changes between the decision and the live read",
        held: "nothing is sent, and another approval is asked for",
        test: "controller/src/engine/target/tests.rs the_live_read_is_what_the_approval_must_match",
    },
    Narrow {
        sequence: "The breaker is open",
        injected: "random verdicts, edits of the limit, retries and restarts",
        held: "a held incident passes only by the end of the drift, a limit past it, or its own retry",
        test: "controller/src/engine/decide/mass_drift_breaker/tests.rs nothing_else_lets_a_held_incident_pass",
    },
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::path::Path;

    use crate::reliability::{FAULTS, HOSTILE};

    use super::*;

    /// Fails unless the file has a test of this name that is not ignored.
    fn ensure_is_a_test(test: &str) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let (file, function) = test.split_once(' ').unwrap();
        let text = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let (before, _) =
            text.split_once(&format!("fn {function}(")).unwrap_or_else(|| panic!("no {function} in {file}"));
        let attributes = before.rsplit("\n\n").next().unwrap();
        assert!(
            attributes.contains("#[test]") || attributes.contains("::test") || before.contains("proptest!"),
            "{test} is no test"
        );
        assert!(!attributes.contains("#[ignore"), "{test} is ignored");
    }

    #[test]
    fn every_row_names_a_test_that_exists() {
        NARROW.iter().chain(HOSTILE).for_each(|row| ensure_is_a_test(row.test));
        for fault in FAULTS {
            assert!(!fault.tests.is_empty(), "no test for: {}", fault.fault);
            fault.tests.iter().for_each(|test| ensure_is_a_test(test));
        }
    }
}
