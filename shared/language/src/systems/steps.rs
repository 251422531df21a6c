//! The steps of the actions of `correct`, and the walk over their parts.

use crate::cel::{Expression, Expressions};
use crate::secrets::secret_variable;
use crate::section::{Key, Leaf, Schema, Section};
use crate::systems::actions::{Action, ActionSteps, Actions};
use crate::yaml::{Fields, Reader};

/// The keys of actions with explicit steps.
pub(crate) const ACTIONS: [&str; 4] = ["create", "update", "delete", "replace"];

/// The role of a part of a request, or of the rules around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It selects the resource, for example the URL.
    Address,
    /// A header.
    Header,
    /// The content, for example the body.
    Body,
    /// A name that a statement grants.
    Grant,
    /// The list of a step that is sent once for each item.
    List,
    /// The condition for sending a step.
    When,
    /// A rule over the response, or a value taken from it.
    Answer,
    /// The key of a collection's entry that belongs to an object.
    Key,
    /// The rule that decides without a request that a resource is absent.
    Presence,
}

impl Role {
    /// Returns true if the part decides what a step sends.
    pub(crate) fn is_of_request(self) -> bool {
        matches!(self, Self::Address | Self::Header | Self::Body | Self::Grant | Self::List)
    }
}

/// Visits parts with their roles.
pub(crate) type VisitParts<'v, 'e> = dyn FnMut(Role, &'e dyn Expressions) + 'v;

/// Returns the expressions in the parts with these roles.
pub(crate) fn expressions_of<'e>(
    walk: impl FnOnce(&mut VisitParts<'_, 'e>),
    is_wanted: impl Fn(Role) -> bool,
) -> Vec<&'e Expression> {
    let mut found = Vec::new();
    walk(&mut |role, part| {
        if is_wanted(role) {
            part.visit(&mut |expression| found.push(expression));
        }
    });
    found
}

/// One step of a correction.
pub trait Step {
    /// Visits its parts.
    fn visit_parts<'e>(&'e self, visit: &mut dyn FnMut(Role, &'e dyn Expressions));

    /// Returns true if it changes nothing outside.
    fn looks_up(&self) -> bool {
        false
    }

    /// Returns true if parts with this role select the resource when this action sends the step.
    fn is_address(&self, _action: &str, role: Role) -> bool {
        role == Role::Address
    }

    /// Returns true if it sends the secret of that name.
    fn sends(&self, secret: &str) -> bool {
        self.expressions(&Role::is_of_request).reads(&secret_variable(secret))
    }

    /// The expressions in the parts with these roles.
    fn expressions(&self, is_wanted: &dyn Fn(Role) -> bool) -> Vec<&Expression> {
        expressions_of(|visit| self.visit_parts(visit), is_wanted)
    }
}

/// The steps of each action. An action without steps does not exist.
#[derive(Debug)]
pub struct Steps<S> {
    /// Steps of a creation.
    pub create: Vec<S>,
    /// Steps of an update.
    pub update: Vec<S>,
    /// Steps of a deletion.
    pub delete: Vec<S>,
    /// Steps of a replacement of a resource that cannot be changed. If empty, those of a deletion and of a creation
    /// are used.
    pub replace: Vec<S>,
}

impl<S> Steps<S> {
    /// The steps of each of `ACTIONS`.
    #[must_use]
    pub fn by_action(&self) -> [&[S]; 4] {
        [&self.create, &self.update, &self.delete, &self.replace]
    }

    /// The steps of every action.
    pub fn iter(&self) -> impl Iterator<Item = &S> {
        self.by_action().into_iter().flatten()
    }

    /// The same, for modification.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut S> {
        let Self { create, update, delete, replace } = self;
        [create, update, delete, replace].into_iter().flatten()
    }

    /// Returns the steps that an action sends. Empty if the target does not have the action.
    #[must_use]
    pub fn sent_for(&self, action: Action) -> ActionSteps<'_, S> {
        ActionSteps::of(action, self.by_action())
    }

    /// The steps of each of [`ACTIONS`], whatever system they are for.
    pub(crate) fn parts(&self) -> [Vec<&dyn Step>; 4]
    where
        S: Step,
    {
        self.by_action().map(|steps| steps.iter().map(|step| step as &dyn Step).collect())
    }

    /// The actions that have steps.
    pub(crate) fn actions(&self) -> Actions {
        let [create, update, delete, replace] = self.by_action().map(|steps| !steps.is_empty());
        Actions { create, update, delete, replace: replace || create && delete, nudge: false }
    }
}

/// Steps of an action for one kind of system.
pub(crate) trait StepSection: Step + Sized {
    /// A value that decides about the keys of a step, besides its action.
    type Context: Copy;

    /// The actions that may have steps. The order is that of [`ACTIONS`].
    const ACTIONS: &'static [&'static str];

    /// The steps of an action.
    fn steps(action: &'static str, context: Self::Context) -> impl Leaf<Value = Vec<Self>>;
}

impl<S: StepSection> Section for Steps<S> {
    type Value = Self;
    type Context = S::Context;

    fn names(_: S::Context) -> Vec<&'static str> {
        S::ACTIONS.to_vec()
    }

    fn keys(context: S::Context) -> Vec<Key> {
        let key = |name: &'static str| Key {
            name,
            description: description_of(name),
            is_required: false,
            schema: one_or_list(S::steps(name, context).schema()),
        };
        S::ACTIONS.iter().copied().map(key).collect()
    }

    /// At least one action is needed.
    fn read_from(reader: &mut Reader<'_>, fields: &Fields<'_>, context: S::Context) -> Option<Self> {
        let mut steps = ACTIONS.map(|action| match S::ACTIONS.contains(&action) {
            true => reader.or(fields, action, Vec::new(), |reader, node, place| {
                // Below a misspelt key, a single step is not expanded yet.
                S::steps(action, context).read(reader, &node.as_list(), place)
            }),
            false => Some(Vec::new()),
        });
        reader.at_least_one(fields, S::ACTIONS)?;
        let [create, update, delete, replace] = steps.each_mut().map(Option::take);
        Some(Self { create: create?, update: update?, delete: delete?, replace: replace? })
    }
}

/// The description of the key of an action.
fn description_of(action: &str) -> &'static str {
    match action {
        "create" => "The steps that create the resource: one, or a list in order.",
        "update" => "The steps that change it.",
        "delete" => "The steps that delete it.",
        _ => "The steps of a replacement. Default: those of delete, then create.",
    }
}

/// The schema of a list that may be a single item.
fn one_or_list(schema: Schema) -> Schema {
    match schema {
        Schema::List(item) => Schema::OneOrList(item),
        other => other,
    }
}
