//! `#[derive(Section)]`: a section of the target language is a struct, and each of its keys is written once.
//!
//! Each field of the struct is a key. Its doc comment describes the key to users, in the JSON Schema and in the
//! annotated target. Its `#[key(…)]` names the leaf that reads the value. From both, the derive makes the reader,
//! which reports all mistakes at once, and the description of the keys.
//!
//! Options of a key, in any order:
//!
//! | Option | Meaning |
//! |---|---|
//! | an expression | The leaf that reads the value. Default: `truth()` for a `bool`, else the section of the field's type. |
//! | `read = EXPR` | The reader, if it needs the values of the keys before it, which are `key_NAME: Option<_>`. |
//! | `default = EXPR` | The value if the key is not written. `default` alone means the default of the type. |
//! | `needed = EXPR` | The key is required if this is true. Default: without `default`, unless its type is an `Option`. |
//! | `name = "as"` | The name of the key. Default: the name of the field or variant in camel case. |
//! | `doc = "…"` | The description, in place of the doc comment. |
//! | `only = EXPR` | The key exists only if this is true. |
//! | `flatten = EXPR` | The field has the keys of a section of its own, which is read in this context. |
//! | `of = TYPE` | The section that is read, if it is not the field's type. |
//! | `skip` | The field is no key, and has the default of its type. |
//!
//! On an enum, each variant has the keys of its attributes, and exactly one key is written.
//!
//! Options of a section, in `#[section(…)]`:
//!
//! | Option | Meaning |
//! |---|---|
//! | `context = TYPE` | A value that decides about the keys. Expressions see it as `context`. |
//! | `first = TYPE` | A section whose keys are read before the others, and end the reading if they are invalid. |
//! | `rules = EXPR` | `fn(&mut Reader, &Fields, CONTEXT) -> Option<()>`: rules about which keys are written. |
//! | `check = EXPR` | `fn(Self, &mut Reader, &Fields, CONTEXT) -> Option<VALUE>`: rules about their values. |
//! | `value = TYPE` | The result of `check`. Default: `Self`. |
//! | `scoped` | Names that its keys introduce end with the section. |
//! | `optional` | Of an enum: at most one key is written. |

mod key;
mod section;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives `Section` for a struct with named fields, or for an enum.
#[proc_macro_derive(Section, attributes(key, section))]
pub fn derive_section(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    section::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
