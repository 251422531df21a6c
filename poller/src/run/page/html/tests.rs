//! Tests of the page: its HTML, and the same as JSON.

use std::time::Duration;

use drift_api::condition::ConditionStatus;
use drift_api::held_corrections::{Held, Hold};
use drift_api::object::ObjectId;
use drift_language::{DocumentName, Problem};
use serde_json::json;

use super::*;
use crate::engine::object::overview::{
    Group, GroupKey, ObjectRow, Rank, RowCondition, TargetOverview, UNKNOWN, VerdictCounts, WordCount,
};
use crate::run::page::content::{NotActive, SiteNames, TargetLine, parse};

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
        holds: Vec::new(),
        report: None,
        marks: Vec::new(),
        next_poll: Some(Duration::from_secs(12)),
    }
}

fn drifted(name: &str) -> ObjectRow {
    let text = "2 fields differ: /ttl desired 300, observed 60; /token (redacted)";
    row(name, Some(condition(ConditionStatus::True, "FieldsDiffer", text)))
}

/// A drifted object that its target or itself holds.
fn held_by(why: Held, name: &str) -> ObjectRow {
    ObjectRow { holds: vec![Hold::from(why)], ..drifted(name) }
}

fn unknown(name: &str) -> ObjectRow {
    let verdict = condition(ConditionStatus::Unknown, "ExternalUnreachable", "no connection to the external system");
    row(name, Some(verdict))
}

fn in_sync(name: &str) -> ObjectRow {
    row(name, Some(condition(ConditionStatus::False, "InSync", "x")))
}

/// A target with a group for each row.
fn line(name: &str, rows: Vec<ObjectRow>) -> TargetLine {
    let count = |rank| rows.iter().filter(|row| row.rank() == rank).count();
    let counts = VerdictCounts {
        drifted: count(Rank::Drifted),
        unknown: count(Rank::Unknown),
        in_sync: count(Rank::InSync),
        deleting: count(Rank::Deleting),
    };
    let groups: Vec<Group> = rows.iter().map(|row| group(name, 1, std::slice::from_ref(row))).collect();
    let matching = rows.len();
    TargetLine {
        name: name.to_owned(),
        api_version: "net.example/v1".to_owned(),
        kind: "DnsRecord".to_owned(),
        interval: Duration::from_secs(90),
        mode: "Correct",
        attested: true,
        held: Vec::new(),
        listed: Vec::new(),
        overview: Some(TargetOverview {
            counts,
            matching,
            group_count: groups.len(),
            groups,
            rows,
            ..TargetOverview::default()
        }),
    }
}

/// A group of that many objects, of which these are shown.
fn group(target: &str, count: usize, rows: &[ObjectRow]) -> Group {
    let verdict = rows[0].verdict.as_ref();
    let (reason, text) = verdict.map_or(("NoVerdict", "no verdict yet"), |verdict| (&verdict.reason, &verdict.text));
    let key = GroupKey {
        rank: rows[0].rank(),
        reason: reason.to_owned(),
        cause: text.to_owned(),
        held: rows[0].holds.iter().map(|hold| hold.word).collect(),
        marks: Vec::new(),
    };
    let since = verdict.map(|verdict| verdict.since.clone());
    Group { target: target.to_owned(), key, count, since, rows: rows.iter().take(3).cloned().collect() }
}

