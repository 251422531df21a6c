//! `read.ldap`: reads the observed state with a search for one entry.

use serde_json::Value;

use super::name::{is_attribute, parent_of};
use super::template::{Form, LdapTemplate, template};
use crate::cel::{EvaluationError, Node as ValueNode, Scope, Site, ValueTemplate, Variables, without_expressions};
use crate::section::{Leaf, Section, literal, text, words};
use crate::systems::by_namespace::{ByNamespace, CredentialList, SecretOrList};
use crate::systems::ldap::{Search, SearchScope};
use crate::systems::needed_secret::{Credential, NeededSecret, PASSWORD};
use crate::systems::section::ReadSection;
use crate::systems::single_value_answers::{AnswerContext, AnswerRules};
use crate::systems::steps::{Role, VisitParts};
use crate::yaml::{Fields, Node, Reader};
use drift_api::identity::ScopeId;
use drift_api::names::CREDENTIAL_POLLER;

/// The required keys of the Secret.
pub(super) const SECRET_KEYS: &[&str] = &["url", "bindDn", PASSWORD];

/// Maximum attributes of one search. Entries of people have about 30.
const MAX_ATTRIBUTES: usize = 64;

/// A read by a search.
#[derive(Debug, Section)]
#[section(check = Self::observe_attributes)]
pub struct LdapRead {
    #[key(flatten = (), of = SecretOrList)]
    secret: ByNamespace<String>,
    /// The DN. Each ${…} is an escaped value: uid=${self.spec.uid},dc=example.
    #[key(text(template(Form::Name, Scope::Object)))]
    base: LdapTemplate,
    /// The searched entries. Default: base.
    #[key(words(SCOPES), default = SearchScope::Base)]
    scope: SearchScope,
    /// The filter, with escaped values. Default: (objectClass=*).
    #[key(text(template(Form::Filter, Scope::Object)), default = any_entry(reader, fields)?)]
    filter: LdapTemplate,
    /// 1 to 64 attributes, each a list of texts in row.
    #[key(attribute_names())]
    attributes: Vec<String>,
    /// Attributes that every entry must show. Default: objectClass.
    #[key(attribute_names(), default = vec![OBJECT_CLASS.to_owned()])]
    present: Vec<String>,
    /// The rules over the entry. A missing entry means that the resource is absent.
    #[key(flatten = ROW)]
    pub rules: AnswerRules,
}

impl LdapRead {
    /// The default of `observed` names every attribute, so that a field of `desired` that is none is found when the
    /// target loads.
    fn observe_attributes(mut self, reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<Self> {
        if fields.get("observed").is_none() {
            self.rules.observed = whole_entry(&self.attributes, reader.site(&fields.place("observed"), Scope::Row))?;
        }
        Some(self)
    }

    /// Renders the search for the object's external resource.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn render(&self, object: &Value) -> Result<Search, EvaluationError> {
        let variables = Variables::of_object(object);
        let (base, filter) = (self.base.render(&variables)?, self.filter.render(&variables)?);
        let encoded_filter = self.filter.encode(&filter)?;
        let Self { scope, attributes, present, .. } = self;
        let container = match scope {
            SearchScope::Base => parent_of(&base).to_owned(),
            SearchScope::One | SearchScope::Subtree => base.clone(),
        };
        Ok(Search {
            secret: self.secret.of_object(object).cloned(),
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
        let named = self.secret.list().map_or(self.secret.any().as_str(), |_| "by namespace");
        format!("ldap {named} search {}", ScopeId::of(&written))
    }

    fn hosts(&self) -> Vec<String> {
        let secrets: Vec<_> = self.secret.iter().map(String::as_str).collect();
        vec![format!("the directory of Secret {}", secrets.join(" or "))]
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
        self.secret.iter().map(|secret| Credential::of_key(secret, PASSWORD)).collect()
    }

    fn needed_secrets(&self) -> Vec<NeededSecret> {
        self.secret.iter().map(|secret| NeededSecret::with_keys(CREDENTIAL_POLLER, secret, SECRET_KEYS)).collect()
    }

    fn credential_list(&self) -> Option<&CredentialList> {
        self.secret.list()
    }
}

/// The scope and the default rules of an entry. It never means a change in progress.
const ROW: AnswerContext = AnswerContext { scope: Scope::Row, observed: "${row}", settling_when: None };

/// The default filter. Every entry has an object class.
const ANY_ENTRY: &str = "(objectClass=*)";

/// Default of `present`. Every entry has an object class, so an entry without one is only seen in part.
const OBJECT_CLASS: &str = "objectClass";

const SCOPES: &[(&str, SearchScope)] =
    &[("base", SearchScope::Base), ("one", SearchScope::One), ("subtree", SearchScope::Subtree)];

fn any_entry(reader: &Reader<'_>, fields: &Fields<'_>) -> Option<LdapTemplate> {
    LdapTemplate::parse(ANY_ENTRY, &reader.site(&fields.place("filter"), Scope::Object), Form::Filter).ok()
}

/// Returns the template of the whole entry with each attribute written out.
fn whole_entry(attributes: &[String], site: Site) -> Option<ValueTemplate> {
    let names = attributes.iter().map(String::as_str).chain(["dn"]);
    let fields =
        names.map(|name| Some((name.to_owned(), ValueNode::parse(&format!("${{row['{name}']}}"), &site).ok()?)));
    Some(ValueTemplate::new(ValueNode::map(fields.collect::<Option<_>>()?), site))
}

/// Names of attributes, each once in any case.
fn attribute_names() -> impl Leaf<Value = Vec<String>> {
    literal(parse_attribute).listed(|name, reader, node, place| {
        let mut known: Vec<String> = Vec::new();
        reader.list(node, place, 1..=MAX_ATTRIBUTES, |reader, item, place| {
            let name = name.read(reader, item, place)?;
            if known.iter().any(|other| other.eq_ignore_ascii_case(&name)) {
                return reader.refuse(item.at, format!("{place}: `{name}` is listed twice"));
            }
            known.push(name.clone());
            Some(name)
        })
    })
}

fn parse_attribute(text: &str) -> Result<String, String> {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        // A server answers with the attribute's name.
        return Err("write the name of the attribute in place of its OID".to_owned());
    }
    if !is_attribute(text) || text == "dn" {
        return Err(format!("`{text}` is no name of an attribute"));
    }
    Ok(text.to_owned())
}
