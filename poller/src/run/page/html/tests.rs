//! Tests of the page's HTML.

use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::condition::ConditionStatus;
use drift_api::held_corrections::{Held, HeldCorrections, Hold, TargetHolds};
use drift_api::object::ObjectId;

use super::*;
use crate::engine::object::overview::{Next, ObjectRow, RowCondition, TargetOverview, VerdictCounts};
use crate::run::page::content::{TargetLine, parse};
use crate::run::page::controller_holds::ControllerHolds;

fn condition(status: ConditionStatus, reason: &str, text: &str) -> RowCondition {
    let since = "2026-01-01T00:00:00Z".to_owned();
    RowCondition { status, reason: reason.to_owned(), text: text.to_owned(), since }
}

fn row(name: &str, verdict: Option<RowCondition>) -> ObjectRow {
    ObjectRow {
        id: ObjectId { namespace: Some("team-a".into()), name: name.into(), uid: name.into() },
        verdict,
        deleting: false,
        correction: None,
        next: Next::Nothing,
        awaits_controller: false,
        hold: None,
        marks: Vec::new(),
        next_poll: Some(Duration::from_secs(12)),
        alike: 1,
    }
}

fn drifted(name: &str) -> ObjectRow {
    let text = "2 fields differ: /ttl desired 300, observed 60; /token (redacted)";
    row(name, Some(condition(ConditionStatus::True, "FieldsDiffer", text)))
}

/// A drifted object that its target or itself holds.
fn held_by(why: Held, name: &str) -> ObjectRow {
    ObjectRow { next: Next::Held(why), hold: Some(Hold::from(why)), ..drifted(name) }
}

fn unknown(name: &str) -> ObjectRow {
    let verdict = condition(ConditionStatus::Unknown, "ExternalUnreachable", "no connection to the external system");
    row(name, Some(verdict))
}

fn line(name: &str, rows: Vec<ObjectRow>) -> TargetLine {
    let count = |status| rows.iter().filter(|row| row.verdict.as_ref().is_some_and(|it| it.status == status)).count();
    let counts = VerdictCounts {
        drifted: count(ConditionStatus::True),
        unknown: count(ConditionStatus::Unknown),
        in_sync: count(ConditionStatus::False),
        deleting: 0,
    };
    TargetLine {
        name: name.to_owned(),
        api_version: "net.example/v1".to_owned(),
        kind: "DnsRecord".to_owned(),
        interval: Duration::from_secs(90),
        mode: "Correct",
        attestation: Some(Attestation::default()),
        held: Vec::new(),
        listed_holds: TargetHolds::default(),
        overview: Some(TargetOverview { counts, matching: rows.len(), rows, ..TargetOverview::default() }),
    }
}

fn content(query: &str, targets: Vec<TargetLine>) -> Content {
    Content {
        question: parse(query),
        now: "2026-01-01T00:00:09Z".parse().unwrap_or_default(),
        leader_elsewhere: None,
        problems: Vec::new(),
        unread_holds: None,
        targets,
    }
}

/// The page without its tags.
fn text(content: &Content) -> String {
    let page = page(content);
    let texts = page.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    texts.collect::<Vec<_>>().join("")
}

#[test]
fn foreign_text_is_never_markup() {
    let hostile = "<script>alert(1)</script>\"'&";
    let mut row = row(hostile, Some(condition(ConditionStatus::True, hostile, hostile)));
    row.correction = Some(condition(ConditionStatus::True, hostile, hostile));
    let change = format!("1 field differs: /{hostile} desired {hostile}, observed {hostile}");
    let mut differing = drifted("b");
    differing.verdict =
        Some(RowCondition { since: hostile.to_owned(), ..condition(ConditionStatus::True, "FieldsDiffer", &change) });
    let mut line = line(hostile, vec![row, differing, unknown(hostile)]);
    (line.kind, line.api_version, line.held) =
        (hostile.to_owned(), hostile.to_owned(), vec![Hold::by(Held::Paused, hostile, "")]);
    let query = "target=%3Cscript%3E&search=%3Cscript%3E&shown=drifted";
    let page = page(&Content { problems: vec![hostile.to_owned()], ..content(query, vec![line]) });
    assert!(!page.contains("<script>") && !page.contains("\"'&"), "{page}");
    assert!(page.contains("value=\"&lt;script&gt;\""), "{page}");
}

