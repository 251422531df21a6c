//! Finds the origin of an expression from its parts.

use std::collections::BTreeMap;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, operators};

use crate::cel::check::answer_part::AnswerPart;
use crate::cel::check::chain::text;
use crate::cel::check::origin::{Entry, Origin};
use crate::cel::check::variables::{ITEM, SECRETS, STEPS};

/// Maximum parts of the origin of a local name. Names that use each other twice double it each time. An origin with
/// more parts counts as the whole answer. Real expressions have fewer than ten.
const MAX_PARTS: usize = 100;

/// Functions and operators whose result has no field of their arguments.
const MEASURES: &[&str] = &[
    "bool",
    "containsCIDR",
    "containsIP",
    "double",
    "hasValue",
    "int",
    "isCIDR",
    "isIP",
    "isQuantity",
    "matches",
    "prefixLength",
    "size",
    "type",
    "uint",
    operators::EQUALS,
    operators::GREATER,
    operators::GREATER_EQUALS,
    operators::IN,
    operators::LESS,
    operators::LESS_EQUALS,
    operators::LOGICAL_AND,
    operators::LOGICAL_NOT,
    operators::LOGICAL_OR,
    operators::NOT_EQUALS,
];

/// Returns the origin of an expression, before its functions are redirected.
pub(in crate::cel) fn origin_of(expression: &IdedExpr) -> Origin {
    Tracer::default().trace(expression)
}

/// Follows local names while it traces an expression.
#[derive(Default)]
struct Tracer {
    local: BTreeMap<String, Origin>,
}

impl Tracer {
    fn trace(&mut self, expression: &IdedExpr) -> Origin {
        match &expression.expr {
            Expr::Ident(name) => match (self.local.get(name), name.as_str()) {
                (Some(origin), _) if origin.size() > MAX_PARTS => Origin::Whole,
                (Some(origin), _) => origin.clone(),
                (None, STEPS) => Origin::Steps,
                (None, ITEM) => Origin::Item,
                (None, SECRETS) => Origin::Secrets,
                _ => Origin::Elsewhere,
            },
            Expr::Select(select) if select.test => Origin::Elsewhere,
            Expr::Select(select) => self.trace(&select.operand).field(&select.field),
            Expr::List(list) => among(list.elements.iter().map(|element| self.trace(element)).collect()),
            Expr::Map(map) => {
                let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some(Entry {
                        key: text(&entry.key).map(str::to_owned),
                        is_optional: entry.optional,
                        value: self.trace(&entry.value),
                    }),
                    EntryExpr::StructField(_) => None,
                });
                Origin::Map(entries.collect())
            }
            Expr::Call(call) => self.trace_call(call),
            Expr::Comprehension(comprehension) => self.trace_loop(comprehension),
            Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => Origin::Elsewhere,
        }
    }

    fn trace_call(&mut self, call: &CallExpr) -> Origin {
        let name = call.func_name.as_str();
        if MEASURES.contains(&name) {
            return Origin::Elsewhere;
        }
        match (name, call.args.as_slice()) {
            (operators::OPT_SELECT | operators::INDEX | operators::OPT_INDEX, [operand, index]) => {
                let operand = self.trace(operand);
                match text(index) {
                    Some(field) => operand.field(field),
                    None => operand.item(),
                }
            }
            ("merge" | "mergeDeep", [base, over]) if call.target.is_none() => Origin::Merged {
                base: Box::new(self.trace(base)),
                over: Box::new(self.trace(over)),
                is_deep: name == "mergeDeep",
            },
            ("without", [map, keys]) if call.target.is_none() => {
                let keys = match &keys.expr {
                    Expr::List(list) => list.elements.iter().filter_map(text).map(str::to_owned).collect(),
                    _ => Vec::new(),
                };
                Origin::Without(Box::new(self.trace(map)), keys)
            }
            (operators::CONDITIONAL, [_, one, other]) => among(vec![self.trace(one), self.trace(other)]),
            _ => {
                let parts = call.target.as_deref().into_iter().chain(&call.args);
                match among(parts.map(|part| self.trace(part)).collect()) {
                    // `json.parse(steps.look.text)`
                    Origin::Whole if name == "parse" => Origin::Body(AnswerPart::new("json.parse(…)")),
                    origin => origin,
                }
            }
        }
    }

    fn trace_loop(&mut self, comprehension: &ComprehensionExpr) -> Origin {
        let item = self.trace(&comprehension.iter_range).item();
        let init = self.trace(&comprehension.accu_init);
        let names = [Some(&comprehension.iter_var), comprehension.iter_var2.as_ref()];
        let outside = self.local.clone();
        self.local.extend(names.into_iter().flatten().map(|name| (name.clone(), item.clone())));
        self.local.insert(comprehension.accu_var.clone(), init.clone());
        // A loop that begins with true, false or a number ends with one.
        let is_measure = matches!(comprehension.accu_init.expr, Expr::Literal(_));
        let step = if is_measure { Origin::Elsewhere } else { self.trace(&comprehension.loop_step) };
        self.local.insert(comprehension.accu_var.clone(), among(vec![init, step]));
        let result = self.trace(&comprehension.result);
        self.local = outside;
        result
    }
}

fn among(mut values: Vec<Origin>) -> Origin {
    values.retain(|value| *value != Origin::Elsewhere);
    match values.len() {
        0 => Origin::Elsewhere,
        1 => values.remove(0),
        _ => Origin::Among(values),
    }
}
