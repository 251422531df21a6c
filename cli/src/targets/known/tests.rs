//! What is known of targets whose texts are wrong or gone.

use super::*;
use drift_language::fixtures::proxies::TEXT;

fn texts(documents: &[(&str, &str, &str)]) -> Texts {
    let mut texts = Texts::new();
    for (config_map, key, text) in documents {
        texts.entry((*config_map).to_owned()).or_default().insert((*key).to_owned(), (*text).to_owned());
    }
    texts
}

/// A poller that attests these targets, and notes all of `t`, `u` and `old` in the ConfigMap `m`.
fn notes(attested: &[&str]) -> LeaseNotes {
    let hash = drift_language::fixtures::proxies::target(TEXT).verdict_hash.clone();
    let attestation = |name: &&str| ((*name).to_owned(), Attestation { hash: hash.clone(), ..Attestation::default() });
    let place = |target: &str| NotedPlace {
        target: target.to_owned(),
        config_map: "m".to_owned(),
        objects: ObjectSelection {
            kind: target.to_uppercase(),
            ..drift_language::fixtures::proxies::target(TEXT).objects.clone()
        },
    };
    LeaseNotes {
        attested: attested.iter().map(attestation).collect(),
        places: ["t", "u", "old"].map(place).to_vec(),
        ..LeaseNotes::default()
    }
}

