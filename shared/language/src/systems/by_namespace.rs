//! `credentials`: in place of one credential, one for each namespace of objects.
//!
//! Each entry is read as if its section named that credential alone, so the rest of a section needs no second form.

use std::collections::BTreeMap;
use std::sync::Arc;

use drift_api::secrets::labelled_secrets::CredentialError;
use serde_json::Value;

use crate::secrets::secret_key::whole_secret;
use crate::section::{Key, Leaf, Schema, Section, distinct, literal, section};
use crate::values::names::is_dns_label;
use crate::yaml::{Content, Fields, Node, Reader};

/// Maximum entries of a list. Each may have a token, and a program keeps 256 of them.
const MAX_ENTRIES: usize = 100;

/// Maximum namespaces of an entry. A cluster has about 10,000 at most, and a document has 256 KiB.
const MAX_NAMESPACES: usize = 1_000;

const CREDENTIALS: &str = "credentials";
const NAMESPACES: &str = "namespaces";

/// The keys that name a credential, and may be in an entry if the section has them.
const CHOICES: [&str; 5] = ["secretRef", "roleArn", "serviceAccountToken", "clientId", "issuer"];
/// The same of a section that is itself a reference, such as `serviceAccountToken`.
const NAME: &str = "name";

/// A value for the objects of every namespace, or one for each namespace that the target lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByNamespace<T> {
    values: Vec<T>,
    list: Option<CredentialList>,
}

/// The namespaces of a list of credentials, and the names of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialList {
    /// The list in the target.
    place: Arc<str>,
    /// Positions of the entries.
    namespaces: BTreeMap<String, usize>,
    /// The texts of each entry that name its Secret, role or token.
    accounts: Vec<String>,
}

impl CredentialList {
    fn entry(&self, namespace: Option<&str>) -> Result<usize, CredentialError> {
        let found = namespace.and_then(|namespace| self.namespaces.get(namespace)).copied();
        found
            .ok_or_else(|| CredentialError::NoEntry { place: self.place.clone(), namespace: namespace.map(Into::into) })
    }

    /// Returns the name of the credential for the objects of this namespace.
    ///
    /// # Errors
    /// Fails without an entry for it.
    pub fn account(&self, namespace: Option<&str>) -> Result<&str, CredentialError> {
        self.entry(namespace).map(|entry| self.accounts[entry].as_str())
    }

    /// The names of all credentials.
    pub(crate) fn accounts(&self) -> &[String] {
        &self.accounts
    }
}

impl<T> ByNamespace<T> {
    fn same(value: T) -> Self {
        Self { values: vec![value], list: None }
    }

    /// Returns the value for an object of this namespace.
    ///
    /// # Errors
    /// Fails if there is a list without an entry for it.
    pub fn of(&self, namespace: Option<&str>) -> Result<&T, CredentialError> {
        match &self.list {
            None => Ok(self.any()),
            Some(list) => list.entry(namespace).map(|entry| &self.values[entry]),
        }
    }

    /// Returns the value for the object as templates see it.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_object(&self, object: &Value) -> Result<&T, CredentialError> {
        self.of(object.pointer("/metadata/namespace").and_then(Value::as_str))
    }

    /// Returns one of the values. They differ in the credential alone.
    #[must_use]
    pub fn any(&self) -> &T {
        &self.values[0]
    }

    /// All values.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.values.iter()
    }

    /// Returns the list, if the namespace decides.
    pub(crate) const fn list(&self) -> Option<&CredentialList> {
        self.list.as_ref()
    }

    /// Makes other values.
    pub(crate) fn map<U>(self, make: impl Fn(T) -> U) -> ByNamespace<U> {
        ByNamespace { values: self.values.into_iter().map(make).collect(), list: self.list }
    }
}

