#![allow(clippy::unwrap_used)]

use super::*;
use crate::engine::corrections::Action;
use crate::engine::fixtures::bare_object;
use crate::engine::rendering::sent_secrets::SentSecrets;
use drift_api::secrets::labelled_secrets::SecretVersion;
use serde_json::json;

const TARGET: &str = r#"apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Role}
  identity: "${self.metadata.name}"
  secrets:
    own: {secretRef: {name: ours, key: token}}
    password: {fromObject: "${self.spec.secret}", key: password}
  read: {http: {url: "https://h/x"}}
  compare: {desired: {a: 1}, writeOnly: [{path: /password, secret: password}]}
  correct: {http: {update: [{method: PUT, url: "https://h/x", text: "${secrets.password}"}]}}
"#;

fn object(secret: &str) -> LeanObject {
    let mut object = bare_object();
    object.view = drift_api::object::object_view::ObjectView::of(&json!({"spec": {"secret": secret}}));
    object
}

fn labelled(name: &str, hosts: Option<&str>, (key, value): (&str, &[u8]), version: &str) -> LabelledSecrets {
    let secret = LabelledSecret::new(hosts, [(key.to_owned(), value.to_vec())]);
    let version = SecretVersion { uid: "u".to_owned(), resource_version: version.to_owned() };
    [(name.to_owned(), secret.in_version(version))].into_iter().collect()
}