#[test]
fn what_is_wrong_is_told_with_what_goes_on() {
    let wrong = TEXT.replace("identity", "identitie").replace("30s", "30");
    let unnamed = "kind: [";
    let other = TEXT.replace("{name: t}", "{name: u}").replace("Proxy", "Role");
    let edited = TEXT.replace("http://h/", "http://g/");
    let (goes_on, untold) = ("; the programs go on by the last good text", "; whether the programs go on");
    let unknown = "; no earlier text is known to be active";
    let (good, mistaken, gone) =
        (texts(&[("m", "k", TEXT), ("m", "l", &other)]), texts(&[("m", "k", &wrong), ("m", "l", &other)]), texts(&[]));
    let new = texts(&[("n", "k", unnamed), ("m", "k", TEXT), ("m", "l", &other)]);
    let told = |texts: &Texts, attested: &[&str], said: &[&str]| {
        let live = LiveTargets::of("ns", (texts, &CreationTimes::new()), &notes(attested));
        let all = live.troubles.join("\n");
        assert!(said.iter().all(|part| all.contains(part)) && said.is_empty() == all.is_empty(), "{all}");
        assert_eq!(live.is_whole(), all.is_empty(), "{all}");
        live.by_last_good.iter().map(|target| target.name.clone()).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(told(&good, &["t"], &[]), none);
    let mistake = "target t (key k): the text in ConfigMap ns/m is wrong (line 7 column 3: unknown key `identitie` in spec: did you mean \
                   `identity`?; line 8 column 13: interval: 30 has no unit; write for example 30s)";
    assert_eq!(told(&mistaken, &["t"], &[mistake, goes_on]), ["t"]);
    assert_eq!(told(&mistaken, &[], &["target t (key k): ", untold]), ["t"]);
    let no_yaml = texts(&[("m", "k", unnamed), ("m", "l", &other)]);
    assert_eq!(
        told(&no_yaml, &["t"], &["target t: the text in ConfigMap ns/m, key k, is wrong (", goes_on]),
        ["old", "t"]
    );
    assert_eq!(told(&new, &["t"], &["ConfigMap ns/n/k: the text is wrong (", unknown]), none);
    let lost = "ConfigMap ns/m is gone or lacks the label driftpoller.dev/targets: \"true\"";
    let unpolled = "; nothing is created or updated, and after a restart";
    assert_eq!(told(&gone, &["t"], &[&format!("targets old, t, u: {lost}{unpolled}")]), ["old", "t", "u"]);
    assert_eq!(
        told(&gone, &[], &[&format!("targets old, t, u: {lost}{unpolled}")]),
        ["old", "t", "u"],
        "nobody removed it"
    );
    let live = LiveTargets::of("ns", (&gone, &CreationTimes::new()), &notes(&[]));
    assert!(live.by_last_good.iter().all(|target| target.missing_map.as_deref() == Some("m")));
    let empty = Texts::from([("m".to_owned(), BTreeMap::new())]);
    assert_eq!(told(&empty, &[], &[]), none, "they were removed");
    let renewed = texts(&[("m", "k", &edited), ("m", "l", &other)]);
    assert_eq!(told(&renewed, &["t"], &["target t (key k): the poller goes by another text than"]), none);
}

#[test]
fn equal_troubles_are_told_once_and_listed_each() {
    let wrong = |name: &str| TEXT.replace("{name: t}", &format!("{{name: {name}}}")).replace("identity", "identitie");
    let both = [wrong("t"), wrong("u")];
    let told = |documents: &[(&str, &str, &str)], attested: &[&str]| {
        let live = LiveTargets::of("ns", (&texts(documents), &CreationTimes::new()), &notes(attested));
        let starts = |all: &[String]| all.iter().filter_map(|one| Some(one.split_once(':')?.0.to_owned())).collect();
        let (folded, single): (Vec<String>, Vec<String>) = (starts(&live.troubles), starts(&live.single_troubles));
        (folded, single)
    };
    let gone = told(&[], &["t"]);
    assert_eq!(gone, (vec!["targets old, t, u".into()], ["target old", "target t", "target u"].map(Into::into).into()));
    let (folded, single) = (["targets t (key k), u (key l)"], ["target t (key k)", "target u (key l)"]);
    let equal = [("m", "k", &*both[0]), ("m", "l", &*both[1])];
    assert_eq!(told(&equal, &["t", "u"]), (folded.map(Into::into).into(), single.map(Into::into).into()));
    let apart = told(&equal, &["t"]);
    assert_eq!(apart.0, single, "only one is attested");
    let new = told(&[("m", "k", TEXT), ("n", "k", "kind: ["), ("n", "l", "kind: [")], &[]);
    assert_eq!(new.0, ["ConfigMap ns/n/k, ConfigMap ns/n/l"], "{new:?}");
}

#[test]
fn where_its_objects_are_is_as_noted() {
    let live = LiveTargets::of("ns", (&texts(&[("m", "k", "{}")]), &CreationTimes::new()), &notes(&["t"]));
    let found = live.by_last_good.iter().find(|target| target.name == "t").map(|target| target.objects[0].kind.clone());
    assert_eq!(found.as_deref(), Some("T"));
}

#[test]
fn a_lease_that_cannot_be_read_leaves_holes() {
    let unread = LeaseNotes { unread: Some("the Lease cannot be read".to_owned()), ..LeaseNotes::default() };
    let live = LiveTargets::of("ns", (&texts(&[("m", "k", TEXT)]), &CreationTimes::new()), &unread);
    assert!(!live.is_whole() && live.good.len() == 1 && live.by_last_good.is_empty());
    assert_eq!(
        live.troubles,
        ["the Lease cannot be read: targets that are active by an earlier text could not be looked for"]
    );
}

#[test]
fn a_brake_in_a_refused_text_is_doubted() {
    let unread = LeaseNotes { unread: Some("the Lease cannot be read".to_owned()), ..LeaseNotes::default() };
    let braked = TEXT.replace("  interval: 30s", "  interval: 30s\n  suspend: true");
    let edited = TEXT.replace("spec.a}", "spec.nothing}");
    let (other, unlooked) =
        ("target t (key k): the poller goes by another text than", "the text of target t is active could not");
    let pause = "; `kubectl drift pause Proxy --all` holds";
    for (text, suspend, notes, expected) in [
        (TEXT, true, notes(&["t"]), None),
        (&*braked, true, notes(&["t"]), None),
        (&*edited, true, notes(&[]), None),
        (&*edited, true, notes(&["u"]), None),
        (&*edited, true, notes(&["t"]), Some((other, true))),
        (&*edited, false, notes(&["t"]), Some((other, false))),
        (TEXT, true, unread.clone(), Some((unlooked, false))),
        (&*edited, true, unread, Some((unlooked, false))),
    ] {
        let target = drift_language::fixtures::proxies::target(text);
        let said = doubt_of_brake("ns", (&target, suspend), &notes);
        let is_expected = match (&said, expected) {
            (None, None) => true,
            (Some(EditDoubt::OtherText(sentence)), Some((part, pauses))) => {
                part == other && sentence.contains(part) && sentence.contains(pause) == pauses
            }
            (Some(EditDoubt::Unread(sentence)), Some((part, _))) => part == unlooked && sentence.contains(part),
            _ => false,
        };
        assert!(is_expected, "{text} {suspend}: {said:?}");
    }
}

#[test]
fn two_texts_of_one_target_are_told_with_both_places() {
    let edited = TEXT.replace("http://h/", "http://g/");
    let both = texts(&[("m", "k", TEXT), ("n", "l", &edited)]);
    let created = CreationTimes::from([("m".to_owned(), "2".to_owned()), ("n".to_owned(), "1".to_owned())]);
    let live = LiveTargets::of("ns", (&both, &created), &LeaseNotes::default());
    let said = live.troubles.join("; ");
    assert!(said.contains("ConfigMap ns/m/k line ") && said.contains("taken by n/l; the text in the older"), "{said}");
    assert!(said.contains("ConfigMap ns/n/l line ") && said.contains("taken by m/k; the text in the older"), "{said}");
    assert_eq!(live.good[0].document.config_map, "n");
}