/// A value whose credential may be a list of [`CREDENTIALS`]: in its own map, or in a map at one of these paths, where
/// `*` is any key.
pub(crate) fn by_namespace<T>(
    one: impl Leaf<Value = T>,
    paths: &'static [&'static [&'static str]],
) -> impl Leaf<Value = ByNamespace<T>> {
    one.around(
        move |mut schema| {
            paths.iter().for_each(|path| add_list(&mut schema, path));
            schema
        },
        move |one, reader, node, place| match paths.iter().find_map(|path| find_list(node, path)) {
            Some(path) => read_list(one, reader, node, (place, &path)),
            None => one.read(reader, node, place).map(ByNamespace::same),
        },
    )
}

/// The Secret of a section that has its reference among its other keys.
pub(crate) struct SecretOrList;

/// A Secret as written.
#[derive(Section)]
#[section(value = String, check = |own: Self, _, _, ()| Some(own.secret_ref))]
struct OneSecret {
    /// A Secret in the programs' namespace. Keys: url, bindDn, password; startTls, ca.crt.
    #[key(whole_secret())]
    secret_ref: String,
}

impl SecretOrList {
    fn leaf() -> impl Leaf<Value = ByNamespace<String>> {
        by_namespace(section::<OneSecret>(()), &[&[]])
    }
}

impl Section for SecretOrList {
    type Value = ByNamespace<String>;
    type Context = ();

    fn names((): ()) -> Vec<&'static str> {
        Self::keys(()).iter().map(|key| key.name).collect()
    }

    fn keys((): ()) -> Vec<Key> {
        match Self::leaf().schema() {
            Schema::Keys(keys) => keys,
            _ => Vec::new(),
        }
    }

    fn read_from(reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<ByNamespace<String>> {
        let names = Self::names(());
        let own = fields.entries().iter().filter(|entry| names.contains(&entry.key.as_str()));
        let mut node = fields.node().clone();
        node.content = Content::Map(own.cloned().collect());
        Self::leaf().read(reader, &node, fields.own_place())
    }
}

/// Returns the keys of a written list's map, if this path leads to one.
fn find_list(node: &Node, path: &[&str]) -> Option<Vec<String>> {
    let Some((first, rest)) = path.split_first() else { return node.get(CREDENTIALS).map(|_| Vec::new()) };
    let Content::Map(entries) = &node.content else { return None };
    let below = entries.iter().filter(|entry| *first == "*" || entry.key == *first);
    below.into_iter().find_map(|entry| {
        let keys = find_list(&entry.value, rest)?;
        Some(std::iter::once(entry.key.clone()).chain(keys).collect())
    })
}

/// The entry as written: the namespaces, beside one of the keys of its section.
#[derive(Section)]
struct Entry {
    /// Names of namespaces. Each is in one entry.
    #[key(distinct(1..=MAX_NAMESPACES, literal(parse_namespace)))]
    namespaces: Vec<String>,
}

fn parse_namespace(text: &str) -> Result<String, String> {
    if is_dns_label(text) { Ok(text.to_owned()) } else { Err(format!("`{text}` is no name of a namespace")) }
}

fn read_list<T>(
    one: &impl Leaf<Value = T>,
    reader: &mut Reader<'_>,
    node: &Node,
    (place, path): (&str, &[String]),
) -> Option<ByNamespace<T>> {
    let map = path.iter().try_fold(node, |node, key| node.get(key))?;
    let mut schema = one.schema();
    let Some(keys) = path.iter().try_fold(&mut schema, |schema, key| below(schema, key)) else {
        // A key above the list is unknown, which its reader reports.
        let first = map.get(CREDENTIALS).and_then(Node::first_item).and_then(|item| alone(node, path, item));
        return one.read(reader, first.as_ref().unwrap_or(node), place).map(ByNamespace::same);
    };
    let choices = choices_of(keys);
    let place_of_list = [place].into_iter().chain(path.iter().map(String::as_str)).chain([CREDENTIALS]);
    let place_of_list = place_of_list.collect::<Vec<_>>().join(".");
    let known: Vec<&str> = [NAMESPACES].into_iter().chain(choices.iter().copied()).collect();
    let (mut namespaces, mut accounts) = (BTreeMap::new(), Vec::new());
    let values =
        reader.list(map.get(CREDENTIALS)?, &place_of_list, 1..=MAX_ENTRIES, |reader, item, place_of_item| {
            let fields = reader.fields(item, place_of_item, &known)?;
            for namespace in Entry::read_from(reader, &fields, ())?.namespaces {
                if namespaces.contains_key(&namespace) {
                    return reader.refuse(item.at, format!("{place_of_item}: `{namespace}` is in an entry above"));
                }
                namespaces.insert(namespace, accounts.len());
            }
            let chosen = || fields.entries().iter().filter(|entry| entry.key != NAMESPACES);
            if chosen().any(|entry| !known.contains(&entry.key.as_str())) {
                return None;
            }
            reader.at_least_one(&fields, &choices)?;
            if let Some(twice) = chosen().find(|entry| map.get(&entry.key).is_some()) {
                let message = format!("{place_of_item}.{}: it is beside {CREDENTIALS} too; write it once", twice.key);
                return reader.refuse(twice.key_at, message);
            }
            let mut account: Vec<_> =
                chosen().map(|entry| format!("{}={}", entry.key, text_of(&entry.value))).collect();
            account.sort();
            accounts.push(account.join(" "));
            // A mistake beside the list would be in each.
            let is_told = accounts.len() > 1 && reader.has_faults();
            if is_told { None } else { one.read(reader, &alone(node, path, item)?, place) }
        })?;
    Some(ByNamespace { values, list: Some(CredentialList { place: place_of_list.into(), namespaces, accounts }) })
}

/// Returns the section as if it named the credential of this entry alone.
fn alone(node: &Node, path: &[String], entry: &Node) -> Option<Node> {
    let Content::Map(chosen) = &entry.content else { return None };
    let mut alone = node.clone();
    if let Content::Map(entries) = &mut path.iter().try_fold(&mut alone, |node, key| node.get_mut(key))?.content {
        entries.retain(|entry| entry.key != CREDENTIALS);
        entries.extend(chosen.iter().filter(|entry| entry.key != NAMESPACES).cloned());
    }
    Some(alone)
}

/// The text of a reference, however its keys are ordered.
fn text_of(node: &Node) -> String {
    node.to_json().to_string()
}

/// Returns the keys below this one.
fn below<'s>(schema: &'s mut Schema, key: &str) -> Option<&'s mut Schema> {
    let Schema::Keys(keys) = schema else { return None };
    keys.iter_mut().find(|one| one.name == key).map(|one| &mut one.schema)
}

