//! The objects that a command line names, in the two ways of kubectl: `KIND/NAME …`, and `KIND NAME …`.

/// The objects that a command line names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamedObjects<'w> {
    /// Kind and name of each.
    Each(Vec<(&'w str, &'w str)>),
    /// Those of a kind that a selector chooses.
    OfKind(&'w str),
}

/// Reads the words; `selects` where a selector chooses the objects.
///
/// # Errors
/// A sentence that says what to write instead.
pub(crate) fn named_objects(words: &[String], selects: bool) -> Result<NamedObjects<'_>, String> {
    let pairs: Vec<Option<(&str, &str)>> = words.iter().map(|word| word.split_once('/')).collect();
    let has_pair = pairs.iter().any(Option::is_some);
    match words {
        [kind] if selects && !has_pair => return Ok(NamedObjects::OfKind(kind)),
        _ if selects => return Err("with --all or -l write the KIND alone, for example proxies".to_owned()),
        [kind, names @ ..] if !has_pair && !names.is_empty() => {
            return Ok(NamedObjects::Each(names.iter().map(|name| (kind.as_str(), name.as_str())).collect()));
        }
        _ => {}
    }
    let first = words.first().map(String::as_str).unwrap_or_default();
    let complete =
        pairs.iter().flatten().all(|(kind, name)| !kind.is_empty() && !name.is_empty() && !name.contains('/'));
    match pairs.into_iter().collect::<Option<Vec<_>>>() {
        Some(pairs) if complete => Ok(NamedObjects::Each(pairs)),
        _ if has_pair => Err("write each object as KIND/NAME".to_owned()),
        _ => Err(format!("which {first}? write {first}/NAME, or --all for all of the namespace")),
    }
}

/// Reads the words of a command that takes one object. Returns its kind and name.
///
/// # Errors
/// A sentence that says what to write instead.
pub(crate) fn one_object(words: &[String]) -> Result<(&str, &str), String> {
    match named_objects(words, false) {
        Ok(NamedObjects::Each(named)) if named.len() == 1 => Ok(named[0]),
        Ok(NamedObjects::Each(named)) => {
            let (kind, name) = named.first().copied().unwrap_or_default();
            Err(format!("this command takes one object, and {} are named: write {kind}/{name} alone", named.len()))
        }
        _ => Err("write the object as KIND/NAME, for example proxy/web".to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_named_as_for_kubectl() {
        let words = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let table = [
            ("proxy/web", false, Ok(NamedObjects::Each(vec![("proxy", "web")]))),
            ("proxy/web role/app", false, Ok(NamedObjects::Each(vec![("proxy", "web"), ("role", "app")]))),
            ("proxies web cache", false, Ok(NamedObjects::Each(vec![("proxies", "web"), ("proxies", "cache")]))),
            ("proxies", true, Ok(NamedObjects::OfKind("proxies"))),
            ("proxies", false, Err("which proxies? write proxies/NAME")),
            ("proxies web", true, Err("the KIND alone")),
            ("proxy/web", true, Err("the KIND alone")),
            ("proxy/web cache", false, Err("each object as KIND/NAME")),
            ("proxy/", false, Err("each object as KIND/NAME")),
            ("proxy/a/b", false, Err("each object as KIND/NAME")),
        ];
        for (text, selects, expected) in table {
            let words = words(text);
            match (named_objects(&words, selects), expected) {
                (Ok(named), Ok(expected)) => assert_eq!(named, expected, "{text}"),
                (Err(said), Err(expected)) => assert!(said.contains(expected), "{text}: {said}"),
                (got, expected) => assert_eq!(format!("{got:?}"), format!("{expected:?}"), "{text}"),
            }
        }
    }

    #[test]
    fn one_object_is_one_object() {
        let words = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        for (text, expected) in [
            ("proxy/web", Ok(("proxy", "web"))),
            ("proxy web", Ok(("proxy", "web"))),
            ("proxy/web proxy/cache", Err("takes one object, and 2 are named: write proxy/web alone")),
            ("proxy web cache", Err("takes one object, and 2 are named: write proxy/web alone")),
            ("proxies", Err("write the object as KIND/NAME")),
            ("proxy/web cache", Err("write the object as KIND/NAME")),
        ] {
            match (one_object(&words(text)), expected) {
                (Err(said), Err(expected)) => assert!(said.contains(expected), "{text}: {said}"),
                (got, expected) => assert_eq!(got, expected.map_err(str::to_owned), "{text}"),
            }
        }
    }
}