fn all(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn target() -> Target {
    drift_language::fixtures::target(TARGET)
}

#[test]
fn a_secret_is_found_where_its_source_says() {
    let (own, beside) = (labelled("ours", None, ("token", b"t"), "1"), labelled("pw", None, ("password", b"p"), "2"));
    let known = AvailableSecrets { own: &own, beside: &beside };
    let (target, object) = (target(), object("pw"));
    let found = ObjectSecrets::of(&target, &object, known);
    let watched = watched_marks(&target, &object, known).unwrap();
    assert_eq!(watched.get("password"), found.marks().get("password"));
    assert_eq!(watched.len(), 1, "only what cannot be read back");
    assert_eq!(found.marks().keys().collect::<Vec<_>>(), ["own", "password"]);
    assert_eq!(found.missing(&all(&["own", "password"])), None);
    let turned = AvailableSecrets { own: &beside, beside: &own };
    let marks = ObjectSecrets::of(&target, &object, turned).marks();
    assert!(marks.values().all(Option::is_none), "the same names in the other namespaces");
    assert!(!format!("{found:?}").contains("\"p\""), "{found:?}");
}

fn refused() -> LabelledSecrets {
    LabelledSecrets::refused("no right to list".to_owned())
}

#[test]
fn of_what_cannot_be_listed_nothing_is_known() {
    let own = labelled("ours", None, ("token", b"t"), "1");
    let (target, object) = (target(), object("pw"));
    let marks = |beside: &LabelledSecrets| watched_marks(&target, &object, AvailableSecrets { own: &own, beside });
    assert_eq!(marks(&refused()), None, "the record keeps what it has");
    assert_eq!(marks(&LabelledSecrets::from_iter([])), Some(SecretMarks::default()), "it was deleted");
    let text = TARGET.replace("[{path: /password, secret: password}]", "[{path: /token, secret: own}]");
    let text = text.replace("${secrets.password}", "${secrets.own}${secrets.password}");
    let of_ours = drift_language::fixtures::target(&text);
    let refused = refused();
    let watched = watched_marks(&of_ours, &object, AvailableSecrets { own: &own, beside: &refused });
    assert_eq!(watched.map(|marks| marks.len()), Some(1), "what is ours is known all the same");
    let found = ObjectSecrets::of(&target, &object, AvailableSecrets { own: &own, beside: &refused });
    let told = found.missing(&all(&["password"])).map(ToString::to_string);
    assert_eq!(told.as_deref(), Some("Secret team-a/pw cannot be read: no right to list"), "a correction waits not");
}

#[test]
fn what_is_missing_is_named_and_never_shown() {
    let own = labelled("ours", None, ("token", b"\xff"), "1");
    let (target, none) = (target(), LabelledSecrets::from_iter([]));
    let secrets = |secret: &str, beside: &LabelledSecrets| {
        ObjectSecrets::of(&target, &object(secret), AvailableSecrets { own: &own, beside })
    };
    let cause = |secrets: &ObjectSecrets, name: &str| secrets.missing(&all(&[name])).unwrap().to_string();
    let without = secrets("pw", &none);
    assert_eq!(cause(&without, "own"), "Secret ours key token is not UTF-8 text");
    assert_eq!(cause(&without, "password"), "Secret team-a/pw does not exist or is not labelled for this program");
    assert_eq!(
        cause(&secrets("../x", &none), "password"),
        "secrets.password: fromObject gives no name of a Secret for this object"
    );
    let other_key = labelled("pw", None, ("other", b"x"), "1");
    assert_eq!(cause(&secrets("pw", &other_key), "password"), "Secret team-a/pw has no key password");
    assert!(without.marks().values().all(Option::is_none) && without.fingerprint(&all(&["own", "password"])) == 0);
}

#[test]
fn a_secret_goes_only_to_the_hosts_its_owner_named() {
    let (own, beside) =
        (labelled("ours", None, ("token", b"t"), "1"), labelled("pw", Some("h"), ("password", b"p"), "1"));
    let (target, object) = (target(), object("pw"));
    let secrets = ObjectSecrets::of(&target, &object, AvailableSecrets { own: &own, beside: &beside });
    let check =
        |names: &[&str], host, chosen| secrets.check_host(&all(names), host, chosen).map_err(|error| error.to_string());
    assert_eq!(check(&["password"], "h:443", false), Ok(()));
    assert_eq!(check(&["password"], "h:443", true), Ok(()));
    assert_eq!(check(&["password"], "i:443", false), Err("Secret team-a/pw may not be sent to i:443".to_owned()));
    assert_eq!(check(&["own"], "i:443", false), Ok(()), "its owner named none, and the other is not sent");
    assert!(check(&["own"], "i:443", true).is_err(), "objects choose the host");
}

#[test]
fn each_version_makes_another_request() {
    let (target, object) = (target(), object("pw"));
    let own = labelled("ours", None, ("token", b"t"), "1");
    let fingerprint = |version: &str, names: &[&str]| {
        let beside = labelled("pw", None, ("password", b"p"), version);
        ObjectSecrets::of(&target, &object, AvailableSecrets { own: &own, beside: &beside }).fingerprint(&all(names))
    };
    assert_ne!(fingerprint("1", &["password"]), fingerprint("2", &["password"]));
    assert_eq!(fingerprint("1", &["own"]), fingerprint("2", &["own"]), "what is not sent makes no difference");
    assert_eq!(fingerprint("1", &[]), 0);
}

#[test]
fn only_a_secret_that_the_target_uses_moves_it() {
    let (target, version) = (target(), |version| labelled("ours", None, ("token", b"t"), version));
    let before = own_versions(&target, &version("1"));
    assert_eq!(before.as_ref().map(BTreeMap::len), Some(1), "those of objects stand elsewhere");
    let mut beside_another = version("1");
    beside_another.insert("another".to_owned(), LabelledSecret::new(None, []));
    assert_eq!(own_versions(&target, &beside_another), before);
    assert_ne!(own_versions(&target, &version("2")), before);
    assert_ne!(own_versions(&target, &LabelledSecrets::from_iter([])), before, "it is missing");
    assert_eq!(own_versions(&target, &LabelledSecrets::default()), None, "nobody knows yet");
}

#[test]
fn each_action_sends_its_own_secrets() {
    let sends = |correct: &str, name: &str| {
        let text = TARGET
            .split_once("  correct:")
            .unwrap()
            .0
            .replace(", writeOnly: [{path: /password, secret: password}]", "");
        let sent = SentSecrets::of(&drift_language::fixtures::target(&format!("{text}  correct: {correct}")));
        let marks = SecretMarks::new();
        let of = |action: &Action| sent.versions(*action, &marks).contains_key(name);
        Action::ALL.into_iter().filter(of).map(Action::as_str).collect::<Vec<_>>()
    };
    let http = "{http: {create: [{name: found, method: GET, url: 'https://h/x', headers: {a: '${secrets.password}'}}, \
                {method: PUT, url: 'https://h/x'}], delete: [{method: DELETE, url: 'https://h/x', headers: {a: '${secrets.own}'}}]}}";
    assert_eq!(sends(http, "password"), ["create", "replace"], "a look-up sends it too");
    assert_eq!(sends(http, "own"), ["replace", "delete"]);
    let sql =
        "{postgres: {connection: {secretRef: {name: db}}, update: [\"ALTER ROLE a PASSWORD ${secrets.password}\"]}}";
    assert_eq!(sends(sql, "password"), ["update"]);
    let nudge = "{nudge: {annotations: {example.org/at: '${correction}'}}}";
    assert_eq!(sends(nudge, "password"), Vec::<&str>::new());
}

#[test]
fn versions_of_all_secrets_are_known_for_an_approval() {
    let (own, beside) = (labelled("ours", None, ("token", b"t"), "1"), labelled("pw", None, ("password", b"p"), "2"));
    let known = AvailableSecrets { own: &own, beside: &beside };
    let (target, object) = (target(), object("pw"));
    assert_eq!(declared_marks(&target, &object, known), ObjectSecrets::of(&target, &object, known).marks());
}
