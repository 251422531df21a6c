//! The tree of a parsed expression: the children of a node, and chains of fields.
//!
//! Every walk over expressions goes through the two functions of children, and knows only the kinds of nodes that it
//! treats in another way.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, operators};

/// Defines a function that returns the children of a node, for reading or for changing.
macro_rules! children {
    ($(#[$doc:meta])* $name:ident $($mutable:ident)?) => {
        $(#[$doc])*
        pub(crate) fn $name(node: &$($mutable)? IdedExpr) -> Vec<&$($mutable)? IdedExpr> {
            let mut children = Vec::new();
            match &$($mutable)? node.expr {
                Expr::Call(call) => {
                    if let Some(target) = &$($mutable)? call.target {
                        children.push(&$($mutable)? **target);
                    }
                    children.extend(&$($mutable)? call.args);
                }
                Expr::Comprehension(loops) => children.extend([
                    &$($mutable)? loops.iter_range,
                    &$($mutable)? loops.accu_init,
                    &$($mutable)? loops.loop_cond,
                    &$($mutable)? loops.loop_step,
                    &$($mutable)? loops.result,
                ]),
                Expr::List(list) => children.extend(&$($mutable)? list.elements),
                Expr::Map(map) => {
                    for entry in &$($mutable)? map.entries {
                        if let EntryExpr::MapEntry(entry) = &$($mutable)? entry.expr {
                            children.extend([&$($mutable)? entry.key, &$($mutable)? entry.value]);
                        }
                    }
                }
                Expr::Select(select) => children.push(&$($mutable)? select.operand),
                // Structs are refused when the target loads.
                Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {}
            }
            children
        }
    };
}

children! {
    /// Returns the children of a node. The first one of an operator or a selection begins where the node does.
    children
}

children! {
    /// Returns the children of a node, for changing them.
    children_mut mut
}

/// Returns the nesting depth of operations.
pub(in crate::cel) fn depth(node: &IdedExpr) -> usize {
    1 + children(node).into_iter().map(depth).max().unwrap_or(0)
}

/// Returns the text of a string literal.
pub(crate) fn text(node: &IdedExpr) -> Option<&str> {
    match &node.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

/// A field or an item that is selected on a value.
#[derive(Clone, Copy)]
pub(crate) struct Selection<'e> {
    pub(crate) operand: &'e IdedExpr,
    pub(crate) key: Key<'e>,
    pub(crate) mode: Mode,
}

#[derive(Clone, Copy)]
pub(crate) enum Key<'e> {
    /// `x.name`, `x['name']`.
    Field(&'e str),
    /// An index that is no text: `x[0]`, `x[self.spec.key]`.
    Index(&'e IdedExpr),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// `x.name`.
    Plain,
    /// `x.?name`, `x[?'name']`.
    Optional,
    /// `has(x.name)`.
    Test,
}

impl<'e> Selection<'e> {
    pub(crate) fn of(node: &'e IdedExpr) -> Option<Self> {
        match &node.expr {
            Expr::Select(select) => {
                let mode = if select.test { Mode::Test } else { Mode::Plain };
                Some(Self { operand: &select.operand, key: Key::Field(&select.field), mode })
            }
            Expr::Call(call) => {
                let mode = match call.func_name.as_str() {
                    operators::INDEX => Mode::Plain,
                    operators::OPT_INDEX | operators::OPT_SELECT => Mode::Optional,
                    _ => return None,
                };
                let [operand, index] = call.args.as_slice() else { return None };
                Some(Self { operand, key: text(index).map_or(Key::Index(index), Key::Field), mode })
            }
            _ => None,
        }
    }

    /// Returns the selected field. `None` for an index.
    pub(crate) fn field(&self) -> Option<&'e str> {
        match self.key {
            Key::Field(field) => Some(field),
            Key::Index(_) => None,
        }
    }
}

/// A name and what is selected on it: `self.spec.?listen`, `self["spec"].list[0]`.
pub(in crate::cel) struct Chain<'e> {
    /// The node of the name.
    pub(in crate::cel) root: &'e IdedExpr,
    pub(in crate::cel) name: &'e str,
    pub(in crate::cel) selections: Vec<Selection<'e>>,
}

impl<'e> Chain<'e> {
    /// Returns the chain of an expression. `None` if it is no chain.
    pub(in crate::cel) fn of(expression: &'e IdedExpr) -> Option<Self> {
        let (mut root, mut selections) = (expression, Vec::new());
        while let Some(selection) = Selection::of(root) {
            root = selection.operand;
            selections.push(selection);
        }
        selections.reverse();
        match &root.expr {
            Expr::Ident(name) => Some(Self { root, name, selections }),
            _ => None,
        }
    }

    /// Returns the fields up to the first index.
    pub(in crate::cel) fn fields(&self) -> Vec<&'e str> {
        self.selections.iter().map_while(Selection::field).collect()
    }

    /// Returns the indexes that are expressions of their own.
    pub(in crate::cel) fn indexes(&self) -> impl Iterator<Item = &'e IdedExpr> {
        self.selections.iter().filter_map(|selection| match selection.key {
            Key::Index(index) => Some(index),
            Key::Field(_) => None,
        })
    }
}
