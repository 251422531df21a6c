//! The sizes that templates may not exceed, each with its reason.
//!
//! CEL has no cost limit of its own: what an evaluation may cost follows from these numbers.

/// Longest template text, in bytes: far above any sentence a person writes, far below what would make a load slow.
pub(crate) const MAX_TEMPLATE_BYTES: usize = 16 * 1024;

/// Longest expression inside one `${…}`, in bytes: what does not fit belongs into several templates.
pub(crate) const MAX_EXPRESSION_BYTES: usize = 2 * 1024;

/// Deepest nesting of `all`, `exists`, `map`, `filter` and the like: the cost of an evaluation is at most quadratic.
pub(crate) const MAX_COMPREHENSION_DEPTH: usize = 2;

/// Deepest nesting of an expression, in brackets as written and in operations as parsed: cel's parser and interpreter
/// recurse. In an unoptimised build 20 brackets overflowed 2 MiB of stack while parsing, 60 sums while evaluating.
pub(crate) const MAX_EXPRESSION_DEPTH: usize = 32;

/// Stack on which an expression is parsed: the deepest one fits in an unoptimised build.
pub(crate) const PARSE_STACK_BYTES: usize = 16 * 1024 * 1024;

/// Stack that must be left to evaluate where we are: the deepest expression fits in an unoptimised build, and a thread
/// of the runtime has 2 MiB.
pub(crate) const EVALUATION_STACK_LEFT_BYTES: usize = 1536 * 1024;

/// Stack that is taken for an evaluation where too little is left.
pub(crate) const EVALUATION_STACK_BYTES: usize = 4 * 1024 * 1024;

/// Items of lists and maps that one evaluation may look at: about a quarter of a second of one core.
pub(crate) const MAX_ITEMS_LOOKED_AT: usize = 1_000_000;

/// Size of one rendered value: the bytes of its texts and one for each node. An answer of the largest `maxBytes` fits.
pub(crate) const MAX_RENDERED_BYTES: usize = 8 * 1024 * 1024;

/// Longest rendered URL, in bytes: what servers commonly take.
pub(crate) const MAX_URL_BYTES: usize = 8 * 1024;
