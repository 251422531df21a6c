//! The implementation of `Section` for one struct or enum.

use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Expr, Fields, Ident, Type};

use crate::key::Key;

/// The content of `#[section(…)]`.
#[derive(Default)]
struct Options {
    context: Option<Type>,
    first: Option<Type>,
    rules: Option<Expr>,
    check: Option<Expr>,
    value: Option<Type>,
    scoped: bool,
    optional: bool,
}

impl Options {
    fn of(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut options = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("section")) {
            attribute.parse_nested_meta(|option| {
                if option.path.is_ident("context") {
                    options.context = Some(option.value()?.parse()?);
                } else if option.path.is_ident("first") {
                    options.first = Some(option.value()?.parse()?);
                } else if option.path.is_ident("rules") {
                    options.rules = Some(option.value()?.parse()?);
                } else if option.path.is_ident("check") {
                    options.check = Some(option.value()?.parse()?);
                } else if option.path.is_ident("value") {
                    options.value = Some(option.value()?.parse()?);
                } else if option.path.is_ident("scoped") {
                    options.scoped = true;
                } else if option.path.is_ident("optional") {
                    options.optional = true;
                } else {
                    return Err(option.error("unknown option of a section"));
                }
                Ok(())
            })?;
        }
        Ok(options)
    }
}

pub(crate) fn expand(input: &DeriveInput) -> syn::Result<Tokens> {
    let options = Options::of(&input.attrs)?;
    let (keys, body) = match &input.data {
        Data::Struct(data) => {
            let Fields::Named(fields) = &data.fields else {
                return Err(syn::Error::new_spanned(input, "the fields of a section have names"));
            };
            let keys = fields.named.iter().map(Key::of_field).collect::<syn::Result<Vec<_>>>()?;
            let body = read_struct(&keys, &options);
            (keys, body)
        }
        Data::Enum(data) => {
            if options.first.is_some() || options.rules.is_some() || options.scoped {
                return Err(syn::Error::new_spanned(input, "an enum has no `first`, no `rules`, and is not `scoped`"));
            }
            let keys = data.variants.iter().map(Key::of_variant).collect::<syn::Result<Vec<_>>>()?;
            let keys: Vec<Key> = keys.into_iter().flatten().collect();
            let body = read_enum(&keys, &options);
            (keys, body)
        }
        Data::Union(_) => return Err(syn::Error::new_spanned(input, "a section is a struct or an enum")),
    };
    let (name, (generics, arguments, bounds)) = (&input.ident, input.generics.split_for_impl());
    let context = options.context.as_ref().map_or_else(|| quote!(()), |context| quote!(#context));
    let value = match (&options.value, options.optional) {
        (Some(value), _) => quote!(#value),
        (None, true) => quote!(Option<Self>),
        (None, false) => quote!(Self),
    };
    let first = options.first.as_ref();
    let first_names = first.map(|first| quote!(names.extend(<#first as crate::section::Section>::names(()));));
    let first_keys = first.map(|first| quote!(keys.extend(<#first as crate::section::Section>::keys(()));));
    let (names, described) = (keys.iter().map(Key::push_name), keys.iter().map(Key::push_description));
    Ok(quote! {
        #[allow(unused_variables, reason = "a section needs not use its context")]
        impl #generics crate::section::Section for #name #arguments #bounds {
            type Value = #value;
            type Context = #context;

            fn names(context: Self::Context) -> Vec<&'static str> {
                let mut names = Vec::new();
                #(#names)*
                #first_names
                names
            }

            fn keys(context: Self::Context) -> Vec<crate::section::Key> {
                let mut keys = Vec::new();
                #(#described)*
                #first_keys
                keys
            }

            fn read_from(
                reader: &mut crate::yaml::Reader<'_>,
                fields: &crate::yaml::Fields<'_>,
                context: Self::Context,
            ) -> Option<Self::Value> {
                #body
            }
        }
    })
}

/// Reads every key, so that all mistakes are reported, and makes the struct if all are valid.
fn read_struct(keys: &[Key], options: &Options) -> Tokens {
    let reads = keys.iter().filter(|key| !key.is_skipped()).map(|key| {
        let (value, read) = (local(key), key.read());
        quote!(let #value = #read;)
    });
    let values = keys.iter().map(|key| {
        let (field, value) = (&key.field, local(key));
        if key.is_skipped() { quote!(#field: ::core::default::Default::default()) } else { quote!(#field: #value?) }
    });
    let rules = options.rules.iter().map(|rules| quote!((#rules)(reader, fields, context)));
    let rules_hold = rules.clone().map(|_| quote!(rules?;));
    let made = quote!(Self { #(#values),* });
    let made = match &options.check {
        Some(check) => quote!((#check)(#made, reader, fields, context)),
        None => quote!(Some(#made)),
    };
    let first = options.first.as_ref().map(|first| {
        let required = keys.iter().filter(|key| !key.is_skipped()).map(Key::require);
        quote! {
            if <#first as crate::section::Section>::read_from(reader, fields, ()).is_none() {
                #(#required)*
                return None;
            }
        }
    });
    let body = quote!(#first #(#reads)* #(let rules = #rules;)* #(#rules_hold)* #made);
    if !options.scoped {
        return body;
    }
    quote! {
        let names = reader.names();
        let value = (|reader: &mut crate::yaml::Reader<'_>| -> Option<Self::Value> { #body })(reader);
        reader.set_names(names);
        value
    }
}

/// The local variable of a field. A leaf may have the name of the field.
fn local(key: &Key) -> Ident {
    format_ident!("key_{}", key.field)
}

/// Reads the one key that is written.
fn read_enum(keys: &[Key], options: &Options) -> Tokens {
    let one = if options.optional { quote!(at_most_one) } else { quote!(exactly_one) };
    let written = quote!(reader.#one(fields, &Self::names(context))?);
    let arms = keys.iter().map(|key| {
        let (name, value, read, variant) = (key.name(), &key.field, key.read_value(), &key.variant);
        quote!(#name => #read.map(|#value| #variant),)
    });
    let read = quote!((match key { #(#arms)* _ => None }));
    let read = match &options.check {
        Some(check) => quote!(#read.and_then(|written: Self| (#check)(written, reader, fields, context))),
        None => read,
    };
    if options.optional {
        quote! {
            let Some((key, node)) = #written else { return Some(None) };
            let place = fields.place(key);
            #read.map(Some)
        }
    } else {
        quote! {
            let (key, node) = #written;
            let place = fields.place(key);
            #read
        }
    }
}
