//! The names of operators and macros, and of functions with a meaning of their own.

use cel::common::ast::operators;

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
    "cidr",
    "containsCIDR",
    "containsIP",
    "ip",
    "json.parse",
    "json.text",
    "masked",
    "merge",
    "mergeDeep",
    PATTERN,
    "prefixLength",
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
