//! The functions that templates can use: their arguments, their results, and those that charge for their own work.
//!
//! The environment, the checks of names, arguments and types, and the suggestions are views of this table. A name that
//! is not listed here is an unknown function when a target loads, even if cel itself has it.

use std::borrow::Cow;

use cel::common::ast::{CallExpr, Expr, IdedExpr, operators};
use cel::common::functions::Function as Run;

use crate::cel::functions::{addresses, json, maps, matching, quantities, sorting, texts};

/// The way in which a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// By its name alone: `merge(a, b)`.
    Alone,
    /// On a value: `text.trim()`.
    OnValue,
}

/// The types that the check of types tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Bytes,
    List,
    Map,
    /// A whole number or a double: JSON does not tell them apart.
    Number,
    Text,
    /// A duration or a timestamp.
    Time,
}

impl Kind {
    pub(crate) const fn described(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Bytes => "bytes",
            Self::List => "a list",
            Self::Map => "a map",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Time => "a time",
        }
    }
}

/// The type that a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returned {
    /// Depends on the values.
    Any,
    One(Kind),
    Texts,
    /// A type, which is compared with the name of one.
    Type,
    /// The type of the first value.
    Same,
    /// An optional of the first value, or one without value.
    Optional,
    /// The value in an optional, or the one given in its place.
    Inner,
}

const LIST: &[Kind] = &[Kind::List];
const SIZED: &[Kind] = &[Kind::Text, Kind::Bytes, Kind::List, Kind::Map];
const TEXT: &[Kind] = &[Kind::Text];

/// A function of the language.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) called: Called,
    /// The smallest and the largest number of arguments, without the value that it is called on.
    pub(in crate::cel) arguments: [usize; 2],
    /// The types of the value that it is called on, and of its first arguments. The others may have any type.
    pub(crate) takes: &'static [&'static [Kind]],
    pub(crate) returned: Returned,
    /// The position of the argument that is a regular expression.
    pub(in crate::cel) pattern: Option<usize>,
    /// Our own code, which charges for its work. `None` for functions of cel.
    pub(in crate::cel) run: Option<Run>,
}

const fn alone(name: &'static str, least: usize, most: usize) -> Function {
    let (called, arguments, returned) = (Called::Alone, [least, most], Returned::Any);
    Function { name, called, arguments, takes: &[], returned, pattern: None, run: None }
}

const fn on_value(name: &'static str, least: usize, most: usize) -> Function {
    Function { called: Called::OnValue, ..alone(name, least, most) }
}

impl Function {
    const fn takes(self, takes: &'static [&'static [Kind]]) -> Self {
        Self { takes, ..self }
    }

    const fn gives(self, kind: Kind) -> Self {
        self.returns(Returned::One(kind))
    }

    const fn returns(self, returned: Returned) -> Self {
        Self { returned, ..self }
    }

    const fn pattern(self, position: usize) -> Self {
        Self { pattern: Some(position), ..self }
    }

    const fn charging(self, run: Run) -> Self {
        Self { run: Some(run), ..self }
    }

    /// Returns the name in the environment, if it charges for itself. The `@` keeps it out of the grammar.
    pub(in crate::cel) fn charging_name(&self) -> Option<String> {
        self.run.map(|_| format!("@{}", self.name))
    }

    /// Returns the error for this number of arguments, if it is wrong. Such a call would always fail.
    pub(in crate::cel) fn mistake(&self, count: usize) -> Option<String> {
        let wanted = match self.arguments {
            [least, most] if (least..=most).contains(&count) => return None,
            [0, 0] => "no argument".to_owned(),
            [1, 1] => "1 argument".to_owned(),
            [least, most] if least == most => format!("{least} arguments"),
            [least, most] => format!("{least} or {most} arguments"),
        };
        Some(format!("`{}` takes {wanted}, not {count}", self.name))
    }
}

/// The function that a call names.
pub(crate) struct Callee<'e> {
    /// The name, with its namespace: `json.parse`.
    pub(crate) name: Cow<'e, str>,
    /// The value that it is called on.
    pub(crate) value: Option<&'e IdedExpr>,
}

impl<'e> Callee<'e> {
    pub(crate) fn of(call: &'e CallExpr) -> Self {
        match call.target.as_deref() {
            Some(IdedExpr { expr: Expr::Ident(namespace), .. }) if is_namespace(namespace) => {
                Self { name: Cow::Owned(format!("{namespace}.{}", call.func_name)), value: None }
            }
            value => Self { name: Cow::Borrowed(&call.func_name), value },
        }
    }

