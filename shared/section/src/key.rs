//! One key of a section: its name, its description, and the code that reads it.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{
    Attribute, Expr, Field, Fields, GenericArgument, Ident, Lit, LitStr, Meta, PathArguments, Token, Type, Variant,
};

/// One key of a section.
pub(crate) struct Key {
    /// The field of the struct, or the local variable of a variant's value.
    pub(crate) field: Ident,
    name: String,
    description: String,
    ty: Type,
    options: KeyOptions,
    /// Makes a variant from the value. `None` for a struct.
    pub(crate) variant: Option<Tokens>,
}

/// The content of `#[key(…)]`.
#[derive(Default)]
struct KeyOptions {
    leaf: Option<Expr>,
    read: Option<Expr>,
    default: Option<Option<Expr>>,
    name: Option<LitStr>,
    doc: Option<LitStr>,
    needed: Option<Expr>,
    only: Option<Expr>,
    flatten: Option<Expr>,
    of: Option<Type>,
    skip: bool,
}

impl KeyOptions {
    /// Returns true if an option has a meaning for fields alone.
    const fn are_of_field(&self) -> bool {
        let is_optional = self.default.is_some() || self.needed.is_some();
        is_optional || self.read.is_some() || self.flatten.is_some() || self.skip
    }
}

impl Parse for KeyOptions {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            let ahead = input.fork();
            let word = ahead.parse::<Ident>().map(|word| word.to_string()).unwrap_or_default();
            let (is_option, is_alone) =
                (ahead.peek(Token![=]) && !ahead.peek(Token![==]), ahead.is_empty() || ahead.peek(Token![,]));
            if !word.is_empty() && is_option {
                input.parse::<Ident>()?;
                input.parse::<Token![=]>()?;
                match word.as_str() {
                    "read" => options.read = Some(input.parse()?),
                    "default" => options.default = Some(Some(input.parse()?)),
                    "name" => options.name = Some(input.parse()?),
                    "doc" => options.doc = Some(input.parse()?),
                    "needed" => options.needed = Some(input.parse()?),
                    "only" => options.only = Some(input.parse()?),
                    "of" => options.of = Some(input.parse()?),
                    "flatten" => options.flatten = Some(input.parse()?),
                    _ => return Err(input.error("unknown option of a key")),
                }
            } else if is_alone && word == "default" {
                input.parse::<Ident>()?;
                options.default = Some(None);
            } else if is_alone && word == "skip" {
                input.parse::<Ident>()?;
                options.skip = true;
            } else {
                options.leaf = Some(input.parse()?);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

impl Key {
    pub(crate) fn of_field(field: &Field) -> syn::Result<Self> {
        let mut attributes = key_options(&field.attrs)?;
        let options = attributes.pop().unwrap_or_default();
        if !attributes.is_empty() {
            return Err(syn::Error::new_spanned(field, "a field is one key"));
        }
        let ident = field.ident.clone().ok_or_else(|| syn::Error::new_spanned(field, "a key has a name"))?;
        Ok(Self::new(ident.clone(), &ident, &field.attrs, field.ty.clone(), options, None))
    }

    /// Returns a key for each `#[key(…)]` of a variant, and one for a variant without.
    pub(crate) fn of_variant(variant: &Variant) -> syn::Result<Vec<Self>> {
        let mut fields = variant.fields.iter();
        let (Some(field), None) = (fields.next(), fields.next()) else {
            return Err(syn::Error::new_spanned(variant, "a variant of a section has one value"));
        };
        let (name, value) = (&variant.ident, Ident::new("value", variant.ident.span()));
        let made = match (&variant.fields, &field.ident) {
            (Fields::Named(_), Some(own)) => quote!(Self::#name { #own: #value }),
            _ => quote!(Self::#name(#value)),
        };
        let mut attributes = key_options(&variant.attrs)?;
        if attributes.is_empty() {
            attributes.push(KeyOptions::default());
        }
        if attributes.iter().any(KeyOptions::are_of_field) {
            return Err(syn::Error::new_spanned(variant, "a variant has only a leaf, `name`, `doc`, `only` and `of`"));
        }
        let key =
            |options| Self::new(value.clone(), name, &variant.attrs, field.ty.clone(), options, Some(made.clone()));
        Ok(attributes.into_iter().map(key).collect())
    }

    fn new(
        field: Ident,
        ident: &Ident,
        attributes: &[Attribute],
        ty: Type,
        options: KeyOptions,
        variant: Option<Tokens>,
    ) -> Self {
        let name = options.name.as_ref().map_or_else(|| camel_case(&ident.to_string()), LitStr::value);
        let description = options.doc.as_ref().map_or_else(|| description_of(attributes), LitStr::value);
        Self { field, name, description, ty, options, variant }
    }

    pub(crate) const fn is_skipped(&self) -> bool {
        self.options.skip
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The statement that adds its names to `names`.
    pub(crate) fn push_name(&self) -> Tokens {
        let (name, section) = (&self.name, self.own_type());
        let push = match &self.options.flatten {
            Some(context) => quote!(names.extend(<#section as crate::section::Section>::names(#context));),
            None => quote!(names.push(#name);),
        };
        self.guarded(&push)
    }

    /// The statement that adds its descriptions to `keys`.
    pub(crate) fn push_description(&self) -> Tokens {
        let (name, description, section) = (&self.name, &self.description, self.own_type());
        let (leaf, is_required) = (self.leaf(), self.is_required());
        let push = match &self.options.flatten {
            Some(context) => quote!(keys.extend(<#section as crate::section::Section>::keys(#context));),
            None => quote!(keys.push(crate::section::Key {
                name: #name,
                description: #description,
                is_required: #is_required,
                schema: crate::section::Leaf::schema(&#leaf),
            });),
        };
        self.guarded(&push)
    }

    fn guarded(&self, push: &Tokens) -> Tokens {
        match (&self.options.only, self.options.skip) {
            (_, true) => Tokens::new(),
            (Some(only), _) => quote!(if #only { #push }),
            (None, _) => push.clone(),
        }
    }

    /// The expression that reads it as an `Option` of the field's type.
    pub(crate) fn read(&self) -> Tokens {
        let (name, leaf, section) = (&self.name, self.leaf(), self.own_type());
        if let Some(context) = &self.options.flatten {
            return quote!(<#section as crate::section::Section>::read_from(reader, fields, #context));
        }
        let is_option = inside_option(&self.ty).is_some();
        let read = self.options.read.as_ref().map_or_else(|| quote!(|reader: &mut crate::yaml::Reader<'_>, node: &crate::yaml::Node, place: &str| crate::section::Leaf::read(&#leaf, reader, node, place)), |read| quote!(#read));
        let default = match &self.options.default {
            Some(Some(default)) => Some(quote!(#default)),
            Some(None) => Some(quote!(::core::default::Default::default())),
            None => None,
        };
        let optional = match default {
            Some(default) if is_option => quote!(match reader.optional(fields, #name, #read) {
                Some(None) => Some(#default),
                written => written,
            }),
            Some(default) => quote!(match reader.optional(fields, #name, #read) {
                Some(None) => Some(#default),
                Some(written) => written,
                None => None,
            }),
            None if is_option => quote!(reader.optional(fields, #name, #read)),
            None => return quote!(reader.needed(fields, #name, #read)),
        };
        match &self.options.needed {
            Some(is_needed) if is_option => {
                quote!(if #is_needed { reader.needed(fields, #name, #read).map(Some) } else { #optional })
            }
            Some(is_needed) => quote!(if #is_needed { reader.needed(fields, #name, #read) } else { #optional }),
            None => optional,
        }
    }

    /// The statement that records it as missing, if it is required and not written.
    pub(crate) fn require(&self) -> Tokens {
        let (name, is_required) = (&self.name, self.is_required());
        match self.options.flatten {
            Some(_) => Tokens::new(),
            None => quote!(if #is_required { reader.required(fields, #name); }),
        }
    }

    /// The expression that reads the value of a written key.
    pub(crate) fn read_value(&self) -> Tokens {
        let leaf = self.leaf();
        quote!(crate::section::Leaf::read(&#leaf, reader, node, &place))
    }

    fn leaf(&self) -> Tokens {
        let own = self.own_type();
        match &self.options.leaf {
            Some(leaf) => quote!(#leaf),
            None if quote!(#own).to_string() == "bool" => quote!(crate::section::truth()),
            None => quote!(crate::section::section::<#own>(())),
        }
    }

    /// The section that is read: `of`, or the field's type without its `Option`.
    fn own_type(&self) -> &Type {
        self.options.of.as_ref().or_else(|| inside_option(&self.ty)).unwrap_or(&self.ty)
    }

    /// The expression that says whether the section is invalid without it.
    fn is_required(&self) -> Tokens {
        match &self.options.needed {
            Some(is_needed) => quote!(#is_needed),
            None => {
                let is_required =
                    self.variant.is_none() && self.options.default.is_none() && inside_option(&self.ty).is_none();
                quote!(#is_required)
            }
        }
    }
}

fn key_options(attributes: &[Attribute]) -> syn::Result<Vec<KeyOptions>> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("key")).map(Attribute::parse_args).collect()
}

/// The text of the doc comment, in one line.
fn description_of(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// `T` of `Option<T>`.
fn inside_option(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(inside) => Some(inside),
        _ => None,
    }
}

/// `absentFor` of `absent_for` and of `AbsentFor`.
fn camel_case(ident: &str) -> String {
    let mut words = ident.trim_start_matches("r#").split('_');
    let first = words.next().unwrap_or_default();
    let rest = words.map(|word| capitalized(word, char::to_ascii_uppercase));
    std::iter::once(capitalized(first, char::to_ascii_lowercase)).chain(rest).collect()
}

/// The word with another first letter.
fn capitalized(word: &str, change: fn(&char) -> char) -> String {
    let mut letters = word.chars();
    letters.next().iter().map(change).chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::camel_case;

    #[test]
    fn names_of_keys_are_in_camel_case() {
        for (ident, expected) in
            [("drift", "drift"), ("absent_for", "absentFor"), ("r#as", "as"), ("AwsSigV4", "awsSigV4")]
        {
            assert_eq!(camel_case(ident), expected);
        }
    }
}
