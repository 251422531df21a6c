//! An edit of any field never leads a correction to another resource.

use crate::fixtures::parsed;

const HTTP: &str = "read: {http: {url: \"https://h/${self.metadata.name}\"}}";

/// The messages of a target with these parts, without their places.
fn told(identity: &str, desired: &str, rest: &str) -> Vec<String> {
    let text = format!(
        "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  objects: {{apiVersion: g.example/v1, kind: A}}\n  \
         identity: \"{identity}\"\n  compare: {{desired: {desired}}}\n  {}\n",
        rest.replace('\n', "\n  ")
    );
    parsed(&text).err().unwrap_or_default()
}

/// The fields reported as missing, each with its place.
fn missing(identity: &str, desired: &str, rest: &str) -> Vec<String> {
    let said = told(identity, desired, rest).into_iter().map(|message| {
        let (_, after) = message.split_once(" identity: `").unwrap_or_else(|| panic!("{message}"));
        let (field, after) = after.split_once("` stands in the address of ").unwrap();
        format!("{field} in {}", after.split_once(" and not in the identity").unwrap().0)
    });
    said.collect()
}

const WISH: &str = "{a: \"${self.spec.a}\", zone: \"${self.spec.zone}\"}";

#[test]
fn a_field_of_an_address_is_in_the_identity() {
    let update = |step: &str| format!("{HTTP}\ncorrect: {{http: {{update: [{step}]}}}}");
    let name = "${self.metadata.name}";
    let put = "method: PUT, url: \"https://h/";
    let table: &[(&str, String, &[&str])] = &[
        (name, update(&format!("{{{put}${{self.spec.zone}}\"}}")), &["self.spec.zone in update"]),
        (name, update(&format!("{{{put}?zone=${{self.spec.zone}}\"}}")), &["self.spec.zone in update"]),
        (name, update(&format!("{{{put}${{desired.zone}}\"}}")), &["self.spec.zone in update"]),
        (
            name,
            update(&format!("{{{put}${{desired['zone']}}/${{self.spec.b}}\"}}")),
            &["self.spec.b in update", "self.spec.zone in update"],
        ),
        (name, update(&format!("{{{put}${{self.metadata.labels.zone}}\"}}")), &["self.metadata.labels.zone in update"]),
        (name, update(&format!("{{{put}${{self.spec.key.zone}}\"}}")), &["self.spec.key.zone in update"]),
        (
            "${self.spec.key.name}",
            update(&format!("{{{put}${{self.spec.key.map(k, k).join('')}}\"}}")),
            &["self.spec.key in update"],
        ),
        ("${self.spec.key}", update(&format!("{{{put}${{self.spec.key.zone}}\"}}")), &[]),
        ("${self.spec.zone + ' ' + self.metadata.name}", update(&format!("{{{put}${{desired.zone}}\"}}")), &[]),
        (
            name,
            update(&format!("{{{put}${{self.metadata.namespace + self.metadata.uid}}/${{self.status.id}}\"}}")),
            &[],
        ),
        (name, update(&format!("{{{put}x\", body: \"${{desired}}\", headers: {{a: \"${{self.spec.a}}\"}}}}")), &[]),
    ];
    for (identity, rest, expected) in table {
        assert_eq!(missing(identity, WISH, rest), *expected, "{identity} {rest}");
    }
}

