//! A YAML tree whose strings are templates, for example a desired state, a body or a mapping of a response.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::cel::check::mistake::Mistake;
use crate::cel::check::site::{EvaluationError, Site};
use crate::cel::check::variables::Variables;
use crate::cel::evaluation::convert::{Allowance, Meter as _};
use crate::cel::evaluation::cost::Cost;
use crate::cel::render::expression::Expression;
use crate::cel::render::expressions::Expressions;
use crate::cel::render::text::TextTemplate;
use crate::cel::syntax::pieces::{Piece, TemplateError, pieces};

/// A YAML tree whose strings are templates.
#[derive(Debug)]
pub struct ValueTemplate {
    site: Site,
    root: Node,
}

/// One node of the tree.
#[derive(Debug)]
pub(crate) enum Node {
    /// A subtree without templates.
    Constant(Value),
    /// A string that consists of one `${…}`. It keeps the type of the value.
    Expression(Expression),
    /// A string with `${…}` inside.
    Text(TextTemplate),
    /// A list. An optional without value leaves its item out.
    List(Vec<Node>),
    /// A map. An optional without value leaves its field out.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Compiles one string of the tree.
    ///
    /// # Errors
    /// Returns every mistake in it.
    pub(crate) fn parse(text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        match pieces(text).map_err(|error| vec![error])?.as_slice() {
            [] => Ok(Self::Constant(Value::from(""))),
            [Piece::Literal(literal)] => Ok(Self::Constant(Value::from(literal.as_str()))),
            [Piece::Expression { source, offset }] => Ok(Self::Expression(Expression::compile(source, *offset, site)?)),
            _ => Ok(Self::Text(TextTemplate::parse(text, site)?)),
        }
    }

    /// Builds a list, constant if all its items are.
    pub(crate) fn list(items: Vec<Self>) -> Self {
        if items.iter().all(|item| matches!(item, Self::Constant(_))) {
            return Self::Constant(Value::Array(items.into_iter().filter_map(Self::into_constant).collect()));
        }
        Self::List(items)
    }

    /// Builds a map, constant if all its fields are.
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

    /// Returns the node at a key of a map with templates.
    pub(crate) fn field(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, field)| field),
            _ => None,
        }
    }

    /// Collects the expressions in it, each with its path. The items of a list have the path of the list.
    pub(crate) fn collect_expressions<'n>(
        &'n self,
        path: &mut Vec<&'n str>,
        found: &mut Vec<(Vec<&'n str>, &'n Expression)>,
    ) {
        match self {
            Self::Constant(_) => {}
            Self::Expression(expression) => found.push((path.clone(), expression)),
            Self::Text(text) => text.visit(&mut |expression| found.push((path.clone(), expression))),
            Self::List(items) => items.iter().for_each(|item| item.collect_expressions(path, found)),
            Self::Map(entries) => {
                for (name, field) in entries {
                    path.push(name);
                    field.collect_expressions(path, found);
                    path.pop();
                }
            }
        }
    }

    /// Renders the nodes that read none of the unknown variables.
    fn try_without(&self, unknown: &[&str], rendering: &Rendering<'_, '_>) -> Result<(), EvaluationError> {
        match self {
            Self::List(items) => items.iter().try_for_each(|item| item.try_without(unknown, rendering)),
            Self::Map(entries) => entries.iter().try_for_each(|(_, field)| field.try_without(unknown, rendering)),
            node if unknown.iter().any(|variable| node.reads(variable)) => Ok(()),
            node => node.render(rendering).map(drop),
        }
    }

    /// Renders the node; `None` leaves it out.
    fn render(&self, rendering: &Rendering<'_, '_>) -> Result<Option<Value>, EvaluationError> {
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

impl Expressions for Node {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        match self {
            Self::Constant(_) => {}
            Self::Expression(expression) => visit(expression),
            Self::Text(text) => text.visit(visit),
            Self::List(items) => items.visit(visit),
            Self::Map(entries) => entries.visit(visit),
        }
    }
}

impl Expressions for ValueTemplate {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.root.visit(visit);
    }
}

/// Shared state of one rendering of a tree.
struct Rendering<'r, 'v> {
    variables: &'r Variables<'v>,
    allowance: Allowance,
    cost: Arc<Cost>,
    site: &'r Site,
}

impl<'r, 'v> Rendering<'r, 'v> {
    fn new(variables: &'r Variables<'v>, site: &'r Site) -> Self {
        Self { variables, allowance: Allowance::default(), cost: Arc::default(), site }
    }

    fn spend(&self, bytes: usize) -> Result<(), EvaluationError> {
        self.allowance.spend(bytes).map_err(|cause| self.site.error(cause))
    }
}

/// Returns the bytes of a value's texts plus one for each node. Its JSON text is never shorter.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 1,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 1,
        Value::Object(fields) => fields.iter().map(|(name, field)| name.len() + weight(field)).sum::<usize>() + 1,
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

impl ValueTemplate {
    /// Creates a template from its tree.
    pub(crate) fn new(root: Node, site: Site) -> Self {
        Self { site, root }
    }

    /// Compiles one string: `${response.body}`.
    ///
    /// # Errors
    /// Returns every mistake in it.
    pub fn parse(text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        Ok(Self::new(Node::parse(text, site)?, site.clone()))
    }

    /// Renders the parts that read none of the unknown variables, to find their errors.
    ///
    /// # Errors
    /// Same as [`ValueTemplate::render`].
    pub(crate) fn try_without(&self, unknown: &[&str], variables: &Variables<'_>) -> Result<(), EvaluationError> {
        self.root.try_without(unknown, &Rendering::new(variables, &self.site))
    }

    /// Attributes a rendering error to the object or to the response.
    #[must_use]
    pub fn attribute(&self, error: EvaluationError, object: &Value) -> Mistake {
        let mut own = None;
        self.visit(&mut |expression| own = own.take().or_else(|| expression.own_mistake(object)));
        Mistake::attribute(own, error)
    }

    /// Returns the place of the tree in its target.
    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    /// Returns the root node.
    pub(crate) fn root(&self) -> &Node {
        &self.root
    }

    /// Renders the tree. An optional without value leaves its field out; at the root it is null.
    ///
    /// # Errors
    /// Fails if a field is missing or a value cannot be JSON.
    pub fn render(&self, variables: &Variables<'_>) -> Result<Value, EvaluationError> {
        self.render_optional(variables).map(Option::unwrap_or_default)
    }

    /// Renders the tree. `None` if the root is an optional without value.
    ///
    /// # Errors
    /// Same as [`ValueTemplate::render`].
    pub(crate) fn render_optional(&self, variables: &Variables<'_>) -> Result<Option<Value>, EvaluationError> {
        self.root.render(&Rendering::new(variables, &self.site))
    }
}