#[test]
fn the_headline_is_in_title_and_icon() {
    let in_sync = row("c", Some(condition(ConditionStatus::False, "InSync", "x")));
    let table = [
        (vec![drifted("a"), unknown("b"), in_sync.clone()], "1 drifted · 1 unknown · 1 in sync", "drifted"),
        (vec![unknown("b"), in_sync.clone()], "0 drifted · 1 unknown · 1 in sync", "unknown"),
        (vec![in_sync], "0 drifted · 0 unknown · 1 in sync", "in-sync"),
    ];
    for (rows, headline, icon) in table {
        let content = content("", vec![line("a", rows)]);
        let page = page(&content);
        assert!(page.contains(&format!("<title>{headline} – drift</title>")), "{page}");
        assert!(page.contains(&format!("href=\"icon-{icon}.svg\"")), "{page}");
        assert!(text(&content).contains(headline), "{page}");
    }
    let of_target = content("target=b", vec![line("a", vec![drifted("a")]), line("b", vec![unknown("b")])]);
    assert!(page(&of_target).contains("<title>0 drifted · 1 unknown · 0 in sync – b – drift</title>"));
    let silent = TargetLine { overview: None, ..line("a", Vec::new()) };
    let standby = Content { leader_elsewhere: Some("kubectl get lease x".to_owned()), ..content("", vec![silent]) };
    let page = page(&standby);
    assert!(page.contains("<title>standby replica – drift</title>") && page.contains("icon-no-counts.svg"), "{page}");
    assert!(page.contains("This replica stands by") && !page.contains("No counts for"), "{page}");
}

#[test]
fn a_drifted_object_shows_desired_beside_observed() {
    let paused = ObjectRow { marks: vec!["paused"], ..held_by(Held::Paused, "web") };
    let content = content("", vec![line("dns", vec![paused])]);
    let page = page(&content);
    let cells =
        "<td data-name=\"desired\"><code>300<wbr></code></td><td data-name=\"observed\"><code>60<wbr></code></td>";
    assert!(page.contains(cells) && page.contains("<code>(redacted)<wbr></code>"), "{page}");
    assert!(page.contains("title=\"2026-01-01T00:00:00Z\">9 s</time>"), "{page}");
    let text = text(&content);
    assert!(text.contains("DnsRecord team-a/web") && text.contains("kubectl drift explain dnsrecord/web -n team-a"));
    assert!(text.contains("Not corrected: the object is paused"), "{text}");
}

#[test]
fn a_failed_correction_is_not_without_reason() {
    let mut failed = drifted("web");
    failed.correction = Some(condition(ConditionStatus::False, "CorrectionFailed", "the Secret is missing"));
    let mut applied = drifted("web");
    applied.correction = Some(condition(ConditionStatus::True, "CorrectionApplied", "updated"));
    let shown = |row| text(&content("", vec![line("dns", vec![row])]));
    let (failed, applied) = (shown(failed), shown(applied));
    assert!(failed.contains("The last correction failed") && !failed.contains("No known reason"), "{failed}");
    assert!(applied.contains("No known reason holds a correction."), "{applied}");
}

#[test]
fn an_ambiguous_kind_is_explained_with_its_group() {
    let other = TargetLine { api_version: "v1".to_owned(), ..line("core", vec![drifted("b")]) };
    let text = text(&content("", vec![line("dns", vec![drifted("a")]), other]));
    assert!(text.contains("explain dnsrecord.net.example/a -n") && text.contains("explain dnsrecord/b -n"), "{text}");
}

#[test]
fn targets_without_attestation_hold_their_objects() {
    let held = "(NotAttested): its Lease does not list it";
    let line =
        TargetLine { attestation: None, held: vec![Hold::target_not_attested()], ..line("dns", vec![drifted("web")]) };
    let text = text(&content("", vec![line]));
    assert!(text.contains("not current"), "{text}");
    assert_eq!(text.matches(held).count(), 2, "at the object and at the target: {text}");
}

