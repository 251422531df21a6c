//! A YAML tree whose strings are templates: a desired state, a body, a mapping of an answer.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::cel::check::mistake::Mistake;
use crate::cel::check::site::{EvaluationError, Site};
use crate::cel::check::variables::Variables;
use crate::cel::evaluation::convert::Allowance;
use crate::cel::evaluation::cost::Cost;
use crate::cel::render::expression::Expression;
use crate::cel::render::text::TextTemplate;
use crate::cel::syntax::parse::{Piece, TemplateError, pieces};
use drift_api::object::field_paths::FieldPaths;

/// A YAML tree whose strings are templates.
#[derive(Debug)]
pub struct ValueTemplate {
    site: Site,
    root: Node,
}

/// One node of the tree.
#[derive(Debug)]
pub(crate) enum Node {
    /// Holds no template, in any depth.
    Constant(Value),
    /// A string that is one `${…}`: keeps the value's type.
    Expression(Expression),
    /// A string with `${…}` inside.
    Text(TextTemplate),
    /// A list; an optional without value leaves its item out.
    List(Vec<Node>),
    /// A map; an optional without value leaves its field out.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Compiles one string of the tree.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn parse(text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        match pieces(text).map_err(|error| vec![error])?.as_slice() {
            [] => Ok(Self::Constant(Value::from(""))),
            [Piece::Literal(literal)] => Ok(Self::Constant(Value::from(literal.as_str()))),
            [Piece::Expression { source, offset }] => Ok(Self::Expression(Expression::compile(source, *offset, site)?)),
            _ => Ok(Self::Text(TextTemplate::parse(text, site)?)),
        }
    }

    /// A list; constant where all its items are.
    pub(crate) fn list(items: Vec<Self>) -> Self {
        if items.iter().all(|item| matches!(item, Self::Constant(_))) {
            return Self::Constant(Value::Array(items.into_iter().filter_map(Self::into_constant).collect()));
        }
        Self::List(items)
    }

    /// A map; constant where all its fields are.
    pub(crate) fn map(fields: Vec<(String, Self)>) -> Self {
        if fields.iter().all(|(_, field)| matches!(field, Self::Constant(_))) {
            let constants = fields.into_iter().filter_map(|(name, field)| Some((name, field.into_constant()?)));
            return Self::Constant(Value::Object(constants.collect()));
        }
        Self::Map(fields)
    }

    fn into_constant(self) -> Option<Value> {
        match self {
            Self::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// What stands at a key of a map that has templates.
    pub(crate) fn field(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, field)| field),
            _ => None,
        }
    }

    /// The fields under `self` that it reads.
    pub(crate) fn fields(&self) -> FieldPaths {
        let mut fields = FieldPaths::default();
        self.collect_fields(&mut fields);
        fields
    }

    fn collect_fields(&self, fields: &mut FieldPaths) {
        match self {
            Self::Constant(_) => {}
            Self::Expression(expression) => fields.extend(expression.fields()),
            Self::Text(text) => fields.extend(&text.fields()),
            Self::List(items) => items.iter().for_each(|item| item.collect_fields(fields)),
            Self::Map(entries) => entries.iter().for_each(|(_, field)| field.collect_fields(fields)),
        }
    }

    fn reads(&self, variable: &str) -> bool {
        match self {
            Self::Constant(_) => false,
            Self::Expression(expression) => expression.reads(variable),
            Self::Text(text) => text.reads(variable),
            Self::List(items) => items.iter().any(|item| item.reads(variable)),
            Self::Map(entries) => entries.iter().any(|(_, field)| field.reads(variable)),
        }
    }

    /// Renders the nodes that do not read the variable.
    fn try_without(&self, variable: &str, rendering: &mut Rendering<'_, '_>) -> Result<(), EvaluationError> {
        match self {
            Self::List(items) => items.iter().try_for_each(|item| item.try_without(variable, rendering)),
            Self::Map(entries) => entries.iter().try_for_each(|(_, field)| field.try_without(variable, rendering)),
            node if node.reads(variable) => Ok(()),
            node => node.render(rendering).map(drop),
        }
    }

    fn own_mistake(&self, object: &Value) -> Option<EvaluationError> {
        match self {
            Self::Constant(_) => None,
            Self::Expression(expression) => expression.own_mistake(object),
            Self::Text(text) => text.own_mistake(object),
            Self::List(items) => items.iter().find_map(|item| item.own_mistake(object)),
            Self::Map(entries) => entries.iter().find_map(|(_, field)| field.own_mistake(object)),
        }
    }

    /// Renders the node; `None` leaves it out.
    fn render(&self, rendering: &mut Rendering<'_, '_>) -> Result<Option<Value>, EvaluationError> {
        match self {
            Self::Constant(value) => Ok(Some(value.clone())),
            Self::Expression(expression) => {
                let value = expression.evaluate_within(rendering.variables, &rendering.cost)?;
                rendering.spend(value.as_ref().map_or(0, weight))?;
                Ok(value)
            }
            Self::Text(text) => {
                let rendered = text.render_within(rendering.variables, &rendering.cost)?;
                rendering.spend(rendered.len())?;
                Ok(Some(Value::String(rendered)))
            }
            Self::List(items) => {
                let mut rendered = Vec::with_capacity(items.len());
                for item in items {
                    rendered.extend(item.render(rendering)?);
                }
                Ok(Some(Value::Array(rendered)))
            }
            Self::Map(entries) => {
                let mut rendered = Map::new();
                for (name, field) in entries {
                    if let Some(value) = field.render(rendering)? {
                        rendered.insert(name.clone(), value);
                    }
                }
                Ok(Some(Value::Object(rendered)))
            }
        }
    }
}

