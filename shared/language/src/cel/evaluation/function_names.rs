//! The names of the language: functions, macros, operators.
//!
//! A name that is not listed here is an unknown function when a target loads, even if cel itself has it.

use cel::common::ast::operators;

/// Functions called by their name alone.
pub(in crate::cel) const GLOBAL_FUNCTIONS: &[&str] = &[
    "base64.decode",
    "base64.encode",
    "bool",
    "bytes",
    "capture",
    "captureAll",
    "double",
    "duration",
    "dyn",
    "int",
    "isQuantity",
    "json.parse",
    "json.text",
    "matches",
    "merge",
    "mergeDeep",
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
    "without",
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

/// Our own functions. Their error messages are fixed texts.
pub(in crate::cel) const OWN_FUNCTIONS: &[&str] = &[
    "add",
    "asInteger",
    "json.parse",
    "json.text",
    "merge",
    "mergeDeep",
    PATTERN,
    "quantity",
    "sha256",
    "sort",
    "sub",
    "without",
];

/// `path(x)`: marks a URL value that keeps its `/`. Not a real function: it is only valid alone in a URL.
pub(in crate::cel) const PATH: &str = "path";

/// Not a function: the subject of errors about the pattern of `matches`, `find`, `findAll`, `capture` or `captureAll`.
pub(in crate::cel) const PATTERN: &str = "pattern";

/// `quantity(x)`, and the result of `type(x)` for it.
pub(in crate::cel) const QUANTITY: &str = "quantity";
