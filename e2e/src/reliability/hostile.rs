//! Sequences caused by a hostile or broken system or tenant, tested by narrow tests.

use super::Narrow;

/// The rows, in the order of the document.
pub const HOSTILE: &[Narrow] = &[
    Narrow {
        sequence: "A PostgreSQL server with endless types",
        injected: "type look-ups are answered with a cyclic type, with 20,000 nested ones, or with a look-up that needs another",
        held: "the poll or correction fails after fewer than 200 look-ups; another server is answered meanwhile",
        test: "shared/systems/src/postgres/tests/mod.rs endless_types_end_the_query_alone",
    },
    Narrow {
        sequence: "A PostgreSQL server that announces settings without end",
        injected: "100 KiB of new settings with each answer",
        held: "the connection is replaced after 1 MiB or ten minutes",
        test: "shared/systems/src/postgres/tests/mod.rs announced_settings_do_not_pile_up",
    },
    Narrow {
        sequence: "A PostgreSQL role that is dropped and made again",
        injected: "each session that is older than the role is refused (42501)",
        held: "the next poll or correction opens a new session, at most once in 10 s for a target, and succeeds",
        test: "shared/systems/src/postgres/tests/mod.rs a_refused_query_is_asked_anew",
    },
    Narrow {
        sequence: "A PostgreSQL server that is not verified",
        injected: "a server without a verified certificate asks for the password",
        held: "the password is sent only where the target says `insecure: true`",
        test: "shared/systems/src/postgres/tests/mod.rs a_password_goes_only_to_a_verified_server",
    },
    Narrow {
        sequence: "An answer with 199,000 differences",
        injected: "lists, sets, keyed lists and maps of 199,000 items beside an empty one",
        held: "the comparison allocates less than eight times the bytes of the answer",
        test: "poller/tests/allocations.rs comparing_allocates_in_proportion_to_the_answer",
    },
    Narrow {
        sequence: "A gateway's 404 to a read of text",
        injected: "404 and 410 with an HTML page, a word and a blank, under `as: text`",
        held: "only an empty body is absence",
        test: "poller/src/engine/poll/http_reply/tests.rs only_an_empty_404_is_absence_for_text",
    },
    Narrow {
        sequence: "An answer that lacks a field",
        injected: "each function and operator is called with a field that the answer lacks",
        held: "ResponseInvalid, confirmed like any failed read; never RuleError",
        test: "shared/language/src/cel/check/mistake.rs a_field_that_an_answer_lacks_is_its_own_mistake",
    },
    Narrow {
        sequence: "A look-up by POST finds somebody else's resource",
        injected: "a create begins with a POST that `reads: true`",
        held: "no finalizer, no claim, no write",
        test: "controller/tests/acting/acts.rs a_post_that_reads_and_finds_claims_nothing",
    },
    Narrow {
        sequence: "A replacement that changes nothing",
        injected: "a replacement is accepted, and the same field differs in the next verdict",
        held: "nothing is taken away again: AttemptsExhausted names the field",
        test: "controller/src/engine/decide/tests.rs a_replacement_in_vain_is_not_repeated",
    },
    Narrow {
        sequence: "An object that cannot be decoded",
        injected: "lists and events hold one",
        held: "the others are seen, and the next watch begins after it",
        test: "shared/kube/src/watch/collection.rs an_unreadable_object_is_passed_over",
    },
    Narrow {
        sequence: "A namespace full of labelled Secrets",
        injected: "100 Secrets of 64 KiB, then 10,000 empty ones",
        held: "the controller keeps at most 1 MiB; the others count as missing, with a warning",
        test: "shared/kube/src/watch/secrets.rs tenants_secrets_have_a_total",
    },
    Narrow {
        sequence: "An edit of a field that addresses a request",
        injected: "targets whose URL or statement reads a field that the identity lacks",
        held: "the target is refused, unless it says that the field chooses no resource",
        test: "shared/language/src/checks/addressing/tests.rs a_field_of_an_address_is_in_the_identity",
    },
    Narrow {
        sequence: "A grant of any role",
        injected: "targets whose GRANT names a field that no `require` bounds",
        held: "`check` warns",
        test: "shared/language/src/checks/unbounded_grants.rs a_grant_of_an_unbounded_name_is_told",
    },
    Narrow {
        sequence: "Jobs without a Pod",
        injected: "a tenant's Jobs are begun and never end",
        held: "they hold up their own namespace alone; a deletion has a place of its own",
        test: "controller/src/engine/correction_limits.rs begun_jobs_hold_up_their_own_namespace_alone",
    },
    Narrow {
        sequence: "A Secret that many corrections lack",
        injected: "objects whose Secret is missing",
        held: "no live read in an hour; corrected once the Secret is there",
        test: "controller/tests/acting/actor.rs a_missing_secret_costs_no_reads",
    },
    Narrow {
        sequence: "Many objects to read live at once",
        injected: "500 objects after an etcd restore; the first 32 reads are refused",
        held: "at most 16 reads are under way; all objects are read, and a write waits for none of them",
        test: "shared/kube/src/object_writer.rs objects_are_read_anew_within_the_slots",
    },
    Narrow {
        sequence: "Headers without end on the admin port",
        injected: "many connections send headers that never end",
        held: "the port answers others meanwhile",
        test: "shared/kube/src/telemetry/admin.rs endless_headers_block_no_other_client",
    },
    Narrow {
        sequence: "A term whose work fails again and again",
        injected: "the work of a leader ends by itself",
        held: "the next term begins after 2 to 60 s",
        test: "shared/kube/src/lease/tests.rs work_that_fails_in_a_term_is_paused",
    },
    Narrow {
        sequence: "A target that is removed",
        injected: "targets come and go",
        held: "the controller's memory of their objects ends after an hour",
        test: "controller/src/run/handover.rs a_target_that_is_gone_leaves_nothing_for_ever",
    },
    Narrow {
        sequence: "A verdict that alternates",
        injected: "480 polls find drift and in sync in turn",
        held: "at most 16 writes, and none after the first 240 polls",
        test: "poller/src/engine/object/object_state/published_tests.rs a_verdict_that_alternates_is_written_seldom",
    },
    Narrow {
        sequence: "404 from a system that chooses the ids",
        injected: "each poll of a resource that was in sync finds nothing",
        held: "it counts as missing after 10 s; after 1 s where the client names it",
        test: "poller/src/engine/object/object_state/tests.rs absence_is_confirmed_longer_where_the_server_chooses_ids",
    },
    Narrow {
        sequence: "Answers that steps keep",
        injected: "four reads at once keep 4 MB of values each and stall",
        held: "one keeps its answer, three are late and keep none",
        test: "poller/src/run/reads/sources/http/tests.rs answers_that_are_kept_have_a_hosts_share",
    },
    Narrow {
        sequence: "A next page with a long URL",
        injected: "8 KiB and a byte",
        held: "the traversal is ResponseInvalid",
        test: "poller/src/engine/collection/traversal/tests.rs a_page_has_no_longer_url_than_other_requests",
    },
    Narrow {
        sequence: "Patterns of an object",
        injected: "twelve patterns with thousands of states each",
        held: "the evaluation takes 5 MB",
        test: "poller/tests/allocations.rs patterns_of_an_object_take_little_memory",
    },
    Narrow {
        sequence: "Metadata services of clouds",
        injected: "hosts lead to metadata addresses, also translated ones",
        held: "no connection is opened",
        test: "shared/systems/src/guard/dialling.rs a_literal_host_leads_to_no_metadata_server",
    },
    Narrow {
        sequence: "Terminal escapes",
        injected: "reasons, messages, keys and values hold ESC, U+009B and U+202E",
        held: "the table of `get`, `explain` and conditions show none of them; `-o json` and `-o yaml` give the texts as they stand",
        test: "cli/src/explain/explanation/tests.rs no_foreign_text_reaches_the_terminal_as_it_is",
    },
    Narrow {
        sequence: "A verdict from the future",
        injected: "the verdict's `lastTransitionTime` is in 2099",
        held: "it is held for 10 s",
        test: "controller/tests/acting/actor.rs a_verdict_from_the_future_is_held",
    },
    Narrow {
        sequence: "Drifted objects that turn Unknown",
        injected: "ten of 18 objects drift and turn Unknown",
        held: "the breaker says 10 of 18",
        test: "controller/src/engine/decide/mass_drift_breaker/tests.rs drifted_objects_that_are_unknown_now_count_on_both_sides",
    },
    Narrow {
        sequence: "An object that is being deleted",
        injected: "objects with any verdict are deleted",
        held: "`get` shows Deleting, and no filter or exit code counts the old verdict",
        test: "cli/src/get/rows/tests.rs what_is_being_deleted_has_no_verdict",
    },
    Narrow {
        sequence: "A namespace whose objects cannot be written",
        injected: "many refused and late verdicts in several namespaces",
        held: "only the crowded namespaces are excepted",
        test: "poller/src/engine/object/owed_verdicts.rs a_crowded_namespace_keeps_back_only_itself",
    },
];