/// What one rendering of a tree has at hand.
struct Rendering<'r, 'v> {
    variables: &'r Variables<'v>,
    allowance: Allowance,
    cost: Arc<Cost>,
    site: &'r Site,
}

impl Rendering<'_, '_> {
    fn spend(&mut self, bytes: usize) -> Result<(), EvaluationError> {
        self.allowance.spend(bytes).map_err(|cause| self.site.error(cause))
    }
}

/// The bytes of a value's texts and one for each node: never more than its JSON text has.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 1,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 1,
        Value::Object(fields) => fields.iter().map(|(name, field)| name.len() + weight(field)).sum::<usize>() + 1,
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

impl ValueTemplate {
    /// A template from its tree.
    pub(crate) fn new(root: Node, site: Site) -> Self {
        Self { site, root }
    }

    /// Compiles one string: `${response.body}`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        Ok(Self::new(Node::parse(text, site)?, site.clone()))
    }

    /// The fields under `self` that it reads.
    #[must_use]
    pub fn fields(&self) -> FieldPaths {
        self.root.fields()
    }

    /// Returns true if it reads a variable of the language.
    pub(crate) fn reads(&self, variable: &str) -> bool {
        self.root.reads(variable)
    }

    /// Renders what does not read the variable, to see whether it can be.
    ///
    /// # Errors
    /// As for [`ValueTemplate::render`].
    pub(crate) fn try_without(&self, variable: &str, variables: &Variables<'_>) -> Result<(), EvaluationError> {
        let mut rendering =
            Rendering { variables, allowance: Allowance::default(), cost: Arc::default(), site: &self.site };
        self.root.try_without(variable, &mut rendering)
    }

    /// Whose mistake it is that it could not be rendered for that object and an answer.
    #[must_use]
    pub fn attribute(&self, error: EvaluationError, object: &Value) -> Mistake {
        Mistake::attribute(self.root.own_mistake(object), error)
    }

    /// The name of the object.
    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    /// The tree.
    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    /// Renders the tree; an optional without value leaves its field out, and is null where it is the whole.
    ///
    /// # Errors
    /// When a field is missing or a value cannot be JSON.
    pub fn render(&self, variables: &Variables<'_>) -> Result<Value, EvaluationError> {
        self.render_optional(variables).map(Option::unwrap_or_default)
    }

    /// The same; `None` where the whole is an optional without value.
    ///
    /// # Errors
    /// As for [`ValueTemplate::render`].
    pub(crate) fn render_optional(&self, variables: &Variables<'_>) -> Result<Option<Value>, EvaluationError> {
        let mut rendering =
            Rendering { variables, allowance: Allowance::default(), cost: Arc::default(), site: &self.site };
        self.root.render(&mut rendering)
    }
}