#[test]
fn equal_unknowns_are_one_line() {
    let mut rows: Vec<_> = ["a", "b", "c"].map(unknown).into();
    rows.iter_mut().for_each(|row| row.alike = 12);
    rows.push(row("d", None));
    let content = content("", vec![line("dns", rows)]);
    let text = text(&content);
    assert_eq!(page(&content).matches("<details").count(), 2);
    let folded = "12 objects of target dns: ExternalUnreachable, no connection to the external system for 9 s";
    assert!(text.contains(folded) && text.contains("and 9 more"), "{text}");
    assert!(text.contains("DnsRecord team-a/d of target dns: NoVerdict, no verdict yet"), "{text}");
}

#[test]
fn holds_of_the_controller_are_on_their_objects() {
    let awaiting = |name| ObjectRow { next: Next::Correction, awaits_controller: true, ..drifted(name) };
    let paused = held_by(Held::Paused, "c");
    let held = r#"{"targets": {"dns": {"whole": ["BreakerOpen 3/4 20%"], "objects": {"a": "Delayed until 2026-01-01T00:01:00Z"}}}}"#;
    let shown = |held: Option<HeldCorrections>| {
        let holds = ControllerHolds { held: Some(held), failure: Some("no answer".to_owned()) };
        let rows = vec![awaiting("a"), awaiting("b"), paused.clone()];
        text(&content("", vec![line("dns", rows)]).with_holds(&holds))
    };
    let text = shown(Some(HeldCorrections::parse(held)));
    let breaker = "the breaker of target dns is open (BreakerOpen): 3 of 4 objects drifted";
    assert_eq!(text.matches(&format!("Not corrected: {breaker}")).count(), 2, "{text}");
    assert!(text.contains(&format!("Held: {breaker}")), "{text}");
    assert_eq!(text.matches("(Delayed); next try at 2026-01-01 00:01:00 UTC").count(), 1, "{text}");
    assert!(text.contains("Lease cannot be read: no answer. Its holds may be outdated."), "{text}");
    let text = shown(None);
    assert!(text.contains("No corrections: no controller holds its Lease at the moment (NoController)"), "{text}");
}

#[test]
fn counts_link_to_their_objects() {
    let page = page(&content("", vec![line("a&b", vec![drifted("x"), unknown("y")])]));
    assert!(page.contains("href=\"?target=a%26b&amp;shown=drifted\">1</a>"), "{page}");
    assert!(page.contains("href=\"?shown=unknown\">1 unknown</a>"), "{page}");
}

#[test]
fn an_empty_list_says_why() {
    let table = [
        ("search=web", vec![line("a", Vec::new())], "Nothing matches web. Clear the filter"),
        ("shown=drifted", vec![line("a", Vec::new())], "Nothing matches. Clear the filter"),
        ("", vec![line("a", Vec::new())], "No target selects an object."),
        ("target=nosuch", vec![line("a", Vec::new())], "No active target is called nosuch. Show all targets"),
        ("", Vec::new(), "No target is active."),
        ("", vec![TargetLine { overview: None, ..line("a", Vec::new()) }], "No counts for a."),
    ];
    for (query, targets, expected) in table {
        let text = text(&content(query, targets));
        assert!(text.contains(expected), "{query}: {text}");
    }
}

#[test]
fn drifted_objects_precede_the_targets() {
    let in_sync = row("c", Some(condition(ConditionStatus::False, "InSync", "x")));
    let page = page(&content("", vec![line("a", vec![drifted("a"), unknown("b"), in_sync])]));
    let places =
        ["drifted", "unknown", "targets", "in-sync"].map(|key| page.find(&format!("<section data-key=\"{key}\">")));
    assert!(places.is_sorted() && places[0].is_some(), "{places:?}");
}

#[test]
fn every_signal_has_an_icon() {
    for signal in Signal::ALL {
        let icon = icon(signal);
        assert!(icon.starts_with("<svg") && icon.ends_with("</svg>") && !icon.contains('{'), "{icon}");
    }
}