fn content(query: &str, targets: Vec<TargetLine>) -> Content {
    Content {
        question: parse(query),
        now: "2026-01-01T00:00:09Z".parse().unwrap_or_default(),
        leader_elsewhere: None,
        site: SiteNames { namespace: "drift-system".to_owned(), ..SiteNames::default() },
        unready: Vec::new(),
        not_active: NotActive::default(),
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
    let hostile = "<script>alert(1)</script>\"'&`";
    let hold = Hold { word: "BreakerOpen", until: None, sentence: hostile.to_owned() };
    let mut first = row(hostile, Some(condition(ConditionStatus::True, hostile, hostile)));
    first.correction = Some(condition(ConditionStatus::True, hostile, hostile));
    first.holds = vec![hold.clone()];
    first.report = Some(hostile.to_owned());
    let change = format!("1 field differs: /{hostile} desired {hostile}, observed {hostile}");
    let mut differing = drifted("b");
    differing.verdict =
        Some(RowCondition { since: hostile.to_owned(), ..condition(ConditionStatus::True, "FieldsDiffer", &change) });
    let mut other = unknown(hostile);
    other.verdict = Some(condition(ConditionStatus::Unknown, hostile, hostile));
    for query in ["", "search=%3Cscript%3E", "object=%3Cscript%3E/%3Cscript%3E", "held=%3Cscript%3E&page=9"] {
        let mut line = line(hostile, vec![first.clone(), differing.clone(), other.clone()]);
        (line.kind, line.api_version, line.held) = (hostile.to_owned(), hostile.to_owned(), vec![hold.clone()]);
        let site = SiteNames { cluster: Some(hostile.to_owned()), ..SiteNames::default() };
        let unready = vec![("rights".to_owned(), hostile.to_owned())];
        let not_active = NotActive { count: 2, sentences: vec![hostile.to_owned(), format!("{hostile}2")] };
        let query = format!("target=%3Cscript%3E&shown=drifted&{query}");
        let page = page(&Content { not_active, site, unready, ..content(&query, vec![line]) });
        assert!(!page.contains("<script>") && !page.contains("\"'&"), "{page}");
        assert!(page.contains("&lt;script&gt;"), "{page}");
    }
}

#[test]
fn the_headline_is_in_title_and_icon() {
    let table = [
        (vec![drifted("a"), unknown("b"), in_sync("c")], "1 drifted · 1 unknown · 1 in sync", "drifted"),
        (vec![unknown("b"), in_sync("c")], "0 drifted · 1 unknown · 1 in sync", "unknown"),
        (vec![in_sync("c")], "0 drifted · 0 unknown · 1 in sync", "in-sync"),
    ];
    let version = env!("CARGO_PKG_VERSION");
    for (rows, headline, icon) in table {
        let content = content("", vec![line("a", rows)]);
        let page = page(&content);
        assert!(page.contains(&format!("<title>{headline} – drift-system – drift {version}</title>")), "{page}");
        assert!(page.contains(&format!("href=\"icon-{icon}.svg\"")), "{page}");
        assert!(page.contains(&format!("role=\"status\">{headline}</p>")), "{page}");
    }
    let mut of_target = content("target=b", vec![line("a", vec![drifted("a")]), line("b", vec![unknown("b")])]);
    of_target.site.cluster = Some("prod-eu".to_owned());
    let title =
        format!("<title>0 drifted · 1 unknown · 0 in sync – b – prod-eu/drift-system – drift {version}</title>");
    assert!(page(&of_target).contains(&title));
    assert!(text(&of_target).contains("prod-eu/drift-system"));
    let silent = TargetLine { overview: None, ..line("a", Vec::new()) };
    let standby = Content { leader_elsewhere: Some("kubectl get lease x".to_owned()), ..content("", vec![silent]) };
    let page = page(&standby);
    assert!(page.contains("<title>standby replica – drift-system") && page.contains("icon-no-counts.svg"), "{page}");
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
    assert!(
        text.contains("DnsRecord team-a/web")
            && text.contains("kubectl drift explain dnsrecord.net.example/web -n team-a")
    );
    assert!(text.contains("Not corrected: the object is paused"), "{text}");
    assert!(text.contains("Copy the command team-a/web"), "each button has a name of its own: {text}");
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
fn a_kind_is_explained_with_its_group() {
    let other = TargetLine { api_version: "v1".to_owned(), ..line("core", vec![drifted("b")]) };
    let text = text(&content("", vec![line("dns", vec![drifted("a")]), other]));
    assert!(text.contains("explain dnsrecord.net.example/a -n") && text.contains("explain dnsrecord/b -n"), "{text}");
}

#[test]
fn a_target_shows_what_holds_it() {
    let hold = Hold::by(Held::NotAttested, "the poller's Lease does not list the target, see `x`", "");
    let line = TargetLine { attested: false, held: vec![hold], ..line("dns", vec![drifted("web")]) };
    let page = page(&content("", vec![line]));
    assert!(page.contains("not current"), "{page}");
    assert!(
        page.contains(
            "<strong>No corrections: </strong>the poller's Lease does not list the target, see <code>x</code> (NotAttested)"
        ),
        "{page}"
    );
}

#[test]
fn a_group_shows_examples_and_a_link_to_the_rest() {
    let hold = Hold::of("BreakerOpen", "the breaker of target dns is open");
    let rows: Vec<ObjectRow> =
        (0..15).map(|number| ObjectRow { holds: vec![hold.clone()], ..drifted(&format!("r{number}")) }).collect();
    let mut dns = line("dns", rows.clone());
    let mut drift = group("dns", 15, &rows);
    drift.key.cause = "/value".to_owned();
    let unknowns = group("dns", 12, &["a", "b", "c"].map(unknown));
    let groups = vec![drift, unknowns, group("dns", 1, &[row("d", None)])];
    dns.overview = dns.overview.map(|overview| TargetOverview { groups: groups.clone(), ..overview });
    let content = content("", vec![dns]);
    let (page, text) = (page(&content), text(&content));
    assert!(text.contains("15 objects of dns: FieldsDiffer, /value differs, held by BreakerOpen for 9 s"), "{text}");
    assert_eq!((page.matches("<article").count(), page.matches("<details").count()), (3, 2));
    let id = groups[0].key.id("dns");
    assert!(page.contains(&format!("href=\"?target=dns&amp;group={id}\">Show all 15 objects of dns")), "{page}");
    let folded = "12 objects of dns: ExternalUnreachable, no connection to the external system for 9 s";
    assert!(text.contains(folded) && text.contains("Show all 12 objects"), "{text}");
    assert!(text.contains("DnsRecord team-a/d of dns: NoVerdict, no verdict yet"), "{text}");
}

/// A target with a word of objects.
fn with_word(name: &str, word: &'static str, count: usize) -> TargetLine {
    let mut line = line(name, vec![drifted("web")]);
    let first = ObjectId { namespace: Some("team-a".into()), name: "web".into(), uid: "u".into() };
    if let Some(overview) = &mut line.overview {
        overview.words.insert(word, WordCount { count, first });
    }
    line
}

#[test]
fn what_needs_a_person_stands_first() {
    let breaker = Hold::of("BreakerOpen", "the breaker of target b is open");
    let mut targets = vec![
        with_word("a", "CreationInDoubt", 1),
        TargetLine { listed: vec![breaker], ..with_word("b", "BreakerOpen", 15) },
        with_word("c", UNKNOWN, 400),
        with_word("d", "CreationInDoubt", 2),
        TargetLine { held: vec![Hold::no_controller()], ..line("e", Vec::new()) },
    ];
    for (line, seconds) in targets.iter_mut().zip([14, 16]) {
        line.interval = Duration::from_secs(5);
        line.overview =
            line.overview.take().map(|found| TargetOverview { lateness: Duration::from_secs(seconds), ..found });
    }
    let not_active = NotActive { count: 2, sentences: vec!["m/cdn.yaml line 3: a typo".to_owned()] };
    let unready = vec![("rights".to_owned(), "may not list x".to_owned())];
    let mut content = Content { not_active, unready, ..content("", targets) };
    content.site.controller_command = "kubectl get lease drift-controller -n drift-system".to_owned();
    let found = crate::run::page::content::alarms::alarms(&content);
    let shown: Vec<(&str, usize, &str)> = found.iter().map(|alarm| (alarm.word, alarm.count, alarm.unit)).collect();
    let expected = [
        ("NoController", 1, "target"),
        ("CreationInDoubt", 3, "object"),
        ("RightsMissing", 1, "part"),
        ("BreakerOpen", 1, "target"),
        ("NotActive", 2, "document"),
        ("PollsLate", 1, "target"),
        (UNKNOWN, 400, "object"),
    ];
    assert_eq!(shown, expected);
    let links: Vec<Option<&str>> = found.iter().map(|alarm| alarm.link.as_deref()).collect();
    let linked = [
        Some("?target=e"),
        Some("?held=CreationInDoubt"),
        Some("readyz"),
        Some("?target=b&held=BreakerOpen"),
        None,
        Some("?target=b"),
        Some("?target=c&shown=unknown"),
    ];
    assert_eq!(links, linked);
    assert_eq!(found[0].command, "kubectl get lease drift-controller -n drift-system");
    assert_eq!(found[1].command, "kubectl drift explain dnsrecord.net.example/web -n team-a");
    assert_eq!(found[4].command, "kubectl drift check --from-cluster --targets-namespace drift-system");
    let page = page(&content);
    let order = ["alarms", "targets", "drifted"].map(|key| page.find(&format!("<section data-key=\"{key}\">")));
    assert!(order.is_sorted() && order[0].is_some(), "{order:?}");
    assert!(text(&content).contains("CreationInDoubt: 3 objects"), "{page}");
}

#[test]
fn equal_problems_of_documents_are_shown_once() {
    let document = |key: &str| DocumentName { config_map: "m".to_owned(), key: key.to_owned() };
    let lost = |key: &&str| Problem::of_target(document(key), *key, "ConfigMap m is gone");
    let other = Problem { target: None, message: "a typo".to_owned(), ..lost(&"f") };
    let again = Problem { message: "another typo".to_owned(), ..other.clone() };
    let all: Vec<Problem> = ["a", "b", "c", "d", "e"].iter().map(lost).collect();
    let folded = "targets a, b, c and 2 more: ConfigMap m is gone";
    for (more, count, text, in_page) in [
        (vec![], 5, folded.to_owned(), ""),
        (vec![other, again], 6, format!("{folded}, and 2 more below"), "6 documents are not active"),
    ] {
        let not_active = NotActive::of(&[all.clone(), more].concat());
        let content = Content { not_active, ..content("", Vec::new()) };
        let found = crate::run::page::content::alarms::alarms(&content);
        assert_eq!((found[0].word, found[0].count, &*found[0].text), ("NotActive", count, &*text));
        let page = page(&content);
        assert!(page.contains(in_page) && page.contains("<details data-key=\"not-active\">") != in_page.is_empty());
        let sentences = if in_page.is_empty() { 1 } else { 2 };
        assert_eq!(page.matches("ConfigMap m is gone").count(), sentences, "{page}");
    }
}

#[test]
fn targets_are_sorted_by_trouble() {
    let breaker = Hold::of("BreakerOpen", "x");
    let limited = Hold::of("Limited", "x");
    let mut late = line("late", vec![in_sync("a")]);
    late.overview = late.overview.map(|found| TargetOverview { lateness: Duration::from_secs(91), ..found });
    let targets = vec![
        line("a", vec![in_sync("a")]),
        late,
        line("b", vec![unknown("a")]),
        TargetLine { listed: vec![limited], ..line("c", vec![drifted("a")]) },
        line("d", vec![drifted("a"), drifted("b")]),
        with_word("e", "AttemptsExhausted", 1),
        TargetLine { listed: vec![breaker], ..line("f", vec![in_sync("a")]) },
        TargetLine { overview: None, ..line("g", Vec::new()) },
    ];
    let content = content("", targets);
    let ranked: Vec<(&str, &str)> =
        content.ranked().into_iter().map(|line| (line.name.as_str(), line.trouble().as_str())).collect();
    let expected = [
        ("f", "held"),
        ("g", "held"),
        ("e", "needs-a-person"),
        ("d", "drifted"),
        ("c", "drifted"),
        ("b", "unknown"),
        ("late", "late"),
        ("a", "none"),
    ];
    assert_eq!(ranked, expected);
    assert!(page(&content).contains("<span class=\"drifted\">1 min 31 s</span>"), "a late poll has a colour");
    assert!(!page(&content).contains("data-key=\"healthy\""));
    let many = (0..6).map(|number| line(&format!("h{number}"), vec![in_sync("a")]));
    let many = many.chain([line("d", vec![drifted("a")])]).collect();
    assert!(text(&self::content("", many)).contains("6 targets without trouble"));
}

#[test]
fn the_json_has_ranks_alarms_and_holds() {
    let until = "2026-01-01T00:01:00Z".parse().ok();
    let delayed = Hold { word: "Delayed", until, sentence: "the controller backs off".to_owned() };
    let held = ObjectRow { holds: vec![delayed], ..drifted("web") };
    let mut target = with_word("dns", "CorrectionFailed", 2);
    target.held = vec![Hold::no_controller()];
    target.overview = target.overview.map(|found| TargetOverview { rows: vec![held], ..found });
    let content = content("search=web", vec![line("a", vec![in_sync("x")]), target]);
    let targets = content.targets_json();
    assert_eq!((&targets[0]["name"], &targets[0]["rank"]), (&json!("dns"), &json!("held")));
    assert_eq!(targets[0]["alarms"], json!([{"reason": "CorrectionFailed", "count": 2}]));
    assert_eq!(targets[0]["held"][0]["reason"], "NoController");
    let objects = content.objects_json();
    assert_eq!(
        (&objects["page"], &objects["pages"], &objects["alarms"][1]["count"]),
        (&json!(1), &json!(1), &json!(2))
    );
    let object = &objects["objects"][0];
    let expected =
        json!([{"reason": "Delayed", "until": "2026-01-01T00:01:00Z", "message": "the controller backs off"}]);
    assert_eq!((&object["held"], &object["rank"]), (&expected, &json!("drifted")), "{object}");
    assert_eq!(object["address"], "DnsRecord.net.example/team-a/web");
}

#[test]
fn counts_link_to_their_objects() {
    let page = page(&content("", vec![line("a&b", vec![drifted("x"), unknown("y")])]));
    assert!(page.contains("href=\"?target=a%26b&amp;shown=drifted\">1</a>"), "{page}");
    assert!(page.contains("href=\"?shown=unknown\">1 unknown</a>"), "{page}");
}

#[test]
fn an_object_has_a_page_of_its_own() {
    let mut queue = drifted("orders");
    queue.report = Some("queue.orders.1a".to_owned());
    let whole = content("", vec![line("dns", vec![queue.clone()])]);
    let address = "?object=DnsRecord.net.example/team-a/orders";
    assert!(page(&whole).contains(&format!("href=\"{address}\"")), "{}", page(&whole));
    let alone = content(&address[1..], vec![line("dns", vec![queue])]);
    let text = text(&alone);
    assert!(text.contains("kubectl get driftreport queue.orders.1a -n team-a -o yaml"), "{text}");
    assert!(page(&alone).contains("<title>team-a/orders – 1 drifted"), "{}", page(&alone));
    let gone = content(&address[1..], vec![line("dns", Vec::new())]);
    assert!(self::text(&gone).contains("No target selects DnsRecord.net.example/team-a/orders, or it is gone."));
}

#[test]
fn an_empty_list_says_why() {
    let table = [
        ("search=web", vec![line("a", Vec::new())], "Nothing matches web. Clear the filter"),
        ("shown=drifted", vec![line("a", Vec::new())], "Nothing matches. Clear the filter"),
        ("held=Paused", vec![line("a", Vec::new())], "Nothing matches. Clear the filter"),
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
fn a_long_list_has_pages() {
    let mut long = line("a", (0..100).map(|number| in_sync(&format!("o{number:04}"))).collect());
    long.overview = long.overview.map(|found| TargetOverview { matching: 3_000, skipped: 100, ..found });
    let second = page(&content("target=a&sort=name&page=2", vec![long]));
    assert!(second.contains("<span>101–200 of 3000 objects</span>"), "{second}");
    assert!(second.contains("href=\"?target=a&amp;sort=name\">← before"), "{second}");
    assert!(second.contains("href=\"?target=a&amp;sort=name&amp;page=3\">next →"), "{second}");
}

#[test]
fn every_signal_has_an_icon() {
    for signal in Signal::ALL {
        let icon = icon(signal);
        assert!(icon.starts_with("<svg") && icon.ends_with("</svg>") && !icon.contains('{'), "{icon}");
    }
}
