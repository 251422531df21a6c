//! Rows of unit tests and simulations about hostile or broken systems and tenants.

use super::Narrow;

/// The rows, in the order of the document.
pub const HOSTILE: &[Narrow] = &[
    Narrow {
        sequence: "A PostgreSQL server returns endless types",
        injected: "type look-ups return a cyclic type, 20,000 nested types, or make a look-up need another",
        held: "the poll or correction fails after fewer than 200 look-ups. Other servers answer meanwhile",
        test: "shared/systems/src/postgres/tests/mod.rs endless_types_end_the_query_alone",
    },
    Narrow {
        sequence: "A PostgreSQL server announces endless settings",
        injected: "100 KiB of new settings come with each answer",
        held: "the connection is replaced after 1 MiB or 10 minutes",
        test: "shared/systems/src/postgres/tests/mod.rs announced_settings_do_not_pile_up",
    },
    Narrow {
        sequence: "A PostgreSQL role is dropped and created again",
        injected: "the server rejects each session that is older than the role (42501)",
        held: "the next try opens a new session and succeeds. A target does so at most once in 10 s",
        test: "shared/systems/src/postgres/tests/mod.rs a_refused_query_is_asked_anew",
    },
    Narrow {
        sequence: "A PostgreSQL server is not verified",
        injected: "`sslmode` is `require` or `disable`, for a host that is not loopback or a cluster Service",
        held: "the password is sent only if the target has `insecure: true`",
        test: "shared/systems/src/postgres/tests/mod.rs a_password_goes_only_to_a_verified_server",
    },
    Narrow {
        sequence: "An answer has 199,000 differences",
        injected: "lists, sets, keyed lists and maps of 199,000 items are compared with an empty one",
        held: "the comparison allocates at most eight times the size of the answer",
        test: "poller/tests/allocations.rs comparing_allocates_in_proportion_to_the_answer",
    },
    Narrow {
        sequence: "A gateway answers 404 to a read of text",
        injected: "404 and 410 come with an HTML page, a word or a blank, under `as: text`",
        held: "only an empty body means that the resource is missing",
        test: "poller/src/engine/poll/http_reply/tests.rs only_an_empty_404_is_absence_for_text",
    },
    Narrow {
        sequence: "An answer lacks a field",
        injected: "each function and operator reads a field that the answer lacks",
        held: "ResponseInvalid, confirmed like any failed read. Never RuleError",
        test: "shared/language/src/cel/check/mistake.rs a_field_that_an_answer_lacks_is_its_own_mistake",
    },
    Narrow {
        sequence: "A look-up by POST finds another owner's resource",
        injected: "a create begins with a POST with `reads: true`",
        held: "no finalizer, no claim, no write",
        test: "controller/tests/acting/acts.rs a_post_that_reads_and_finds_claims_nothing",
    },
    Narrow {
        sequence: "A replacement changes nothing",
        injected: "a replacement is accepted, and the same field still differs",
        held: "no second replacement. AttemptsExhausted names the field",
        test: "controller/src/engine/decide/tests.rs a_replacement_in_vain_is_not_repeated",
    },
    Narrow {
        sequence: "An object cannot be decoded",
        injected: "lists and watch events contain one",
        held: "the other objects are read. The next watch begins after it",
        test: "shared/kube/src/watch/collection.rs an_unreadable_object_is_passed_over",
    },
    Narrow {
        sequence: "A namespace is full of labelled Secrets",
        injected: "100 Secrets of 64 KiB, then 10,000 empty ones",
        held: "the controller keeps at most 1 MiB. The rest count as missing, with a warning",
        test: "shared/kube/src/watch/secrets.rs tenants_secrets_have_a_total",
    },
    Narrow {
        sequence: "An edit could change the address of a request",
        injected: "the URL or statement reads a field that the identity lacks",
        held: "the target is rejected, unless it declares that the field chooses no resource",
        test: "shared/language/src/checks/addressing/tests.rs a_field_of_an_address_is_in_the_identity",
    },
    Narrow {
        sequence: "A GRANT could name any role",
        injected: "the GRANT names a field that no `require` limits",
        held: "`check` warns",
        test: "shared/language/src/checks/unbounded_grants.rs a_grant_of_an_unbounded_name_is_told",
    },
    Narrow {
        sequence: "Jobs never get a Pod",
        injected: "the Jobs of a tenant start and never end",
        held: "they block only their own namespace. A deletion there has a slot of its own",
        test: "controller/src/engine/correction_limits.rs begun_jobs_hold_up_their_own_namespace_alone",
    },
    Narrow {
        sequence: "Many corrections lack a Secret",
        injected: "objects wait for a missing Secret",
        held: "no live read in an hour. The correction runs once the Secret exists",
        test: "controller/tests/acting/actor.rs a_missing_secret_costs_no_reads",
    },
    Narrow {
        sequence: "Many objects need a live read at once",
        injected: "500 objects after an etcd restore. The first 32 reads fail",
        held: "at most 16 reads run at once. All objects are read. Writes do not wait for the reads",
        test: "shared/kube/src/object_writer.rs objects_are_read_anew_within_the_slots",
    },
    Narrow {
        sequence: "Clients send endless headers to the admin port",
        injected: "many connections send headers that never end",
        held: "the port still answers other clients",
        test: "shared/kube/src/telemetry/admin.rs endless_headers_block_no_other_client",
    },
    Narrow {
        sequence: "The work of a leader fails repeatedly",
        injected: "the work ends by itself in each term",
        held: "the next term begins after 2 to 60 s",
        test: "shared/kube/src/lease/tests.rs work_that_fails_in_a_term_is_paused",
    },
    Narrow {
        sequence: "Targets come and go",
        injected: "targets are removed",
        held: "the controller forgets their objects after an hour",
        test: "controller/src/run/handover.rs a_target_that_is_gone_leaves_nothing_for_ever",
    },
    Narrow {
        sequence: "A verdict alternates",
        injected: "480 polls find drift and in sync in turn",
        held: "at most 16 writes in the first 240 polls, and none after them",
        test: "poller/src/engine/object/object_state/published_tests.rs a_verdict_that_alternates_is_written_seldom",
    },
    Narrow {
        sequence: "A system that chooses the ids answers 404",
        injected: "each poll of a resource that was in sync finds nothing",
        held: "the resource counts as missing after 10 s. If the client chooses the id: after 1 s",
        test: "poller/src/engine/object/object_state/tests.rs absence_is_confirmed_longer_where_the_server_chooses_ids",
    },
    Narrow {
        sequence: "Steps keep large values of answers",
        injected: "four reads at once keep 4 MB of values each and stall",
        held: "one read keeps its answer. The other three are late and keep none",
        test: "poller/src/run/reads/sources/http/tests.rs answers_that_are_kept_have_a_hosts_share",
    },
    Narrow {
        sequence: "The next page has a long URL",
        injected: "the URL has 8 KiB and one byte",
        held: "the traversal is ResponseInvalid",
        test: "poller/src/engine/collection/traversal/tests.rs a_page_has_no_longer_url_than_other_requests",
    },
    Narrow {
        sequence: "An object contains expensive patterns",
        injected: "twelve patterns have thousands of states each",
        held: "the evaluation takes less than 16 MiB of memory",
        test: "poller/tests/allocations.rs patterns_of_an_object_take_little_memory",
    },
    Narrow {
        sequence: "A host leads to the metadata service of a cloud",
        injected: "hosts resolve to metadata addresses, also to translated ones",
        held: "no connection is opened",
        test: "shared/systems/src/guard/dialling.rs a_literal_host_leads_to_no_metadata_server",
    },
    Narrow {
        sequence: "External text contains terminal escapes",
        injected: "reasons, messages, keys and values contain ESC, U+009B and U+202E",
        held: "conditions, `explain` and the table of `get` show none of them. `-o json` and `-o yaml` keep them",
        test: "cli/src/explain/explanation/tests.rs no_foreign_text_reaches_the_terminal_as_it_is",
    },
    Narrow {
        sequence: "A verdict comes from the future",
        injected: "the `lastTransitionTime` of the verdict is in 2099",
        held: "the controller waits 10 s before it acts",
        test: "controller/tests/acting/actor.rs a_verdict_from_the_future_is_held",
    },
    Narrow {
        sequence: "Drifted objects turn Unknown",
        injected: "ten of 18 objects drift and turn Unknown",
        held: "the breaker counts 10 of 18",
        test: "controller/src/engine/decide/mass_drift_breaker/tests.rs drifted_objects_that_are_unknown_now_count_on_both_sides",
    },
    Narrow {
        sequence: "An object is being deleted",
        injected: "objects with any verdict are deleted",
        held: "`get` shows Deleting. No filter or exit code counts the old verdict",
        test: "cli/src/get/rows/tests.rs what_is_being_deleted_has_no_verdict",
    },
    Narrow {
        sequence: "The objects of a namespace cannot be written",
        injected: "many verdicts are refused or late in several namespaces",
        held: "only the crowded namespaces are excepted",
        test: "poller/src/engine/object/owed_verdicts.rs a_crowded_namespace_keeps_back_only_itself",
    },
];
