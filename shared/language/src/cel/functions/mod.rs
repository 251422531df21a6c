//! The functions of the language as the interpreter calls them: CEL's standard library, functions of Kubernetes CEL,
//! and a few of our own.
//!
//! [`table`] lists the ones that templates can use.

pub(super) mod addresses;
pub(super) mod json_parse;
pub(super) mod json_text;
pub(super) mod matching;
pub(super) mod merging;
pub(super) mod quantities;
pub(super) mod removal;
pub(super) mod sorting;
pub(crate) mod table;
pub(super) mod texts;

use std::sync::{Arc, LazyLock};

use cel::common::functions::Function;
use cel::common::types::{CelString, DYN_TYPE, STRING_TYPE};
use cel::common::value::CowVal;
use cel::{Env, ExecutionError, extensions};
use sha2::{Digest, Sha256};

use crate::cel::evaluation::equal::{CONTAINS, EQUALS, contains, equals};
use crate::cel::evaluation::weight;
use crate::cel::evaluation::weight::{COPY, LOOP, READ, READ_ALL};
use crate::cel::functions::json_parse::text_argument;
use crate::cel::functions::table::{Called, FUNCTIONS};

/// The functions that expressions are rewritten to, which charge for themselves, with their maximum number of arguments
/// including the cost.
const INTERNAL: &[(&str, usize, Function)] = &[
    (EQUALS, 3, equals),
    (CONTAINS, 3, contains),
    (READ, 2, weight::read),
    (READ_ALL, 2, weight::read_all),
    (COPY, 2, weight::copy),
    (LOOP, 3, weight::charge_loop),
];

/// Returns the name under which the environment has a function that charges for itself, if this is one.
pub(in crate::cel) fn charging(name: &str) -> Option<String> {
    FUNCTIONS.iter().any(|function| function.name == name && function.run.is_some()).then(|| format!("@{name}"))
}

/// The environment of all expressions.
pub(in crate::cel) static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut environment = Env::stdlib();
    // A registration only fails for a name that is already taken. A test calls every function listed above.
    let _ = environment.add_extension(extensions::strings);
    let _ = environment.add_extension(extensions::encoders);
    let _ = environment.add_overload("sha256", "drift_sha256", vec![STRING_TYPE], sha256);
    let mut add = |name: &str, most: usize, run: Function| {
        // The first argument is the cost. The functions check the types of the others themselves.
        for count in 2..=most {
            let id = format!("{name}_{count}");
            let _ = environment.add_overload(name, &id, (0..count).map(|_| DYN_TYPE).collect(), run);
        }
    };
    INTERNAL.iter().for_each(|(name, most, run)| add(name, *most, *run));
    for function in FUNCTIONS {
        let [_, most] = function.arguments;
        let with_cost = 1 + usize::from(function.called == Called::OnValue) + most;
        function.run.iter().for_each(|run| add(&format!("@{}", function.name), with_cost, *run));
    }
    Arc::new(environment)
});

/// `sha256(text)`: 64 lower-case hex digits.
fn sha256<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let digest = Sha256::digest(text_argument(&arguments)?.as_bytes());
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(CowVal::owned(CelString::from(digits)))
}
