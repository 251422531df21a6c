//! The functions that templates can use: their arguments, their results, and those that charge for their own work.
//!
//! The environment, the checks of names, arguments and types, and the suggestions are views of this table. A name that
//! is not listed here is an unknown function when a target loads, even if cel itself has it.

use cel::common::functions::Function as Run;

use crate::cel::functions::{addresses, json_parse, json_text, matching, merging, quantities, removal, sorting, texts};

/// The way in which a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    /// By its name alone: `merge(a, b)`.
    Alone,
    /// On a value: `text.trim()`.
    OnValue,
}

/// The type that a function returns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Returned {
    Any,
    Bool,
    Bytes,
    Number,
    Text,
    Texts,
    Time,
}

/// The types of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Types {
    /// The number of its first arguments that are texts. The value that it is called on is a text too.
    pub(crate) texts: usize,
    pub(crate) returned: Returned,
}

/// A function of the language.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) called: Called,
    /// The smallest and the largest number of arguments, without the value that it is called on.
    pub(in crate::cel) arguments: [usize; 2],
    /// `None` if they depend on the types of the arguments.
    pub(crate) types: Option<Types>,
    /// Our own code, which charges for its work. `None` for functions of cel.
    pub(in crate::cel) run: Option<Run>,
}

const fn alone(name: &'static str, least: usize, most: usize) -> Function {
    Function { name, called: Called::Alone, arguments: [least, most], types: None, run: None }
}

const fn on_value(name: &'static str, least: usize, most: usize) -> Function {
    Function { called: Called::OnValue, ..alone(name, least, most) }
}

impl Function {
    const fn typed(self, texts: usize, returned: Returned) -> Self {
        Self { types: Some(Types { texts, returned }), ..self }
    }

    const fn charging(self, run: Run) -> Self {
        Self { run: Some(run), ..self }
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

/// The functions of the language.
pub(crate) const FUNCTIONS: &[Function] = &[
    alone("base64.decode", 1, 1),
    alone("base64.encode", 1, 1).typed(0, Returned::Text),
    alone("bool", 1, 1).typed(0, Returned::Bool),
    alone("bytes", 1, 1).typed(0, Returned::Bytes),
    alone("capture", 2, 2).typed(2, Returned::Any).charging(matching::capture),
    alone("captureAll", 2, 2).typed(2, Returned::Texts).charging(matching::capture_all),
    alone("cidr", 1, 1).typed(1, Returned::Text).charging(addresses::cidr),
    alone("double", 1, 1).typed(0, Returned::Number),
    alone("duration", 1, 1).typed(0, Returned::Time),
    alone("dyn", 1, 1),
    alone("int", 1, 1).typed(0, Returned::Number),
    alone("ip", 1, 1).typed(1, Returned::Text).charging(addresses::ip),
    alone("isCIDR", 1, 1).typed(1, Returned::Bool).charging(addresses::is_cidr),
    alone("isIP", 1, 1).typed(1, Returned::Bool).charging(addresses::is_ip),
    alone("isQuantity", 1, 1).typed(0, Returned::Bool).charging(quantities::is_quantity),
    alone("json.parse", 1, 1).typed(1, Returned::Any).charging(json_parse::parse),
    alone("json.text", 1, 1).typed(0, Returned::Text).charging(json_text::json_text),
    alone("matches", 2, 2).typed(2, Returned::Bool).charging(matching::matches),
    alone("merge", 2, 2).charging(merging::merge),
    alone("mergeDeep", 2, 2).charging(merging::merge_deep),
    alone("optional.none", 0, 0),
    alone("optional.of", 1, 1),
    alone("optional.ofNonZeroValue", 1, 1),
    alone("path", 1, 1),
    alone("quantity", 1, 1).charging(quantities::quantity),
    alone("regex.quote", 1, 1).typed(1, Returned::Text).charging(matching::quote),
    alone("sha256", 1, 1).typed(1, Returned::Text),
    alone("size", 1, 1),
    alone("string", 1, 1).typed(0, Returned::Text),
    alone("timestamp", 1, 1).typed(0, Returned::Time),
    alone("type", 1, 1),
    alone("uint", 1, 1).typed(0, Returned::Number),
    alone("without", 2, 2).charging(removal::without),
    on_value("add", 1, 1).charging(quantities::add),
    on_value("asApproximateFloat", 0, 0).charging(quantities::as_approximate_float),
    on_value("asInteger", 0, 0).charging(quantities::as_integer),
    on_value("charAt", 1, 1).typed(0, Returned::Text),
    on_value("compareTo", 1, 1).charging(quantities::compare_to),
    on_value("contains", 1, 1).typed(1, Returned::Bool),
    on_value("containsCIDR", 1, 1).typed(1, Returned::Bool).charging(addresses::contains_cidr),
    on_value("containsIP", 1, 1).typed(1, Returned::Bool).charging(addresses::contains_ip),
    on_value("endsWith", 1, 1).typed(1, Returned::Bool),
    on_value("find", 1, 1).typed(1, Returned::Text).charging(matching::find),
    on_value("findAll", 1, 2).typed(1, Returned::Texts).charging(matching::find_all),
    on_value("format", 1, 1).typed(0, Returned::Text),
    on_value("hasValue", 0, 0),
    on_value("indexOf", 1, 2).typed(1, Returned::Number).charging(texts::index_of),
    on_value("isGreaterThan", 1, 1).charging(quantities::is_greater_than),
    on_value("isInteger", 0, 0).charging(quantities::is_integer),
    on_value("isLessThan", 1, 1).charging(quantities::is_less_than),
    on_value("join", 0, 1).charging(texts::join),
    on_value("lastIndexOf", 1, 2).typed(1, Returned::Number).charging(texts::last_index_of),
    on_value("lowerAscii", 0, 0).typed(0, Returned::Text),
    on_value("masked", 0, 0).typed(0, Returned::Text).charging(addresses::masked),
    on_value("matches", 1, 1).typed(1, Returned::Bool).charging(matching::matches),
    on_value("or", 1, 1),
    on_value("orValue", 1, 1),
    on_value("prefixLength", 0, 0).typed(0, Returned::Number).charging(addresses::prefix_length),
    on_value("replace", 2, 3).typed(2, Returned::Text).charging(texts::replace),
    on_value("sign", 0, 0).charging(quantities::sign),
    on_value("size", 0, 0),
    on_value("sort", 0, 0).charging(sorting::sort),
    on_value("split", 1, 2).typed(1, Returned::Texts).charging(texts::split),
    on_value("startsWith", 1, 1).typed(1, Returned::Bool),
    on_value("sub", 1, 1).charging(quantities::sub),
    on_value("substring", 1, 2).typed(0, Returned::Text),
    on_value("trim", 0, 0).typed(0, Returned::Text),
    on_value("upperAscii", 0, 0).typed(0, Returned::Text),
    on_value("value", 0, 0),
];

/// Returns the function of this name.
pub(crate) fn function(name: &str, called: Called) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.called == called && function.name == name)
}

/// Returns true if functions have this word in front of a dot: `json` of `json.parse`.
pub(crate) fn is_namespace(word: &str) -> bool {
    FUNCTIONS.iter().any(|function| function.name.split_once('.').is_some_and(|(namespace, _)| namespace == word))
}
