//! `read.ldap`: reads the observed state with a search for one entry.

use serde_json::Value;

use super::name::{is_attribute, parent_of};
use super::template::{Form, LdapTemplate, template};
use crate::cel::{EvaluationError, Node as ValueNode, Scope, Site, ValueTemplate, Variables, without_expressions};
use crate::secrets::needed_secret::{Credential, NeededSecret, PASSWORD};
use crate::secrets::secret_key::read_whole_secret;
use crate::systems::ldap::{Search, SearchScope};
use crate::systems::section::ReadSection;
use crate::systems::single_value_answers::{AnswerRules, DefaultRules, read_rules};
use crate::systems::steps::{Role, VisitParts};
use crate::yaml::{Node, Reader};
use drift_api::identity::ScopeId;
use drift_api::names::CREDENTIAL_POLLER;

/// The required keys of the Secret.
pub(super) const SECRET_KEYS: &[&str] = &["url", "bindDn", PASSWORD];

/// Maximum attributes of one search. Entries of people have about 30.
const MAX_ATTRIBUTES: usize = 64;

/// A read by a search.
#[derive(Debug)]
pub struct LdapRead {
    secret: String,
    base: LdapTemplate,
    scope: SearchScope,
    filter: LdapTemplate,
    attributes: Vec<String>,
    /// Attributes that every entry must show.
    present: Vec<String>,
    /// The rules over the entry. A missing entry means that the resource is absent.
    pub rules: AnswerRules,
}

impl LdapRead {
    /// Renders the search for the object's external resource.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn render(&self, object: &Value) -> Result<Search, EvaluationError> {
        let variables = Variables::of_object(object);
        let (base, filter) = (self.base.render(&variables)?, self.filter.render(&variables)?);
        let encoded_filter = self.filter.encode(&filter)?;
        let Self { secret, scope, attributes, present, .. } = self;
        let container = match scope {
            SearchScope::Base => parent_of(&base).to_owned(),
            SearchScope::One | SearchScope::Subtree => base.clone(),
        };
        Ok(Search {
            secret: secret.clone(),
            base,
            scope: *scope,
            filter,
            encoded_filter,
            attributes: attributes.clone(),
            present: present.clone(),
            container,
        })
    }
}

impl ReadSection for LdapRead {
    fn place(&self) -> [&'static str; 2] {
        ["ldap", "base"]
    }

    /// The Secret for display, and a fingerprint of the base and the filter.
    fn scope(&self, spec: &Node) -> String {
        let section = ["read", "ldap"].iter().try_fold(spec, |node, key| node.get(key));
        let text = |key: &str| section?.get(key).and_then(Node::as_text).map(without_expressions);
        let written = [text("base"), text("filter")].map(Option::unwrap_or_default).join(" ");
        format!("ldap {} search {}", self.secret, ScopeId::of(&written))
    }

    fn hosts(&self) -> Vec<String> {
        vec![format!("the directory of Secret {}", self.secret)]
    }

    fn observed(&self) -> &ValueTemplate {
        &self.rules.observed
    }

    fn judges_answers(&self) -> bool {
        self.rules.valid_when.is_some()
    }

    fn visit_parts<'e>(&'e self, visit: &mut VisitParts<'_, 'e>) {
        visit(Role::Address, &self.base);
        visit(Role::Address, &self.filter);
        visit(Role::Answer, &self.rules);
    }

    fn credentials(&self) -> Vec<Credential> {
        vec![Credential::of_key(&self.secret, PASSWORD)]
    }

    fn needed_secrets(&self) -> Vec<NeededSecret> {
        vec![NeededSecret::with_keys(CREDENTIAL_POLLER, &self.secret, SECRET_KEYS)]
    }
}

/// Default rules: an entry is compared unchanged and never means a change in progress.
const DEFAULTS: DefaultRules = DefaultRules { observed: "${row}", settling_when: None };

/// The default filter. Every entry has an object class.
const ANY_ENTRY: &str = "(objectClass=*)";

/// Default of `present`. Every entry has an object class, so an entry without one is only seen in part.
const OBJECT_CLASS: &str = "objectClass";

const SCOPES: &[(&str, SearchScope)] =
    &[("base", SearchScope::Base), ("one", SearchScope::One), ("subtree", SearchScope::Subtree)];

/// Keys of `read.ldap`.
const KEYS: &[&str] = &[
    "secretRef",
    "base",
    "scope",
    "filter",
    "attributes",
    "present",
    "absentWhen",
    "validWhen",
    "settlingWhen",
    "observed",
];

pub(crate) fn read_ldap(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<LdapRead> {
    let fields = reader.fields(node, place, KEYS)?;
    let secret = reader.needed(&fields, "secretRef", read_whole_secret);
    let base = reader.needed(&fields, "base", template(Form::Name, Scope::Object));
    let scope =
        reader.or(&fields, "scope", SearchScope::Base, |reader, node, place| reader.choice(node, place, SCOPES));
    let filter = reader.optional(&fields, "filter", template(Form::Filter, Scope::Object)).and_then(|written| {
        let site = reader.site(&fields.place("filter"), Scope::Object);
        written.or_else(|| LdapTemplate::parse(ANY_ENTRY, &site, Form::Filter).ok())
    });
    let attributes = reader.needed(&fields, "attributes", read_attributes);
    let present = reader.or(&fields, "present", vec![OBJECT_CLASS.to_owned()], read_attributes);
    let rules = read_rules(reader, &fields, Scope::Row, DEFAULTS);
    let (attributes, mut rules) = (attributes?, rules?);
    if fields.get("observed").is_none() {
        let site = reader.site(&fields.place("observed"), Scope::Row);
        rules.observed = whole_entry(&attributes, site)?;
    }
    let (secret, base, scope, filter, present) = (secret?, base?, scope?, filter?, present?);
    Some(LdapRead { secret, base, scope, filter, attributes, present, rules })
}

/// Returns the template of the whole entry with each attribute written out, so that a field of `desired` that is no
/// attribute is found when the target loads.
fn whole_entry(attributes: &[String], site: Site) -> Option<ValueTemplate> {
    let names = attributes.iter().map(String::as_str).chain(["dn"]);
    let fields =
        names.map(|name| Some((name.to_owned(), ValueNode::parse(&format!("${{row['{name}']}}"), &site).ok()?)));
    Some(ValueTemplate::new(ValueNode::map(fields.collect::<Option<_>>()?), site))
}

fn read_attributes(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<String>> {
    let items = reader.items(node, place, 1..=MAX_ATTRIBUTES)?;
    let mut known: Vec<String> = Vec::new();
    reader.each(items, place, |reader, item, place| {
        let name = reader.literal(item, place)?.to_owned();
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            // A server answers with the attribute's name.
            return reader.refuse(item.at, format!("{place}: write the name of the attribute in place of its OID"));
        }
        if !is_attribute(&name) || name == "dn" {
            return reader.refuse(item.at, format!("{place}: `{name}` is no name of an attribute"));
        }
        if known.iter().any(|other| other.eq_ignore_ascii_case(&name)) {
            return reader.refuse(item.at, format!("{place}: `{name}` is listed twice"));
        }
        known.push(name.clone());
        Some(name)
    })
}
