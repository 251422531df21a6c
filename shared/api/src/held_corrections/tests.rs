//! The annotation's words, its bound, and words of another version.

use super::*;

fn hold(text: &str) -> ObjectHold {
    ObjectHold::parse(text).unwrap()
}

fn of_objects(count: usize) -> TargetHolds {
    let objects = (0..count).map(|number| (Uid::from(format!("{number:036}").as_str()), hold("JobNotTakenUp")));
    TargetHolds { objects: objects.collect(), ..TargetHolds::default() }
}

#[test]
fn each_entry_reads_as_written() {
    for (entry, text) in [
        (TargetHold::BreakerOpen(BreakerCounts { drifted: 15, judged: 29, limit: 20 }), "BreakerOpen 15/29 20%"),
        (TargetHold::Limited { waiting: 250 }, "Limited 250"),
        (TargetHold::RightsMissing, "RightsMissing"),
        (TargetHold::KindUnusable, "KindUnusable"),
        (TargetHold::TargetFormer, "TargetFormer"),
        (TargetHold::TargetTaken, "TargetTaken"),
    ] {
        assert_eq!((entry.to_string().as_str(), TargetHold::parse(text)), (text, Some(entry)));
    }
    for &why in Held::ALL.iter().filter(|why| why.is_published()) {
        for text in [why.as_str().to_owned(), format!("{} until 2026-01-01T12:03:10Z", why.as_str())] {
            assert_eq!((hold(&text).why, hold(&text).to_string()), (why, text));
        }
    }
}

#[test]
fn a_sentence_names_its_target_and_its_word() {
    for text in ["BreakerOpen 15/29 20%", "Limited 250", "RightsMissing", "KindUnusable", "TargetFormer", "TargetTaken"]
    {
        let hold = TargetHold::parse(text).unwrap();
        let sentence = hold.sentence("proxies");
        let (cause, remedy) = sentence.split_once(&format!(" ({}): ", hold.as_str())).unwrap();
        assert!(cause.contains("target proxies") && !remedy.is_empty(), "{cause}: {remedy}");
    }
}

#[test]
fn unknown_words_are_ignored() {
    let texts = [
        "",
        "Breaker",
        "BreakerOpen",
        "BreakerOpen 15",
        "BreakerOpen a/b 1%",
        "BreakerOpen 1/2",
        "BreakerOpen 1/2 3",
        "Limited",
        "Limited x",
        "RightsMissing 1",
    ];
    for text in texts {
        assert_eq!(TargetHold::parse(text), None, "{text:?}");
    }
    for text in ["", "Busy", "delayed", "Delayed until", "Delayed until noon", "Delayed for 3s"] {
        assert_eq!(ObjectHold::parse(text), None, "{text:?}");
    }
    let text = r#"{"targets": {"a": {"whole": ["Tired 3", 7, "RightsMissing"], "objects": {"u": "Bored", "v": "RaceLost"}, "more": 1}, "b": 4}}"#;
    let read = HeldCorrections::parse(text);
    assert_eq!(read.targets["a"].whole, BTreeSet::from([TargetHold::RightsMissing]));
    assert_eq!(read.targets["a"].objects, [(Uid::from("v"), hold("RaceLost"))]);
    assert!(!read.targets.contains_key("b"));
    for text in ["", "{", "[]", r#"{"targets": []}"#] {
        assert_eq!(HeldCorrections::parse(text), HeldCorrections::default(), "{text:?}");
    }
}

#[test]
fn a_passed_delay_holds_nothing() {
    let holds = TargetHolds {
        objects: vec![("u".into(), hold("Delayed until 2026-01-01T00:00:10Z"))],
        ..TargetHolds::default()
    };
    let at = |time: &str| holds.of_object(&"u".into(), time.parse().unwrap());
    assert_eq!(at("2026-01-01T00:00:09Z"), Some(holds.objects[0].1));
    assert_eq!(at("2026-01-01T00:00:10Z"), None);
    assert_eq!(holds.of_object(&"v".into(), "2026-01-01T00:00:00Z".parse().unwrap()), None);
}

#[test]
fn the_annotation_is_bounded() {
    let open = BTreeSet::from([
        TargetHold::BreakerOpen(BreakerCounts { drifted: 100_000, judged: 100_000, limit: 99 }),
        TargetHold::RightsMissing,
    ]);
    for (targets, objects, all_targets) in
        [(1, 10, true), (1, 5_000, true), (20, 500, true), (2_000, 0, false), (2_000, 9, false)]
    {
        let holds = TargetHolds { whole: open.clone(), ..of_objects(objects) };
        let targets = (0..targets).map(|number| (format!("target-{number}"), holds.clone()));
        let held = HeldCorrections { targets: targets.collect(), left_out: 0 };
        let text = held.to_annotation();
        assert!(text.len() <= MOST_BYTES, "{} bytes", text.len());
        let read = HeldCorrections::parse(&text);
        assert_eq!(read.targets.len() + read.left_out, held.targets.len());
        assert_eq!(read.left_out == 0, all_targets);
        for holds in read.targets.values() {
            assert_eq!(
                (holds.objects.len() + holds.left_out, &holds.whole),
                (objects, &open),
                "each is listed or counted"
            );
        }
    }
}

#[test]
fn an_open_breaker_is_listed_before_other_targets() {
    let limited = TargetHolds { whole: [TargetHold::Limited { waiting: 7 }].into(), ..of_objects(9) };
    let counts = BreakerCounts { drifted: 15, judged: 29, limit: 20 };
    let open = TargetHolds { whole: [TargetHold::BreakerOpen(counts)].into(), ..of_objects(9) };
    let mut targets: BTreeMap<_, _> = (0..2_000).map(|number| (format!("target-{number}"), limited.clone())).collect();
    targets.insert("zzz".to_owned(), open.clone());
    let read = HeldCorrections::parse(&HeldCorrections { targets, left_out: 0 }.to_annotation());
    assert_eq!(read.targets.get("zzz").map(|holds| &holds.whole), Some(&open.whole));
}

#[test]
fn many_objects_leave_room_for_other_targets() {
    let targets = BTreeMap::from([("a".to_owned(), of_objects(5_000)), ("b".to_owned(), of_objects(50))]);
    let read = HeldCorrections::parse(&HeldCorrections { targets, left_out: 0 }.to_annotation());
    assert_eq!((read.targets["b"].objects.len(), read.targets["b"].left_out), (50, 0));
}

#[test]
fn nothing_held_is_no_entry() {
    let held = HeldCorrections { targets: BTreeMap::from([("a".to_owned(), TargetHolds::default())]), left_out: 0 };
    assert_eq!(HeldCorrections::parse(&held.to_annotation()), HeldCorrections::default());
}
