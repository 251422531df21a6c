//! The variables that a template may see, and where each of them exists.

use cel::common::types::CelInt;
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;
use serde_json::Value;

use std::sync::Arc;

use crate::cel::evaluation::cost::{COST, Cost, CostValue};
use crate::cel::evaluation::json::{bind, bind_steps};
use crate::cel::evaluation::raw::RawAnswers;
use crate::cel::evaluation::secret_values::SecretValues;

/// The object.
pub(in crate::cel) const SELF: &str = "self";
/// The answer of a read.
pub(in crate::cel) const RESPONSE: &str = "response";
/// The rendered desired state.
pub(crate) const DESIRED: &str = "desired";
/// What is noted of an expression that sees the whole desired state; of one that sees a key of it, `desired.KEY`.
pub(crate) const EVERY_KEY: &str = "desired.*";
/// What a poll observed.
pub(in crate::cel) const OBSERVED: &str = "observed";
/// One entry of a collection.
pub(in crate::cel) const ITEM: &str = "item";
/// One row of a query.
pub(in crate::cel) const ROW: &str = "row";
/// An object of the cluster that is the external resource.
pub(in crate::cel) const RESOURCE: &str = "resource";
/// The answers of the steps before.
pub(crate) const STEPS: &str = "steps";
/// What is noted of an expression that sees headers of an answer, or may.
pub(crate) const HEADERS: &str = "response.headers";
/// The top-level keys of the desired state that differ.
pub(crate) const DIFFERS: &str = "differs";
/// The number of the correction under way.
pub(crate) const CORRECTION: &str = "correction";
/// What a hint from outside carries.
pub(in crate::cel) const PAYLOAD: &str = "payload";

/// The secrets that a correction sends.
pub(crate) const SECRETS: &str = "secrets";

/// Every variable of the language.
pub(in crate::cel) const VARIABLES: &[&str] =
    &[SELF, RESPONSE, ITEM, ROW, RESOURCE, STEPS, DESIRED, DIFFERS, OBSERVED, CORRECTION, PAYLOAD, SECRETS];

/// What an evaluation may see; a variable that is `None` is unknown to the expression (refused already at load).
#[derive(Clone, Copy, Debug)]
pub struct Variables<'a> {
    /// `self`: the object as [`drift_api::object::LeanObject::view`] keeps it.
    pub object: &'a Value,
    /// `response`: `{status, headers, body, text}` of the request, headers in lower case.
    pub response: Option<&'a Value>,
    /// `item`: one entry of a collection.
    pub item: Option<&'a Value>,
    /// `row`: one row of a query, its columns by name.
    pub row: Option<&'a Value>,
    /// `resource`: an object of the cluster, whole.
    pub resource: Option<&'a Value>,
    /// `steps`: the answers of the steps before, by name, each as `response`.
    pub steps: Option<&'a Value>,
    /// The bytes of these answers, `steps.NAME.raw`.
    pub raw: Option<&'a RawAnswers>,
    /// `desired`: the rendered desired state.
    pub desired: Option<&'a Value>,
    /// `differs`: the top-level keys of `desired` that differ, a list of texts.
    pub differs: Option<&'a Value>,
    /// `observed`: what a poll observed, as it is compared.
    pub observed: Option<&'a Value>,
    /// `correction`: the number of the correction under way.
    pub correction: Option<u64>,
    /// `payload`: what a hint carries.
    pub payload: Option<&'a Value>,
    /// `secrets`: what a correction sends and nobody is shown, by name.
    pub secrets: Option<&'a SecretValues>,
}

impl<'a> Variables<'a> {
    /// Only `self`.
    #[must_use]
    pub const fn of_object(object: &'a Value) -> Self {
        Self {
            object,
            response: None,
            item: None,
            row: None,
            resource: None,
            steps: None,
            raw: None,
            desired: None,
            differs: None,
            observed: None,
            correction: None,
            payload: None,
            secrets: None,
        }
    }

    /// A variable that is JSON, by its name in expressions.
    pub(in crate::cel) fn json(&self, name: &str) -> Option<&'a Value> {
        match name {
            SELF => Some(self.object),
            RESPONSE => self.response,
            ITEM => self.item,
            ROW => self.row,
            RESOURCE => self.resource,
            STEPS => self.steps,
            DESIRED => self.desired,
            DIFFERS => self.differs,
            OBSERVED => self.observed,
            PAYLOAD => self.payload,
            SECRETS => self.secrets.map(SecretValues::json),
            _ => None,
        }
    }
}

