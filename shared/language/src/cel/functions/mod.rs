//! The functions of the language as the interpreter calls them: CEL's standard library, functions of Kubernetes CEL,
//! and a few of our own.
//!
//! [`table`] lists the ones that templates can use.

pub(super) mod addresses;
mod arguments;
pub(super) mod json;
pub(super) mod maps;
pub(super) mod matching;
pub(super) mod quantities;
pub(super) mod sorting;
pub(crate) mod table;
pub(super) mod texts;

use std::sync::{Arc, LazyLock};

use cel::common::functions::Function;
use cel::common::types::DYN_TYPE;
use cel::{Env, extensions};

use crate::cel::evaluation::equal::{CONTAINS, EQUALS, contains, equals};
use crate::cel::evaluation::weight;
use crate::cel::evaluation::weight::{COPY, LOOP, READ, READ_ALL};
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

/// The environment of all expressions.
pub(in crate::cel) static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut environment = Env::stdlib();
    // A registration only fails for a name that is already taken. A test calls every function listed above.
    let _ = environment.add_extension(extensions::strings);
    let _ = environment.add_extension(extensions::encoders);
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
        if let (Some(name), Some(run)) = (function.charging_name(), function.run) {
            add(&name, with_cost, run);
        }
    }
    Arc::new(environment)
});
