//! Size limits and prices of operations, each with its reason. `cost.rs` charges the prices.
//!
//! These numbers determine the maximum cost of an evaluation.

/// Maximum length of a template text, in bytes: far above any text a person writes, far below a size that slows
/// down a load.
pub(crate) const MAX_TEMPLATE_BYTES: usize = 16 * 1024;

/// Maximum length of the expression inside one `${…}`, in bytes. Longer expressions belong in several templates.
pub(crate) const MAX_EXPRESSION_BYTES: usize = 2 * 1024;

/// Maximum nesting of `all`, `exists`, `map`, `filter` and the like. The cost of an evaluation is at most quadratic.
pub(crate) const MAX_COMPREHENSION_DEPTH: usize = 2;

/// Maximum nesting of an expression, in brackets as written and in operations as parsed, because cel's parser and
/// interpreter recurse. In an unoptimised build, 20 brackets overflowed a stack of 2 MiB while parsing, and 60
/// sums while evaluating.
pub(crate) const MAX_EXPRESSION_DEPTH: usize = 32;

/// Stack size for parsing an expression. The deepest allowed one fits in an unoptimised build.
pub(crate) const PARSE_STACK_BYTES: usize = 16 * 1024 * 1024;

/// Stack that one level of an expression can need in an unoptimised build, including charging. If too little is left,
/// an evaluation gets a stack of its own. A runtime thread has 2 MiB.
pub(crate) const STACK_BYTES_PER_LEVEL: usize = 48 * 1024;

/// Maximum cost of all evaluations of one template together, in units of about a tenth of a microsecond: a tenth of a
/// second of one core, and with [`BYTES_PER_UNIT`] 16 MiB. An evaluation blocks its thread.
pub(crate) const MAX_COST: usize = 1_000_000;

/// Bytes of a text read or written for one unit. The slowest functions work character by character.
pub(crate) const BYTES_PER_UNIT: usize = 16;

/// Returns the cost of reading or writing this many bytes.
pub(crate) const fn of_bytes(bytes: usize) -> usize {
    bytes / BYTES_PER_UNIT + 1
}

/// Cost of creating a member of a list or map, in units. It takes about 64 bytes.
pub(crate) const MEMBER_COST: usize = 4;

/// Cost of creating a map, in units, without its members.
pub(crate) const MAP_COST: usize = 8;

/// Maximum size of a compiled pattern, in bytes: enough for `\w{1,63}`, which covers all alphabets.
pub(crate) const MAX_PATTERN_BYTES: usize = 4 * 1024 * 1024;

/// Maximum length of a pattern, in bytes: twice a whole expression. Parsing takes about 4 KiB for each byte, measured
/// with `\w` repeated.
pub(crate) const MAX_PATTERN_TEXT_BYTES: usize = 2 * MAX_EXPRESSION_BYTES;

/// Maximum number of groups of a pattern. At most one is read, and 100 are far above any pattern a person writes.
pub(crate) const MAX_PATTERN_GROUPS: usize = 100;

/// Memory in which one automaton caches the states of a search, in bytes. Most patterns have far fewer. Each pattern
/// has at most two automata, and one evaluation keeps at most 8 MiB.
pub(crate) const MAX_PATTERN_CACHE_BYTES: usize = 256 * 1024;

/// Maximum number of compiled patterns that one evaluation keeps. A target usually has few; patterns from an object's
/// list are used once each.
pub(crate) const MAX_PATTERNS_KEPT: usize = 16;

/// Minimum cost of compiling a pattern, in units. Simple ones take about 50 microseconds.
pub(crate) const PATTERN_COST: usize = 500;

/// Bytes of an automaton that one unit pays for, for each [`BYTES_PER_UNIT`] of text. All states can be alive at once.
/// Each takes about 40 bytes and 2 nanoseconds.
pub(crate) const BYTES_OF_PATTERN_PER_STEP: usize = 128;

/// Maximum size of one rendered value: the bytes of its texts plus one for each node. A response of the
/// largest `maxBytes` fits.
pub(crate) const MAX_RENDERED_BYTES: usize = 8 * 1024 * 1024;

/// Maximum length of a rendered URL, in bytes: the limit that servers commonly accept.
pub const MAX_URL_BYTES: usize = 8 * 1024;

/// `quantity(x)`, and the result of `type(x)` for it.
pub(in crate::cel) const QUANTITY: &str = "quantity";
