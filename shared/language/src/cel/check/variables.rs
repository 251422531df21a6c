//! The variables that templates may read, and the places where each variable exists.

use cel::common::types::CelInt;
use cel::common::value::CowVal;
use cel::context::VariableResolver;
use serde_json::Value;

use std::sync::Arc;

use crate::cel::evaluation::cost::{COST, Cost, CostValue};
use crate::cel::evaluation::json::{RawAnswers, bind, bind_steps};
use crate::cel::evaluation::secret_values::SecretValues;

/// The Kubernetes object.
pub(crate) const SELF: &str = "self";
/// The response of a read.
pub(in crate::cel) const RESPONSE: &str = "response";
/// The rendered desired state.
pub(crate) const DESIRED: &str = "desired";
/// Recorded for an expression that reads the whole desired state. An expression that reads one
/// key records `desired.KEY`.
pub(crate) const EVERY_KEY: &str = "desired.*";
/// The state that a poll observed.
pub(in crate::cel) const OBSERVED: &str = "observed";
/// One entry of a collection, or one item of `forEach`.
pub(crate) const ITEM: &str = "item";
/// One row of a query.
pub(in crate::cel) const ROW: &str = "row";
/// A cluster object that is the external resource.
pub(in crate::cel) const RESOURCE: &str = "resource";
/// The responses of earlier steps.
pub(crate) const STEPS: &str = "steps";
/// Recorded for an expression that reads response headers, or may read them.
pub(crate) const HEADERS: &str = "response.headers";
/// The top-level keys of the desired state that differ.
pub(crate) const DIFFERS: &str = "differs";
/// The number of the current correction.
pub(crate) const CORRECTION: &str = "correction";
/// The payload of a webhook hint.
pub(in crate::cel) const PAYLOAD: &str = "payload";

/// The secrets that a correction sends.
pub(crate) const SECRETS: &str = "secrets";

/// Every variable of the language.
pub(in crate::cel) const VARIABLES: &[&str] =
    &[SELF, RESPONSE, ITEM, ROW, RESOURCE, STEPS, DESIRED, DIFFERS, OBSERVED, CORRECTION, PAYLOAD, SECRETS];

/// The values that an evaluation may read. A variable that is `None` is unknown to the expression (already
/// rejected at load).
#[derive(Clone, Copy, Debug)]
pub struct Variables<'a> {
    /// `self`: the object as [`drift_api::object::LeanObject::view`] keeps it.
    pub object: &'a Value,
    /// `response`: `{status, headers, body, text}` of the request, headers in lower case.
    pub response: Option<&'a Value>,
    /// `item`: one entry of a collection, or one item of `forEach`.
    pub item: Option<&'a Value>,
    /// `row`: one row of a query, its columns by name.
    pub row: Option<&'a Value>,
    /// `resource`: an object of the cluster, whole.
    pub resource: Option<&'a Value>,
    /// `steps`: the responses of earlier steps by name, each as `response`.
    pub steps: Option<&'a Value>,
    /// The raw bytes of these responses, `steps.NAME.raw`.
    pub raw: Option<&'a RawAnswers>,
    /// `desired`: the rendered desired state.
    pub desired: Option<&'a Value>,
    /// `differs`: the top-level keys of `desired` that differ, a list of texts.
    pub differs: Option<&'a Value>,
    /// `observed`: the observed state as it is compared.
    pub observed: Option<&'a Value>,
    /// `correction`: the number of the current correction.
    pub correction: Option<u64>,
    /// `payload`: the payload of a hint.
    pub payload: Option<&'a Value>,
    /// `secrets`: values that a correction sends and that are never shown, by name.
    pub secrets: Option<&'a SecretValues>,
}

impl<'a> Variables<'a> {
    /// Creates variables with `self` only.
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

    /// Returns a JSON variable by its name in expressions.
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

/// The set of variables at the place of a template. Others are rejected when the target loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// `self` with spec and metadata name, namespace, uid only: `compare.desired`.
    Desired,
    /// `self` without its status, which our own writes can change: identity.
    Identity,
    /// `self`: require, suspendWhen, read.http url/headers/body.
    Object,
    /// `self` and `response`: observed, absentWhen, validWhen, settlingWhen.
    Response,
    /// `response` alone: rules about a page of a collection, independent of its objects.
    Page,
    /// `item` alone: the name of a collection entry.
    ItemAlone,
    /// `self` and `item`: rules about the entry of one object.
    Item,
    /// `self` and `observed`: publications.
    Publication,
    /// `row` alone: the name of a row.
    RowAlone,
    /// `self` and `row`: rules about the row of one object.
    Row,
    /// `self` and `resource`: rules about the cluster object that is the external resource.
    Resource,
    /// `self`, `desired`, `differs`, `correction`: correct steps.
    Correction,
    /// The variables of `Correction` and `response`: refusedWhen, because, store.
    CorrectionAnswer,
    /// `self`, `desired`, `correction`: the steps of a deletion. It has no verdict, so `differs` does not exist.
    Deletion,
    /// The variables of `Deletion` and `response`.
    DeletionAnswer,
    /// `payload` alone: the object that a hint refers to.
    Hint,
    /// All variables: an entry of `let`, whose place is known only at its use.
    Anywhere,
}

/// Fields of `metadata` that a desired state may depend on. They never change during the life of an object.
const WISH_METADATA: &[&str] = &["name", "namespace", "uid"];
/// Fields hidden from all templates, because our own writes change them.
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

    /// Returns the reason why a path below `self` may not be read here.
    pub(in crate::cel) fn refusal(self, path: &[&str]) -> Option<String> {
        let of_desired = match path {
            ["spec", ..] => true,
            ["metadata", field, ..] => WISH_METADATA.contains(field),
            _ => false,
        };
        let reason = if HIDDEN.iter().any(|hidden| path.starts_with(hidden)) {
            "is visible to no template: it changes with our own writes"
        } else if self == Self::Identity && path.first() == Some(&"status") {
            "is not visible here: an identity must not change with our own writes"
        } else if self == Self::Desired && !of_desired {
            "is not visible here: desired sees self.spec and self.metadata.name, namespace and uid"
        } else {
            return None;
        };
        Some(format!("`{}` {reason}", [&[SELF][..], path].concat().join(".")))
    }
}

/// Variables of one evaluation. Each is bound when an expression reads it.
pub(in crate::cel) struct Bound<'a> {
    variables: Variables<'a>,
    cost: CostValue,
}

impl<'a> Bound<'a> {
    pub(in crate::cel) fn new(variables: &Variables<'a>, cost: &Arc<Cost>) -> Self {
        Self { variables: *variables, cost: CostValue(cost.clone()) }
    }
}

impl VariableResolver for Bound<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let cost = &*self.cost.0;
        Some(match (variable, self.variables.raw) {
            (COST, _) => CowVal::Borrowed(&self.cost),
            (CORRECTION, _) => {
                CowVal::owned(CelInt::from(i64::try_from(self.variables.correction?).unwrap_or(i64::MAX)))
            }
            (STEPS, Some(raw)) => CowVal::Owned(bind_steps(self.variables.steps?, raw, cost)),
            _ => CowVal::Owned(bind(self.variables.json(variable)?, cost)),
        })
    }
}
