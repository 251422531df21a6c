//! Regular expressions with bounded size and work.
//!
//! A pattern can come from an object, and a short one can compile to a large automaton. So its size is capped,
//! its compilation and every match are charged, and an evaluation keeps a limited number of compiled patterns
//! until its end. A search keeps the groups once for each state, so only a search for a group compiles them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use cel::ExecutionError;
use regex_automata::Input;
use regex_automata::meta::{BuildError, Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::iter::Searcher;

use crate::cel::evaluation::constants::{
    BYTES_OF_PATTERN_PER_STEP, MAX_PATTERN_BYTES, MAX_PATTERN_CACHE_BYTES, MAX_PATTERN_GROUPS, MAX_PATTERN_TEXT_BYTES,
    MAX_PATTERNS_KEPT, PATTERN_COST, of_bytes,
};
use crate::cel::evaluation::cost::Cost;

/// The subject of errors about the pattern of `matches`, `find`, `findAll`, `capture` or `captureAll`.
pub(in crate::cel) const PATTERN: &str = "pattern";

/// The patterns compiled by one evaluation, by their text: first those without their groups, then those with them.
#[derive(Debug, Default)]
pub(in crate::cel) struct Patterns(Mutex<[HashMap<String, Regex>; 2]>);

/// The reason why a pattern is refused.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("longer than {MAX_PATTERN_TEXT_BYTES} bytes")]
    Long,
    #[error("more than {MAX_PATTERN_GROUPS} groups; write (?:…) for a group whose text is not needed")]
    Groups,
    #[error("invalid, or too large when compiled")]
    Build(#[source] Box<BuildError>),
}

/// The parts of a text that a search for all matches returns.
#[derive(Clone, Copy)]
pub(in crate::cel) struct Wanted {
    /// Maximum number of matches.
    pub(in crate::cel) most: usize,
    /// The first group of each match, if the pattern has one and it takes part in the match.
    pub(in crate::cel) group: bool,
}

impl Patterns {
    /// Returns true if the pattern matches anywhere in the text.
    pub(in crate::cel) fn is_found(&self, text: &str, pattern: &str, cost: &Cost) -> Result<bool, ExecutionError> {
        self.with::<false, _>(text, pattern, cost, |regex| regex.is_match(text))
    }

    /// Returns the text of the first match: its first group, or the whole match if the pattern has no group.
    pub(in crate::cel) fn captured<'t>(
        &self,
        text: &'t str,
        pattern: &str,
        cost: &Cost,
    ) -> Result<Option<&'t str>, ExecutionError> {
        self.with::<true, _>(text, pattern, cost, |regex| {
            let mut captures = regex.create_captures();
            regex.captures(text, &mut captures);
            let group = usize::from(captures.group_len() > 1);
            captures.get_group(group).and_then(|span| text.get(span.range()))
        })
    }

    /// Returns the texts of all matches. Each search may scan the whole rest of the text before it finds a short match,
    /// and is charged for that.
    pub(in crate::cel) fn found<'t>(
        &self,
        text: &'t str,
        pattern: &str,
        wanted: Wanted,
        cost: &Cost,
    ) -> Result<Vec<&'t str>, ExecutionError> {
        let find = |regex: &Regex| find_all(regex, text, wanted, cost);
        if wanted.group {
            self.with::<true, _>(text, pattern, cost, find)?
        } else {
            self.with::<false, _>(text, pattern, cost, find)?
        }
    }

    fn with<const GROUPS: bool, T>(
        &self,
        text: &str,
        pattern: &str,
        cost: &Cost,
        search: impl FnOnce(&Regex) -> T,
    ) -> Result<T, ExecutionError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let [whole, grouped] = &mut *known;
        let kept = whole.len() + grouped.len();
        let (known, other) = if GROUPS { (grouped, whole) } else { (whole, grouped) };
        if !known.contains_key(pattern) {
            if kept >= MAX_PATTERNS_KEPT {
                known.clear();
                other.clear();
            }
            known.insert(pattern.to_owned(), compile::<GROUPS>(pattern, cost)?);
        }
        let lost = || ExecutionError::function_error(PATTERN, "not compiled");
        let regex = known.get(pattern).ok_or_else(lost)?;
        cost.charge(cost_of_search(regex, text.len()))?;
        Ok(search(regex))
    }
}

