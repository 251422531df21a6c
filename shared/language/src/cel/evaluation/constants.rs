//! The limits of sizes and the prices of operations, each with its reason. `cost.rs` charges the prices.
//!
//! What an evaluation may cost follows from these numbers.

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

/// Stack that one level of an expression may need, charging among the levels, in an unoptimised build. Where too little
/// is left an evaluation takes a stack of its own; a thread of the runtime has 2 MiB.
pub(crate) const STACK_BYTES_PER_LEVEL: usize = 48 * 1024;

/// What the evaluations of one template may cost together, in units of about a tenth of a microsecond: a tenth of a
/// second of one core, and with [`BYTES_PER_UNIT`] 16 MiB. While one runs, nothing else does on its thread.
pub(crate) const MAX_COST: usize = 1_000_000;

/// Bytes of a text that are read or written for one unit: the slowest functions go from character to character.
pub(crate) const BYTES_PER_UNIT: usize = 16;

/// What reading or writing so many bytes costs.
pub(crate) const fn of_bytes(bytes: usize) -> usize {
    bytes / BYTES_PER_UNIT + 1
}

/// Units that a member of a list or map costs when it is made: it takes about 64 bytes.
pub(crate) const MEMBER_COST: usize = 4;

/// Units that a map costs when it is made, beside its members.
pub(crate) const MAP_COST: usize = 8;

/// Largest automaton of a pattern, in bytes: room for `\w{1,63}`, which knows all alphabets.
pub(crate) const MAX_PATTERN_BYTES: usize = 4 * 1024 * 1024;

/// Memory in which one automaton keeps the states that a search has met, in bytes: most patterns have far fewer. Each pattern has
/// two at most, and all that one evaluation keeps have 8 MiB.
pub(crate) const MAX_PATTERN_CACHE_BYTES: usize = 256 * 1024;

/// Patterns that one evaluation keeps compiled; those of a target are mostly few, and those of an object's list come once each.
pub(crate) const MAX_PATTERNS_KEPT: usize = 16;

/// Units that compiling a pattern costs at least: simple ones take some 50 microseconds.
pub(crate) const PATTERN_COST: usize = 500;

/// Bytes of an automaton that may be looked at for one unit and [`BYTES_PER_UNIT`] of text: all of its states may be alive
/// at once, and each takes some 40 bytes and 2 nanoseconds.
pub(crate) const BYTES_OF_PATTERN_PER_STEP: usize = 128;

/// Size of one rendered value: the bytes of its texts and one for each node. An answer of the largest `maxBytes` fits.
pub(crate) const MAX_RENDERED_BYTES: usize = 8 * 1024 * 1024;

/// Longest rendered URL, in bytes: what servers commonly take.
pub const MAX_URL_BYTES: usize = 8 * 1024;