    /// Returns the function of this name. `None` for operators and unknown functions.
    pub(crate) fn function(&self) -> Option<&'static Function> {
        let called = if self.value.is_some() { Called::OnValue } else { Called::Alone };
        FUNCTIONS.iter().find(|function| function.called == called && function.name == self.name)
    }
}

/// The functions of the language.
pub(crate) const FUNCTIONS: &[Function] = &[
    alone("base64.decode", 1, 1),
    alone("base64.encode", 1, 1).gives(Kind::Text),
    alone("bool", 1, 1).gives(Kind::Bool),
    alone("bytes", 1, 1).gives(Kind::Bytes),
    alone("capture", 2, 2).takes(&[TEXT, TEXT]).pattern(1).charging(matching::capture),
    alone("captureAll", 2, 2).takes(&[TEXT, TEXT]).returns(Returned::Texts).pattern(1).charging(matching::capture_all),
    alone("cidr", 1, 1).takes(&[TEXT]).gives(Kind::Text).charging(addresses::cidr),
    alone("double", 1, 1).gives(Kind::Number),
    alone("duration", 1, 1).gives(Kind::Time),
    alone("dyn", 1, 1),
    alone("int", 1, 1).gives(Kind::Number),
    alone("ip", 1, 1).takes(&[TEXT]).gives(Kind::Text).charging(addresses::ip),
    alone("isCIDR", 1, 1).takes(&[TEXT]).gives(Kind::Bool).charging(addresses::is_cidr),
    alone("isIP", 1, 1).takes(&[TEXT]).gives(Kind::Bool).charging(addresses::is_ip),
    alone("isQuantity", 1, 1).gives(Kind::Bool).charging(quantities::is_quantity),
    alone("json.parse", 1, 1).takes(&[TEXT]).charging(json::parse),
    alone("json.text", 1, 1).gives(Kind::Text).charging(json::text),
    alone("matches", 2, 2).takes(&[TEXT, TEXT]).gives(Kind::Bool).pattern(1).charging(matching::matches),
    alone("merge", 2, 2).charging(maps::merge),
    alone("mergeDeep", 2, 2).charging(maps::merge_deep),
    alone("optional.none", 0, 0).returns(Returned::Optional),
    alone("optional.of", 1, 1).returns(Returned::Optional),
    alone("optional.ofNonZeroValue", 1, 1),
    alone("path", 1, 1),
    alone("quantity", 1, 1).charging(quantities::quantity),
    alone("regex.quote", 1, 1).takes(&[TEXT]).gives(Kind::Text).charging(matching::quote),
    alone("sha256", 1, 1).takes(&[TEXT]).gives(Kind::Text).charging(texts::sha256),
    alone("size", 1, 1).takes(&[SIZED]).gives(Kind::Number),
    alone("string", 1, 1).gives(Kind::Text),
    alone("timestamp", 1, 1).gives(Kind::Time),
    alone("type", 1, 1).returns(Returned::Type),
    alone("uint", 1, 1).gives(Kind::Number),
    alone("without", 2, 2).charging(maps::without),
    on_value("add", 1, 1).charging(quantities::add),
    on_value("asApproximateFloat", 0, 0).charging(quantities::as_approximate_float),
    on_value("asInteger", 0, 0).charging(quantities::as_integer),
    on_value("charAt", 1, 1).takes(&[TEXT]).gives(Kind::Text),
    on_value("compareTo", 1, 1).charging(quantities::compare_to),
    on_value("contains", 1, 1).takes(&[TEXT, TEXT]).gives(Kind::Bool),
    on_value("containsCIDR", 1, 1).takes(&[TEXT, TEXT]).gives(Kind::Bool).charging(addresses::contains_cidr),
    on_value("containsIP", 1, 1).takes(&[TEXT, TEXT]).gives(Kind::Bool).charging(addresses::contains_ip),
    on_value("endsWith", 1, 1).takes(&[TEXT, TEXT]).gives(Kind::Bool),
    on_value("find", 1, 1).takes(&[TEXT, TEXT]).gives(Kind::Text).pattern(0).charging(matching::find),
    on_value("findAll", 1, 2).takes(&[TEXT, TEXT]).returns(Returned::Texts).pattern(0).charging(matching::find_all),
    on_value("format", 1, 1).takes(&[TEXT]).gives(Kind::Text),
    on_value("hasValue", 0, 0).gives(Kind::Bool),
    on_value("indexOf", 1, 2).takes(&[TEXT, TEXT]).gives(Kind::Number).charging(texts::index_of),
    on_value("isGreaterThan", 1, 1).charging(quantities::is_greater_than),
    on_value("isInteger", 0, 0).charging(quantities::is_integer),
    on_value("isLessThan", 1, 1).charging(quantities::is_less_than),
    on_value("join", 0, 1).takes(&[LIST]).gives(Kind::Text).charging(texts::join),
    on_value("lastIndexOf", 1, 2).takes(&[TEXT, TEXT]).gives(Kind::Number).charging(texts::last_index_of),
    on_value("lowerAscii", 0, 0).takes(&[TEXT]).gives(Kind::Text),
    on_value("masked", 0, 0).takes(&[TEXT]).gives(Kind::Text).charging(addresses::masked),
    on_value("matches", 1, 1).takes(&[TEXT, TEXT]).gives(Kind::Bool).pattern(0).charging(matching::matches),
    on_value("or", 1, 1),
    on_value("orValue", 1, 1).returns(Returned::Inner),
    on_value("prefixLength", 0, 0).takes(&[TEXT]).gives(Kind::Number).charging(addresses::prefix_length),
    on_value("replace", 2, 3).takes(&[TEXT, TEXT, TEXT]).gives(Kind::Text).charging(texts::replace),
    on_value("sign", 0, 0).charging(quantities::sign),
    on_value("size", 0, 0).takes(&[SIZED]).gives(Kind::Number),
    on_value("sort", 0, 0).takes(&[LIST]).returns(Returned::Same).charging(sorting::sort),
    on_value("split", 1, 2).takes(&[TEXT, TEXT]).returns(Returned::Texts).charging(texts::split),
    on_value("startsWith", 1, 1).takes(&[TEXT, TEXT]).gives(Kind::Bool),
    on_value("sub", 1, 1).charging(quantities::sub),
    on_value("substring", 1, 2).takes(&[TEXT]).gives(Kind::Text),
    on_value("trim", 0, 0).takes(&[TEXT]).gives(Kind::Text),
    on_value("upperAscii", 0, 0).takes(&[TEXT]).gives(Kind::Text),
    on_value("value", 0, 0).returns(Returned::Inner),
];