#[test]
fn a_look_up_counts_where_it_leads_a_write() {
    let name = "${self.metadata.name}";
    let update = |step: &str| format!("{HTTP}\ncorrect: {{http: {{update: [{step}]}}}}");
    let table: &[(&str, String, &[&str])] = &[
        (
            name,
            update(
                "{name: f, method: GET, url: \"https://h/?z=${self.spec.zone}\"}, {method: PUT, url: \"https://h/${steps.f.body.id}\"}",
            ),
            &["self.spec.zone in update"],
        ),
        (
            name,
            update(
                "{method: POST, reads: true, url: \"https://h/\", body: {z: \"${self.spec.zone}\"}, name: f}, {method: PUT, url: \"https://h/${steps.f.body.id}\"}",
            ),
            &["self.spec.zone in update"],
        ),
        (
            name,
            update(
                "{name: f, method: GET, url: \"https://h/?z=${self.spec.zone}\"}, {method: PUT, url: \"https://h/\", body: \"${steps.f.body}\"}",
            ),
            &[],
        ),
        (
            name,
            format!(
                "{HTTP}\ncorrect: {{http: {{delete: [{{method: DELETE, url: \"https://h/${{self.spec.zone}}\"}}]}}}}"
            ),
            &["self.spec.zone in delete"],
        ),
        (
            name,
            format!(
                "{HTTP}\ncorrect: {{http: {{create: [{{method: POST, url: \"https://h/${{self.spec.zone}}\"}}]}}}}"
            ),
            &[],
        ),
    ];
    for (identity, rest, expected) in table {
        assert_eq!(missing(identity, WISH, rest), *expected, "{identity} {rest}");
    }
}

/// As in JSON-RPC, where the URL does not name the resource.
#[test]
fn the_body_of_a_deleting_post_is_an_address() {
    let found = "{name: f, method: POST, reads: true, url: \"https://h/\", body: {z: \"${self.spec.zone}\"}}";
    let table: &[(&str, String, &[&str])] = &[
        (
            "delete",
            "{method: POST, url: \"https://h/\", body: {id: \"${self.spec.zone}\"}}".to_owned(),
            &["self.spec.zone"],
        ),
        (
            "delete",
            "{method: POST, url: \"https://h/\", body: {id: \"${desired.zone}\"}}".to_owned(),
            &["self.spec.zone"],
        ),
        ("delete", "{method: POST, url: \"https://h/\", text: \"${self.metadata.name}\"}".to_owned(), &[]),
        (
            "delete",
            format!("{found}, {{method: POST, url: \"https://h/\", body: {{id: \"${{steps.f.body.id}}\"}}}}"),
            &["self.spec.zone"],
        ),
        ("delete", format!("{found}, {{method: POST, url: \"https://h/\", body: {{id: 1}}}}"), &[]),
        ("delete", "{method: PUT, url: \"https://h/\", body: {id: \"${self.spec.zone}\"}}".to_owned(), &[]),
        ("update", "{method: POST, url: \"https://h/\", body: {id: \"${self.spec.zone}\"}}".to_owned(), &[]),
    ];
    for (action, steps, fields) in table {
        let rest = format!("{HTTP}\ncorrect: {{http: {{{action}: [{steps}]}}}}");
        let expected: Vec<_> = fields.iter().map(|field| format!("{field} in {action}")).collect();
        assert_eq!(missing("${self.metadata.name}", WISH, &rest), expected, "{steps}");
    }
}

#[test]
fn a_read_asks_for_the_identity_alone() {
    let name = "${self.metadata.name}";
    let put = "correct: {http: {update: [{method: PUT, url: \"https://h/\"}]}}";
    let job = "correct: {job: {update: {activeDeadlineSeconds: 1, template: {spec: {containers: [{name: a, image: a, securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}}}}}";
    let table = [
        ("http: {url: \"https://h/${self.spec.zone}\"}", true),
        ("http: {method: POST, url: \"https://h/\", body: {find: \"${self.spec.zone}\"}}", true),
        ("http: {steps: [{name: a, url: \"https://h/\"}, {name: b, url: \"https://h/${self.spec.zone}\"}]}", true),
        (
            "http: {url: \"https://h/\", each: \"${response.body}\", key: {item: \"${item.n}\", object: \"${self.spec.zone}\"}}",
            true,
        ),
        ("http: {url: \"https://h/\", each: \"${response.body}\", key: {item: \"${item.n}\"}}", false),
        ("http: {url: \"https://h/x\", observed: {zone: \"${self.spec.zone}\"}}", false),
        ("postgres: {connection: {secretRef: {name: s}}, query: \"SELECT 1 AS a WHERE n = ${self.spec.zone}\"}", true),
        ("kubernetes: {apiVersion: v1, kind: ConfigMap, name: \"${self.spec.zone}\"}", true),
    ];
    for (read, is_told) in table {
        for correct in [put, job] {
            let expected: &[&str] = if is_told { &["self.spec.zone in read"] } else { &[] };
            assert_eq!(missing(name, WISH, &format!("read: {{{read}}}\n{correct}")), expected, "{read}");
        }
        for observing in ["suspend: false", "correct: {nudge: {annotations: {a: \"${self.metadata.name}\"}}}"] {
            assert_eq!(
                told(name, WISH, &format!("read: {{{read}}}\n{observing}")),
                [""; 0],
                "{read}: nothing is written"
            );
        }
    }
}

