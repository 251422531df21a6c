//! Hard sequences whose tests do not need the whole system: a table, a property, or a random history.
//!
//! The project keeps the least powerful test that can prove a behaviour. The document still needs a row for it. A row
//! names its test, and a test in this file fails if that test does not exist.

/// A sequence and its test.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    /// The sequence in a few words.
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
        sequence: "An answer about something else",
        injected: "`200 {\"error\": \"maintenance\"}`, and other answers in which no field of `desired` occurs",
        held: "never drift",
        test: "e2e/tests/composed/known.rs an_answer_about_something_else_is_no_drift",
    },
    Narrow {
        sequence: "Two targets, one external resource",
        injected: "an object of each of two targets names the same resource, from the start or by an edit",
        held: "one of both owns it; the other's deletion leaves it",
        test: "e2e/tests/composed/known.rs objects_of_two_targets_never_own_one_resource",
    },
    Narrow {
        sequence: "A claim that was cleaned up",
        injected: "a target is away for longer than the clean-up takes, others make the resource anew, the target comes back",
        held: "the claim stays lost",
        test: "e2e/tests/composed/known.rs a_claim_that_was_cleaned_up_stays_lost",
    },
    Narrow {
        sequence: "A version of a kind that is no longer served",
        injected: "the API server serves the kind in another version only",
        held: "clean-up and release ask that one, and report nothing as gone",
        test: "shared/kube/src/cleanup/collector_tests.rs a_kind_served_in_another_version_is_not_gone",
    },
    Narrow {
        sequence: "A deletion while status writes are refused",
        injected: "the outcome of a correction cannot be written, and the object is deleted",
        held: "the finalizer goes all the same",
        test: "e2e/tests/composed/known.rs a_deletion_waits_for_no_refused_status",
    },
    Narrow {
        sequence: "A deletion that finds nothing",
        injected: "404 and 410",
        held: "count as gone, whatever `doneOn` says",
        test: "shared/language/src/tests.rs a_deletion_takes_what_is_gone_whatever_it_says",
    },
    Narrow {
        sequence: "SIGTERM between two steps of a correction",
        injected: "the program is told to end after the first request",
        held: "the steps that are left go out within the drain time",
        test: "controller/tests/acting/acts.rs a_begun_correction_goes_on_while_the_program_ends",
    },
    Narrow {
        sequence: "A first create that is turned away",
        injected: "401, 403 or 429, then somebody else makes the resource",
        held: "the claim permits to create and nothing else",
        test: "e2e/tests/composed/known.rs a_create_that_was_turned_away_owns_nothing",
    },
    Narrow {
        sequence: "Values that lead out of their segment",
        injected: "`..` and `.` between slashes, plain, encoded and doubly encoded",
        held: "RuleError, and nothing is sent",
        test: "shared/language/src/cel/tests.rs no_value_leads_out_of_its_segment",
    },
    Narrow {
        sequence: "etcd restored to an older revision",
        injected: "a list shows objects with smaller versions than those that are known",
        held: "the live read wins",
        test: "controller/tests/acting/actor.rs a_list_of_a_smaller_version_is_checked_live",
    },
    Narrow {
        sequence: "Lists of large objects",
        injected: "pages of objects of a megabyte",
        held: "the next page asks for fewer; no page is held whole",
        test: "shared/kube/src/client/pages.rs pages_of_large_objects_have_few",
    },
    Narrow {
        sequence: "Templates that cost too much",
        injected: "large texts, lists, patterns and loops chosen by an object's owner",
        held: "charged before they are spent, then RuleError",
        test: "shared/language/src/cel/tests.rs what_would_cost_too_much_is_refused",
    },
    Narrow {
        sequence: "A worker that is blocked",
        injected: "an evaluation holds up the program's threads",
        held: "the Lease is renewed by a thread of its own",
        test: "shared/kube/src/lease/tests.rs a_worker_that_is_blocked_stops_no_renewal",
    },
    Narrow {
        sequence: "One object told to wait",
        injected: "429 with a long `Retry-After` from the URL of one object",
        held: "that object waits; the host only after three within ten seconds",
        test: "shared/systems/src/guard/host_health.rs three_objects_told_within_ten_seconds_pause_the_host",
    },
    Narrow {
        sequence: "Objects that ask for polls without rest",
        injected: "polls asked for and regular ones wait at once",
        held: "of four turns those asked for take three",
        test: "poller/src/engine/object/object_store/tests.rs of_four_turns_prompt_polls_take_three",
    },
    Narrow {
        sequence: "Many objects in need of a write",
        injected: "two hundred objects of one target at once",
        held: "few writes of the target are under way at a time",
        test: "controller/tests/acting/actor.rs a_target_has_few_writes_under_way_at_once",
    },
    Narrow {
        sequence: "A host that hangs",
        injected: "three different objects in a row get no answer",
        held: "the host is paused for 1 to 30 s, with one probe",
        test: "shared/systems/src/guard/host_health.rs three_unanswered_objects_in_a_row_pause_the_host",
    },
    Narrow {
        sequence: "Many corrections wait for a silent host",
        injected: "the look at the host's pause, the claim, and what others see of the host while it is written",
        held: "one has the probe from before its claim on; called off, it gives it back",
        test: "controller/tests/acting/acts.rs one_correction_has_the_silent_host",
    },
    Narrow {
        sequence: "Answers of nothing but malice",
        injected: "a mebibyte of empty maps, keys that stand twice, depth, huge numbers, texts that hold JSON; any bytes and headers",
        held: "the object's own verdict, in bounded time, and nothing else",
        test: "poller/tests/hostile.rs a_mebibyte_of_anything_is_judged_in_time",
    },
    Narrow {
        sequence: "A pause in the midst of a collection",
        injected: "three others are told to wait while a page is under way",
        held: "the next page is not asked for; the traversal is late, and nobody turns Unknown",
        test: "poller/src/run/reads/poll/tests.rs a_page_of_a_pausing_host_is_late",
    },
    Narrow {
        sequence: "304 without having been asked",
        injected: "a server answers 304 to a request with and without `If-None-Match`",
        held: "only our own is what it was before; the other is ExternalError",
        test: "poller/src/run/reads/poll/tests.rs an_unchanged_state_is_not_sent_again",
    },
    Narrow {
        sequence: "Large answers that trickle",
        injected: "four at once from one host; then from four hosts, while another answer waits for memory",
        held: "a host has a share of the memory; who waits is late, and no host is held to be silent because of it",
        test: "shared/systems/src/http/tests/memory.rs a_host_that_trickles_keeps_no_other_waiting",
    },
    Narrow {
        sequence: "Live reads that fail",
        injected: "the API server answers none of them",
        held: "they are tried less and less often",
        test: "controller/tests/acting/actor.rs live_reads_that_fail_back_off",
    },
    Narrow {
        sequence: "Somebody strips our finalizer or alters our text",
        injected: "again and again, as fast as it is put back",
        held: "answered at our own pace",
        test: "e2e/tests/composed/known.rs another_writer_is_answered_at_our_own_pace",
    },
    Narrow {
        sequence: "A replayed verdict",
        injected: "another writer puts back a True of before",
        held: "not acted on while the poller may contradict it",
        test: "e2e/tests/composed/known.rs a_replayed_verdict_is_not_acted_on",
    },
    Narrow {
        sequence: "A leader whose work hangs",
        injected: "the main threads stand still for over eight seconds",
        held: "it loses the Lease, and the term does not come back",
        test: "shared/kube/src/lease/tests.rs a_leader_whose_work_hangs_loses_the_lease",
    },
    Narrow {
        sequence: "A machine that is suspended",
        injected: "the boot clock runs ahead of the monotonic one",
        held: "the time counts for Leases and attestations",
        test: "shared/kube/src/process/clock.rs suspended_time_counts_and_slow_readings_do_not",
    },
    Narrow {
        sequence: "A Lease that goes stale during a request",
        injected: "the external system has not answered yet",
        held: "the request is cut off",
        test: "controller/tests/acting/acts.rs a_stale_lease_cuts_off_a_request",
    },
    Narrow {
        sequence: "Steps edited while an outcome is in doubt",
        injected: "`correct` is edited between two tries",
        held: "another key, and a poll before it",
        test: "e2e/tests/composed/known.rs another_request_has_another_key",
    },
    Narrow {
        sequence: "An old claim that comes back",
        injected: "an object loses its label, another adopts its resource, the label is set back",
        held: "the second keeps it, the first gives its claim up",
        test: "e2e/tests/composed/known.rs an_old_claim_that_comes_back_is_void",
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