fn find_all<'t>(regex: &Regex, text: &'t str, wanted: Wanted, cost: &Cost) -> Result<Vec<&'t str>, ExecutionError> {
    let (mut found, mut refused) = (Vec::new(), None);
    let mut captures = (wanted.group && regex.captures_len() > 1).then(|| regex.create_captures());
    let mut searcher = Searcher::new(Input::new(text));
    while found.len() < wanted.most {
        let search = |input: &Input<'_>| {
            let rest = text.len().saturating_sub(input.start());
            refused = cost.charge(cost_of_search(regex, rest)).err();
            if refused.is_some() {
                return Ok(None);
            }
            let Some(captures) = &mut captures else { return Ok(regex.search(input)) };
            regex.search_captures(input, captures);
            Ok(captures.get_match())
        };
        let Ok(Some(whole)) = searcher.try_advance(search) else { break };
        let part = captures.as_ref().map_or(Some(whole.span()), |captures| captures.get_group(1));
        found.extend(part.and_then(|span| text.get(span.range())));
    }
    refused.map_or(Ok(found), Err)
}

/// Returns the worst-case cost of a search: every state of the automaton is visited for every byte.
fn cost_of_search(regex: &Regex, bytes: usize) -> usize {
    let steps = regex.memory_usage() / BYTES_OF_PATTERN_PER_STEP + 1;
    of_bytes(bytes).saturating_mul(steps)
}

fn compile<const GROUPS: bool>(pattern: &str, cost: &Cost) -> Result<Regex, ExecutionError> {
    cost.charge(of_bytes(pattern.len()).saturating_add(PATTERN_COST))?;
    let regex = build::<GROUPS>(pattern);
    // A pattern that is too large costs the same, because it was compiled up to the limit.
    cost.charge(of_bytes(regex.as_ref().map_or(MAX_PATTERN_BYTES, memory::<GROUPS>)))?;
    regex.map_err(|refused| ExecutionError::function_error(PATTERN, refused.to_string()))
}

/// Returns the size of a pattern, in bytes. A search for a group keeps every group once for each state.
fn memory<const GROUPS: bool>(regex: &Regex) -> usize {
    let groups = if GROUPS { regex.captures_len().saturating_sub(1) } else { 1 };
    regex.memory_usage().saturating_mul(groups.max(1))
}

fn build<const GROUPS: bool>(pattern: &str) -> Result<Regex, Refused> {
    if pattern.len() > MAX_PATTERN_TEXT_BYTES {
        return Err(Refused::Long);
    }
    let config = Config::new()
        .nfa_size_limit(Some(MAX_PATTERN_BYTES))
        .hybrid_cache_capacity(MAX_PATTERN_CACHE_BYTES)
        .which_captures(if GROUPS { WhichCaptures::All } else { WhichCaptures::Implicit });
    let built = Regex::builder().configure(config).build(pattern);
    let regex = built.map_err(|error| Refused::Build(Box::new(error)))?;
    if regex.captures_len() > MAX_PATTERN_GROUPS + 1 { Err(Refused::Groups) } else { Ok(regex) }
}

/// Returns the reason why a pattern is invalid for every text.
pub(in crate::cel) fn mistake(pattern: &str) -> Option<String> {
    let refused = build::<true>(pattern).err()?;
    let Refused::Build(error) = &refused else { return Some(format!("the pattern is refused: {refused}")) };
    // The library prints the pattern first and the reason in the last line.
    let told = error.syntax_error().map(ToString::to_string);
    let reason = told.as_deref().and_then(|told| told.rsplit("error: ").next()).unwrap_or("it is too large");
    Some(format!("the pattern does not compile: {}", reason.trim()))
}