/// Returns true if functions have this word in front of a dot: `json` of `json.parse`.
pub(crate) fn is_namespace(word: &str) -> bool {
    FUNCTIONS.iter().any(|function| function.name.split_once('.').is_some_and(|(namespace, _)| namespace == word))
}

/// Operators, by their names after parsing.
pub(in crate::cel) const OPERATORS: &[&str] = &[
    operators::CONDITIONAL,
    operators::LOGICAL_AND,
    operators::LOGICAL_OR,
    operators::LOGICAL_NOT,
    operators::SUBSTRACT,
    operators::ADD,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
    operators::EQUALS,
    operators::NOT_EQUALS,
    operators::GREATER_EQUALS,
    operators::LESS_EQUALS,
    operators::GREATER,
    operators::LESS,
    operators::NEGATE,
    operators::INDEX,
    operators::OPT_INDEX,
    operators::OPT_SELECT,
    operators::NOT_STRICTLY_FALSE,
    operators::IN,
];

/// Macros, for suggestions only: they do not exist after parsing.
pub(in crate::cel) const MACROS: &[&str] =
    &["all", "exists", "exists_one", "filter", "has", "map", "optFlatMap", "optMap"];

/// `path(x)`: marks a URL value that keeps its `/`. Not a real function: it is only valid alone in a URL.
pub(in crate::cel) const PATH: &str = "path";

/// The name that a function has elsewhere, and the one that it has here.
const FOREIGN: [(&str, &str); 16] = [
    ("default", "orValue"),
    ("getOrDefault", "orValue"),
    ("getOrElse", "orValue"),
    ("orDefault", "orValue"),
    ("orElse", "orValue"),
    ("len", "size"),
    ("length", "size"),
    ("lower", "lowerAscii"),
    ("toLower", "lowerAscii"),
    ("toLowerCase", "lowerAscii"),
    ("upper", "upperAscii"),
    ("toUpper", "upperAscii"),
    ("toUpperCase", "upperAscii"),
    ("str", "string"),
    ("toString", "string"),
    ("toInt", "int"),
];

/// Returns the function that does here what the one of this name does in other languages.
pub(in crate::cel) fn function_meant(name: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(foreign, _)| foreign.eq_ignore_ascii_case(name)).map(|(_, own)| *own)
}