#[test]
fn a_statement_changes_what_it_names_first() {
    let table: &[(&str, &[&str])] = &[
        ("ALTER ROLE ${ident(self.spec.zone)} CONNECTION LIMIT ${self.spec.a}", &["self.spec.zone in update"]),
        ("alter table ${ident(self.metadata.name)} owner to ${ident(self.spec.zone)}", &[]),
        ("DROP ROLE IF EXISTS ${ident(desired.zone)}", &["self.spec.zone in update"]),
        ("DELETE FROM t WHERE zone = ${self.spec.zone}", &["self.spec.zone in update"]),
        ("UPDATE ${ident(self.spec.zone)} SET a = ${self.spec.a}", &["self.spec.zone in update"]),
        ("UPDATE t SET zone = ${self.spec.zone}", &[]),
        ("UPDATE t SET a = ${self.spec.a} WHERE zone = ${self.spec.zone}", &["self.spec.zone in update"]),
        (
            "update t set a = ${self.spec.a} from u\\nwhere(u.b = ${self.spec.b}) and zone = ${desired.zone}",
            &["self.spec.b in update", "self.spec.zone in update"],
        ),
        ("UPDATE t SET elsewhere = 'a', zone = ${self.spec.zone} WHERE n = ${self.metadata.name}", &[]),
        ("/* x */ DELETE FROM t WHERE zone = ${self.spec.zone}", &["self.spec.zone in update"]),
        ("/* a /* b */ c */ -- d\\n/**/DROP ROLE ${ident(self.spec.zone)}", &["self.spec.zone in update"]),
        ("-- x\\rUPDATE t SET a = 1 WHERE zone = ${self.spec.zone}", &["self.spec.zone in update"]),
        ("GRANT ${idents(self.spec.zone)} TO ${ident(self.metadata.name)}", &[]),
    ];
    for (statement, expected) in table {
        let rest = format!(
            "{HTTP}\ncorrect: {{postgres: {{connection: {{secretRef: {{name: s}}}}, update: [\"{statement}\"]}}}}"
        );
        assert_eq!(missing("${self.metadata.name}", WISH, &rest), *expected, "{statement}");
    }
}

#[test]
fn a_target_says_which_fields_do_not_identify() {
    let put = "correct: {http: {update: [{method: PUT, url: \"https://h/${self.spec.view.kind}\"}]}}";
    let with =
        |entries: &str| told("${self.metadata.name}", WISH, &format!("notIdentifying: {entries}\n{HTTP}\n{put}"));
    for good in ["[spec.view.kind]", "[spec.view]", "[spec]"] {
        assert_eq!(with(good), [""; 0], "{good}");
    }
    let unneeded = with("[spec.view, spec.viw]");
    assert_eq!(unneeded, ["8:19 notIdentifying: no address needs `spec.viw` beside the identity: leave it out"]);
    for wrong in ["self.spec.view", "view", "spec..view", "/spec/view"] {
        let said = with(&format!("[\"{wrong}\"]"));
        let expected = format!("`{wrong}` is no field; write it such as spec.format");
        assert!(matches!(&*said, [only] if only.ends_with(&expected)), "{wrong}: {said:?}");
    }
    let [said] = &*told("${self.metadata.name}", WISH, &format!("{HTTP}\n{put}")) else { panic!("it is one field") };
    assert_eq!(
        said,
        "6:13 identity: `self.spec.view.kind` stands in the address of update and not in the identity, so an edit of it would lead a \
         correction to a resource that the object never claimed; add it to the identity, or write notIdentifying: \
         [spec.view.kind] if it does not choose the resource"
    );
}