/// Which variables exist where a template stands; anything else is refused when the target loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// `self` with spec and metadata name, namespace, uid only: `compare.desired`.
    Desired,
    /// `self` without its status, which our own writes may change: identity.
    Identity,
    /// `self`: require, suspendWhen, read.http url/headers/body.
    Object,
    /// `self` and `response`: observed, absentWhen, validWhen, settlingWhen.
    Response,
    /// `response` alone: what concerns a page of a collection, whichever objects are in it.
    Page,
    /// `item` alone: what an entry of a collection is called.
    ItemAlone,
    /// `self` and `item`: what concerns the entry of one object.
    Item,
    /// `self` and `observed`: publish.
    Publication,
    /// `row` alone: what a row is called.
    RowAlone,
    /// `self` and `row`: what concerns the row of one object.
    Row,
    /// `self` and `resource`: what concerns the object of the cluster that is the external resource.
    Resource,
    /// `self`, `desired`, `differs`, `correction`: correct steps.
    Correction,
    /// The same and `response`: refusedWhen, because, store.
    CorrectionAnswer,
    /// `self`, `desired`, `correction`: the steps of a deletion, which follows no verdict.
    Deletion,
    /// The same and `response`.
    DeletionAnswer,
    /// `payload` alone: whom a hint is about.
    Hint,
    /// All of them: an entry of `let`, of which only its use tells where it stands.
    Anywhere,
}

/// Fields of `metadata` that a desired state may depend on: they never change while an object lives.
const WISH_METADATA: &[&str] = &["name", "namespace", "uid"];
/// Fields that no template may see: they change with our own writes.
const HIDDEN: &[[&str; 2]] =
    &[["status", "conditions"], ["metadata", "managedFields"], ["metadata", "resourceVersion"]];

impl Scope {
    /// The variables that exist here.
    pub(in crate::cel) const fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Desired | Self::Identity | Self::Object => &[SELF],
            Self::Response => &[SELF, RESPONSE],
            Self::Page => &[RESPONSE],
            Self::ItemAlone => &[ITEM],
            Self::Item => &[SELF, ITEM],
            Self::Publication => &[SELF, OBSERVED],
            Self::RowAlone => &[ROW],
            Self::Row => &[SELF, ROW],
            Self::Resource => &[SELF, RESOURCE],
            Self::Correction => &[SELF, DESIRED, DIFFERS, CORRECTION],
            Self::CorrectionAnswer => &[SELF, RESPONSE, DESIRED, DIFFERS, CORRECTION],
            Self::Deletion => &[SELF, DESIRED, CORRECTION],
            Self::DeletionAnswer => &[SELF, RESPONSE, DESIRED, CORRECTION],
            Self::Hint => &[PAYLOAD],
            Self::Anywhere => VARIABLES,
        }
    }

    /// Why a path below `self` may not be read here.
    pub(in crate::cel) fn refusal(self, path: &[String]) -> Option<String> {
        let written = || std::iter::once(SELF).chain(path.iter().map(String::as_str)).collect::<Vec<_>>().join(".");
        if HIDDEN.iter().any(|hidden| path.starts_with(&hidden.map(str::to_owned))) {
            return Some(format!("`{}` is visible to no template: it changes with our own writes", written()));
        }
        if self == Self::Identity && path.first().is_some_and(|first| first == "status") {
            return Some(format!(
                "`{}` is not visible here: an identity must not change with our own writes",
                written()
            ));
        }
        let fields: Vec<&str> = path.iter().map(String::as_str).collect();
        let of_desired = match fields.as_slice() {
            ["spec", ..] => true,
            ["metadata", field, ..] => WISH_METADATA.contains(field),
            _ => false,
        };
        (self == Self::Desired && !of_desired).then(|| {
            format!(
                "`{}` is not visible here: desired sees self.spec and self.metadata.name, namespace and uid",
                written()
            )
        })
    }
}

/// Variables bound for one evaluation.
pub(in crate::cel) struct Bound<'a> {
    variables: [(&'static str, Option<Box<dyn Val + 'a>>); 13],
}

impl<'a> Bound<'a> {
    pub(in crate::cel) fn new(variables: &Variables<'a>, cost: &'a Arc<Cost>) -> Self {
        let json = |name: &'static str| (name, variables.json(name).map(|value| bind(value, cost)));
        let steps = match (variables.steps, variables.raw) {
            (Some(answers), Some(raw)) => (STEPS, Some(bind_steps(answers, raw, cost))),
            _ => json(STEPS),
        };
        let cost: (_, Option<Box<dyn Val + 'a>>) = (COST, Some(Box::new(CostValue(cost.clone()))));
        let correction = variables
            .correction
            .map(|number| Box::new(CelInt::from(i64::try_from(number).unwrap_or(i64::MAX))) as Box<dyn Val + 'a>);
        Self {
            variables: [
                json(SELF),
                json(RESPONSE),
                json(ITEM),
                json(ROW),
                json(RESOURCE),
                steps,
                json(DESIRED),
                json(DIFFERS),
                json(OBSERVED),
                json(PAYLOAD),
                json(SECRETS),
                (CORRECTION, correction),
                cost,
            ],
        }
    }
}

impl VariableResolver for Bound<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let (_, value) = self.variables.iter().find(|(name, _)| *name == variable)?;
        value.as_ref().map(|value| CowVal::Borrowed(value.as_ref()))
    }
}
