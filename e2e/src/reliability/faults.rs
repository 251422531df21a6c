//! Thirty production faults of a pair of controllers, and their tests.
//!
//! A fault is covered if a test causes it and checks the required behaviour. If the test uses fewer objects, less time
//! or a model, the fault is partly covered. Its row names the missing part.

/// A fault and its tests.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Short description of the fault.
    pub fault: &'static str,
    /// Tests. Each is a file in this repository, a space and a function.
    pub tests: &'static [&'static str],
    /// The part without a test. Empty if the fault is covered.
    pub missing: &'static str,
}

/// The faults, in the order of the document.
pub const FAULTS: &[Fault] = &[
    Fault {
        fault: "The poller dies at each point between a read and a write",
        tests: &[
            "e2e/tests/crashes.rs a_poller_dies_during_a_creation",
            "e2e/tests/crashes.rs a_poller_dies_during_an_update",
        ],
        missing: "",
    },
    Fault {
        fault: "The controller dies between the external write and its record",
        tests: &["e2e/tests/crashes.rs a_controller_that_dies_creating_is_succeeded"],
        missing: "",
    },
    Fault {
        fault: "A restart with many unchanged objects",
        tests: &["e2e/tests/silence.rs fifty_quiet_intervals_cost_no_write"],
        missing: "100,000 objects",
    },
    Fault {
        fault: "A restart during many corrections",
        tests: &["e2e/tests/storms.rs three_hundred_are_healed_within_the_limits"],
        missing: "10,000 objects",
    },
    Fault {
        fault: "Watch events are late while a spec changes to B, back to A and to C",
        tests: &["e2e/tests/api_server/behind.rs a_held_watch_corrects_no_old_spec"],
        missing: "",
    },
    Fault {
        fault: "The API server returns an old state",
        tests: &[
            "e2e/tests/api_server/behind.rs minutes_behind_no_old_spec_is_corrected",
            "e2e/tests/api_server/behind.rs a_start_on_a_stale_list_corrects_no_old_spec",
        ],
        missing: "a second API server on the same etcd. The test simulates one with old lists and late events",
    },
    Fault {
        fault: "Repeated 410 Gone, also within a list",
        tests: &[
            "shared/kube/src/watch/collection.rs a_forgotten_version_is_listed_again",
            "e2e/tests/api_server.rs forgotten_versions_end_no_poll",
        ],
        missing: "memory use over hours",
    },
    Fault {
        fault: "A half-open watch",
        tests: &["e2e/tests/staleness.rs a_dead_watch_attests_nothing"],
        missing: "detection within 60 s. It takes 105 to 190 s. From then on, the watch attests nothing",
    },
    Fault {
        fault: "Broken frames, and an object that cannot be decoded",
        tests: &[
            "e2e/tests/api_server.rs answers_cut_off_or_garbled_are_asked_again",
            "e2e/tests/deep_objects.rs a_deep_object_blinds_nobody",
        ],
        missing: "",
    },
    Fault {
        fault: "429 from the API server",
        tests: &["e2e/tests/api_server.rs too_many_requests_delay_and_lose_nothing"],
        missing: "",
    },
    Fault {
        fault: "Another writer changes the object continuously",
        tests: &["e2e/tests/ordering.rs writers_who_never_rest_lose_nothing"],
        missing: "",
    },
    Fault {
        fault: "5xx from the API server for minutes",
        tests: &[
            "e2e/tests/api_server.rs errors_for_everything_leave_no_trace",
            "e2e/tests/api_server.rs ten_minutes_of_errors_leave_no_trace",
        ],
        missing: "etcd without free space",
    },
    Fault {
        fault: "The leader is frozen for longer than its Lease",
        tests: &[
            "e2e/tests/replicas.rs a_controller_frozen_past_its_lease_writes_nothing",
            "e2e/tests/replicas.rs a_poller_frozen_past_its_lease_writes_nothing",
        ],
        missing: "",
    },
    Fault {
        fault: "A clock is wrong by an hour",
        tests: &["e2e/tests/replicas.rs a_clock_an_hour_off_changes_nothing"],
        missing: "",
    },
    Fault {
        fault: "The leader is cut off from the API server",
        tests: &["e2e/tests/replicas.rs a_leader_cut_off_ends_before_another_begins"],
        missing: "",
    },
    Fault {
        fault: "Some hosts hang, others answer",
        tests: &[
            "e2e/tests/host_outage.rs an_outage_is_written_and_delays_nobody",
            "shared/systems/src/guard/host_health.rs three_unanswered_objects_in_a_row_pause_the_host",
        ],
        missing: "50 of 100 hosts hang",
    },
    Fault {
        fault: "Answers trickle, never end, or expand",
        tests: &["e2e/tests/misbehaving.rs no_misbehaviour_outside_is_called_drift"],
        missing: "",
    },
    Fault {
        fault: "DNS fails, is slow, or changes to another address",
        tests: &["e2e/tests/destinations.rs an_object_leads_to_no_forbidden_network"],
        missing: "slow DNS, SERVFAIL",
    },
    Fault {
        fault: "TLS fails, and certificates rotate",
        tests: &[
            "shared/systems/src/http/tests/tls.rs a_certificate_for_another_name_is_refused",
            "shared/systems/src/http/tests/client_certificate.rs a_rotated_certificate_is_shown_from_the_next_request_on",
        ],
        missing: "",
    },
    Fault {
        fault: "200 with a hostile body",
        tests: &["poller/tests/hostile.rs a_mebibyte_of_anything_is_judged_in_time"],
        missing: "",
    },
    Fault {
        fault: "A collection is incomplete or contradicts itself",
        tests: &[
            "e2e/tests/reading.rs a_collection_read_in_part_says_nothing",
            "e2e/tests/reading.rs a_collection_with_a_wrong_page_says_nothing",
        ],
        missing: "",
    },
    Fault {
        fault: "Most objects drift at once",
        tests: &["e2e/tests/storms.rs mass_drift_is_held_after_nine_corrections"],
        missing: "",
    },
    Fault {
        fault: "A value changes at every poll",
        tests: &[
            "poller/src/engine/object/object_state/published_tests.rs a_verdict_that_alternates_is_written_seldom",
            "e2e/tests/misbehaving.rs a_flapping_host_costs_a_bucket_of_writes",
        ],
        missing: "",
    },
    Fault {
        fault: "The resource drifts again after each correction",
        tests: &["e2e/tests/corrections.rs who_undoes_every_heal_slows_corrections_down"],
        missing: "",
    },
    Fault {
        fault: "The external system lags, or returns a value in another form",
        tests: &["e2e/tests/corrections.rs a_lagging_outside_gets_one_write"],
        missing: "",
    },
    Fault {
        fault: "An object is deleted and recreated during a poll",
        tests: &["e2e/tests/ordering.rs an_object_made_anew_gets_no_old_verdict"],
        missing: "",
    },
    Fault {
        fault: "A spec is edited during a poll or a correction",
        tests: &[
            "e2e/tests/ordering.rs a_poll_of_the_old_spec_says_nothing",
            "e2e/tests/ordering.rs an_edit_during_a_correction_follows_it",
        ],
        missing: "",
    },
    Fault {
        fault: "Deletions: the external system is down, the target is gone, the ConfigMap is missing",
        tests: &[
            "e2e/tests/deletion.rs a_deletion_waits_for_a_dead_outside",
            "e2e/tests/deletion.rs a_removed_target_lets_its_objects_go",
            "e2e/tests/missing.rs a_missing_target_shows_until_it_is_back",
        ],
        missing: "",
    },
    Fault {
        fault: "Malicious objects",
        tests: &[
            "e2e/tests/destinations.rs an_object_leads_to_no_forbidden_network",
            "e2e/tests/jobs/tenants.rs stuck_jobs_of_a_tenant_hold_up_no_other",
            "e2e/tests/crowded.rs a_crowd_that_cannot_be_written_keeps_back_its_namespace",
        ],
        missing: "100,000 objects in one namespace",
    },
    Fault {
        fault: "Missing rights, expired tokens, a CRD deleted and recreated, SIGTERM",
        tests: &[
            "e2e/tests/rights.rs the_poller_names_each_missing_right",
            "e2e/tests/api_server/kinds_anew.rs a_kind_made_anew_is_polled_and_corrected",
        ],
        missing: "an expired token",
    },
];