/// Returns the names of the keys that choose the credential of a section.
fn choices_of(schema: &Schema) -> Vec<&'static str> {
    let Schema::Keys(keys) = schema else { return Vec::new() };
    let names = || keys.iter().map(|key| key.name);
    let chosen: Vec<_> = names().filter(|name| CHOICES.contains(name)).collect();
    if chosen.is_empty() { names().filter(|name| *name == NAME).collect() } else { chosen }
}

/// Adds the list to the description of the map at this path.
fn add_list(schema: &mut Schema, path: &[&str]) {
    let choices = choices_of(schema);
    let Schema::Keys(keys) = schema else { return };
    match path {
        [] => {
            // The reader checks that one is written.
            let own = keys.iter_mut().filter(|key| choices.contains(&key.name));
            let choices = own.map(|key| {
                key.is_required = false;
                key.clone()
            });
            let entry = Entry::keys(()).into_iter().chain(choices).collect();
            keys.push(Key {
                name: CREDENTIALS,
                description: "In place of one credential: one for each namespace of objects.",
                is_required: false,
                schema: Schema::List(Box::new(Schema::Keys(entry))),
            });
        }
        [first, rest @ ..] => {
            let below = keys.iter_mut().filter(|key| *first == "*" || key.name == *first);
            below.for_each(|key| add_list(&mut key.schema, rest));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use crate::fixtures::{faults_of_auth, parsed, target};
    use crate::{Auth, Source, Target};

    fn text(read: &str, more: &str) -> String {
        format!(
            "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  \
             objects: {{apiVersion: g.example/v1, kind: A}}\n  identity: x\n  read: {read}\n  \
             compare: {{desired: {{a: 1}}}}\n{more}"
        )
    }

    fn http(auth: &str) -> String {
        format!("{{http: {{url: 'https://h.example/x', auth: {auth}}}}}")
    }

    /// The credential of the first request for an object of each namespace.
    fn chosen(target: &Target, namespace: &str) -> String {
        let object = json!({"metadata": {"namespace": namespace, "name": "x"}});
        match &target.read.source {
            Source::Http(read) => match read.render(&object).unwrap().auth.as_deref().unwrap() {
                Auth::Missing(missing) => missing.to_string(),
                auth => format!("{auth:?}"),
            },
            Source::Sql(read) => format!("{:?}", read.render(&object).unwrap()),
            Source::Ldap(read) => format!("{:?}", read.render(&object).unwrap()),
            Source::Kubernetes(_) => String::new(),
        }
    }

    #[test]
    fn each_namespace_has_its_own_credential() {
        const SECRETS: &str = "credentials: [{namespaces: [a], secretRef: {name: for-a}}, {namespaces: [b, c], secretRef: {name: for-b}}]";
        let roles = "credentials: [{namespaces: [a], roleArn: 'arn:aws:iam::1:role/for-a'}, \
                     {namespaces: [b, c], roleArn: 'arn:aws:iam::2:role/for-b'}]";
        let table = [
            http(&format!("{{bearer: {{{SECRETS}}}}}")),
            http(&format!("{{basic: {{{SECRETS}}}}}")),
            http(&format!("{{header: {{name: x-key, {SECRETS}}}}}")),
            http(&format!("{{challenge: {{{SECRETS}}}}}")),
            http(&format!("{{oauth2: {{tokenUrl: 'https://i.example', {SECRETS}}}}}")),
            http(&format!("{{login: {{request: {{url: 'https://i.example'}}, token: {{pointer: /t}}, {SECRETS}}}}}")),
            http(&format!("{{awsSigV4: {{region: r, service: s, {SECRETS}}}}}")),
            http(&format!(
                "{{awsSigV4: {{region: r, service: s, webIdentity: {{serviceAccountToken: {{name: t}}, {roles}}}}}}}"
            )),
            http(
                "{serviceAccountToken: {credentials: [{namespaces: [a], name: for-a}, {namespaces: [b, c], name: for-b}]}}",
            ),
            format!("{{postgres: {{connection: {{{SECRETS}}}, query: SELECT 1 AS a}}}}"),
            format!("{{mysql: {{connection: {{{SECRETS}}}, query: SELECT 1 AS a}}}}"),
            format!("{{ldap: {{{SECRETS}, base: 'uid=${{self.metadata.name}},dc=x', attributes: [a]}}}}"),
        ];
        for read in table {
            let target = target(&text(&read, ""));
            let [a, b, c, d] = ["a", "b", "c", "d"].map(|namespace| chosen(&target, namespace));
            assert!(a.contains("for-a") && b.contains("for-b"), "{read}: {a} {b}");
            assert_eq!(b, c, "{read}");
            assert!(!d.contains("for-") && d.contains("amespace"), "{read}: {d}");
            let [a, b, c, d] = ["a", "b", "c", "d"].map(|namespace| target.scope_of(Some(namespace)));
            assert!(a.is_ok() && a != b && a != Ok(target.scope.id) && b == c, "{read}");
            let error = d.unwrap_err().to_string();
            assert!(error.ends_with("credentials has no entry for namespace d; add one to the target"), "{error}");
            assert!(target.scope_of(None).is_err(), "{read}");
            assert_eq!(target.scopes(), [a.unwrap(), b.unwrap()].into(), "{read}");
            let names = target.needed_secrets().into_iter().map(|secret| secret.name);
            let names = names.filter(|name| name.starts_with("for-")).count();
            assert!(names == 2 || read.contains("roleArn") || read.contains("serviceAccountToken"), "{read}: {names}");
            let shown = format!("{:?}", target.poll_fields);
            assert!(shown.contains("namespace"), "{read}: {shown}");
        }
    }

    #[test]
    fn one_credential_has_the_scope_of_the_target() {
        let target = target(&text(&http("{basic: {secretRef: {name: s}}}"), ""));
        assert_eq!(target.scope_of(Some("a")), Ok(target.scope.id));
        assert_eq!((target.scopes(), target.has_accounts()), ([target.scope.id].into(), false));
    }

    #[test]
    fn a_correction_chooses_without_a_choice_of_the_read() {
        let correct = "  correct: {mode: Correct, http: {auth: {basic: {credentials: [{namespaces: [a], secretRef: {name: w}}]}}, \
                       update: [{method: PUT, url: 'https://h.example/x', body: {}}]}}\n";
        let target = target(&text("{http: {url: 'https://h.example/x'}}", correct));
        let fields = (format!("{:?}", target.poll_fields), format!("{:?}", target.all_fields));
        assert!(!fields.0.contains("namespace") && fields.1.contains("namespace"), "{fields:?}");
        assert_eq!(target.scope_of(Some("z")), Ok(target.scope.id));
    }

    #[test]
    fn every_mistake_in_a_list_is_told() {
        let one = "{namespaces: [a], secretRef: {name: s}}";
        let table = [
            ("{bearer: {credentials: []}}", "read.http.auth.bearer.credentials: the list is empty"),
            (
                "{bearer: {credentials: [{namespaces: [a]}]}}",
                "read.http.auth.bearer.credentials[0]: at least one of secretRef is needed",
            ),
            ("{bearer: {credentials: [{secretRef: {name: s}}]}}", "credentials[0].namespaces is missing"),
            (
                "{bearer: {credentials: [{namespaces: ['*'], secretRef: {name: s}}]}}",
                "credentials[0].namespaces[0]: `*` is no name of a namespace",
            ),
            (
                "{bearer: {credentials: [{namespaces: [a, a], secretRef: {name: s}}]}}",
                "credentials[0].namespaces[1]: `a` is written twice",
            ),
            (&format!("{{bearer: {{credentials: [{one}, {one}]}}}}"), "credentials[1]: `a` is in an entry above"),
            (
                &format!("{{bearer: {{credentials: [{one}], secretRef: {{name: s}}}}}}"),
                "read.http.auth.bearer.credentials[0].secretRef: it is beside credentials too; write it once",
            ),
            (
                "{bearer: {credentials: [{namespaces: [a], roleArn: x}]}}",
                "not in `read.http.auth.bearer.credentials[0]`; known here: namespaces, secretRef",
            ),
            (
                "{bearer: {credentials: [{namespaces: [a], secretRef: {name: '${self.spec.a}'}}]}}",
                "read.http.auth.bearer.secretRef.name is literal",
            ),
            ("{bearer: {}}", "read.http.auth.bearer.secretRef is missing"),
            (&format!("{{bearr: {{credentials: [{one}]}}}}"), "unknown key `bearr`"),
            (
                "{basic: {credentials: [{namespaces: [a], secretRef: {name: s}}, {namespaces: [b], secretRef: {name: t}}], x: 1}}",
                "unknown key `x` in read.http.auth.basic",
            ),
        ];
        for (auth, expected) in table {
            let faults = faults_of_auth(auth);
            assert!(matches!(&*faults, [one] if one.contains(expected)), "{auth}: {faults:?}");
        }
        let listen = "  hints: {listen: {connection: {credentials: [{namespaces: [a], secretRef: {name: s}}]}, channel: c, \
                      identity: '${payload}'}}\n";
        assert!(
            parsed(&text("{http: {url: 'https://h.example/x'}}", listen)).is_err(),
            "no object has hints of its own"
        );
    }
}
