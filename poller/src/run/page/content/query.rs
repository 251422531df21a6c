//! Queries as they appear in a URL: `?target=flags&shown=drifted&search=team-a`.

use crate::engine::object::overview::{Question, Shown};

/// Parses the query of a URL. Unknown parameters are ignored.
#[must_use]
pub(in crate::run::page) fn parse(query: &str) -> Question {
    let mut asked = Question { with_rows: true, ..Question::default() };
    for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match key.as_ref() {
            "target" if !value.is_empty() => asked.target = Some(value.into_owned()),
            "search" => value.trim().clone_into(&mut asked.search),
            "shown" => asked.shown = Shown::parse(&value),
            _ => {}
        }
    }
    asked
}

/// The link to a query, relative to the page. It keeps the search out.
#[must_use]
pub(in crate::run::page) fn link(target: Option<&str>, shown: Shown) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if let Some(target) = target {
        query.append_pair("target", target);
    }
    if shown != Shown::All {
        query.append_pair("shown", shown.as_str());
    }
    format!("?{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_its_query() {
        for (target, shown) in [(None, Shown::All), (Some("a&b c"), Shown::Drifted), (Some("a"), Shown::All)] {
            let asked = parse(link(target, shown).trim_start_matches('?'));
            assert_eq!((asked.target.as_deref(), asked.shown), (target, shown));
        }
    }

    #[test]
    fn unknown_parameters_and_words_are_ignored() {
        let asked = parse("target=&shown=red&search=+web+&other=1");
        assert_eq!(asked, Question { with_rows: true, search: "web".to_owned(), ..Question::default() });
    }
}
