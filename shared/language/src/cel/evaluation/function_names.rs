//! The names of the language: functions, macros, operators.
//!
//! What is not listed here is an unknown function when a target loads, whatever cel itself would know. This file must not
//! know what a function does.

use cel::common::ast::operators;

/// Functions called by their name alone.
pub(in crate::cel) const GLOBAL_FUNCTIONS: &[&str] = &[
    "base64.decode",
    "base64.encode",
    "bool",
    "bytes",
    "capture",
    "double",
    "duration",
    "dyn",
    "int",
    "isQuantity",
    "json.parse",
    "json.text",
    "matches",
    "merge",
    "optional.none",
    "optional.of",
    "optional.ofNonZeroValue",
    "path",
    "quantity",
    "regex.quote",
    "sha256",
    "size",
    "string",
    "timestamp",
    "type",
    "uint",
];

/// Functions called on a value: `text.trim()`.
pub(in crate::cel) const MEMBER_FUNCTIONS: &[&str] = &[
    "add",
    "asApproximateFloat",
    "asInteger",
    "charAt",
    "compareTo",
    "contains",
    "endsWith",
    "find",
    "findAll",
    "format",
    "hasValue",
    "indexOf",
    "isGreaterThan",
    "isInteger",
    "isLessThan",
    "join",
    "lastIndexOf",
    "lowerAscii",
    "matches",
    "or",
    "orValue",
    "replace",
    "sign",
    "size",
    "sort",
    "split",
    "startsWith",
    "sub",
    "substring",
    "trim",
    "upperAscii",
    "value",
];

/// Operators, by the names that they have once parsed.
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

/// Macros, for suggestions only: they are gone after parsing.
pub(in crate::cel) const MACROS: &[&str] =
    &["all", "exists", "exists_one", "filter", "has", "map", "optFlatMap", "optMap"];

/// Functions of our own, whose error messages are closed texts.
pub(in crate::cel) const OWN_FUNCTIONS: &[&str] =
    &["add", "asInteger", "json.parse", "json.text", "merge", "quantity", "sha256", "sort", "sub"];

/// `path(x)`: marks a URL's value whose `/` are kept. It is no function: it may only stand alone in a URL.
pub(in crate::cel) const PATH: &str = "path";

/// `quantity(x)`, and what `type(x)` calls its result.
pub(in crate::cel) const QUANTITY: &str = "quantity";
