//! Queries as they appear in a URL: `?target=flags&shown=drifted&search=team-a`.

use crate::engine::object::overview::{ObjectAddress, Question, Shown, Sort};

/// Parses the query of a URL. Unknown parameters are ignored.
#[must_use]
pub(in crate::run::page) fn parse(query: &str) -> Question {
    let mut asked = Question { with_rows: true, ..Question::default() };
    for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let given = || Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        match key.as_ref() {
            "target" => asked.target = given(),
            "object" => asked.object = ObjectAddress::parse(&value),
            "search" => value.trim().clone_into(&mut asked.search),
            "shown" => asked.shown = Shown::parse(&value),
            "held" => asked.held = given(),
            "group" => asked.group = given(),
            "sort" => asked.sort = Sort::parse(&value),
            // People count pages from 1.
            "page" => asked.page = value.parse::<usize>().unwrap_or(1).saturating_sub(1),
            _ => {}
        }
    }
    asked
}

/// A link to a query, relative to the page.
#[derive(Clone, Debug, Default)]
pub(in crate::run::page) struct Link(Question);

impl Link {
    /// The link to all.
    pub(in crate::run::page) fn new() -> Self {
        Self::default()
    }

    /// The link to the same query on another page, counted from 0.
    pub(in crate::run::page) fn to_page(question: &Question, page: usize) -> Self {
        Self(Question { page, ..question.clone() })
    }

    /// Chooses a target.
    pub(in crate::run::page) fn target(mut self, target: Option<&str>) -> Self {
        self.0.target = target.map(str::to_owned);
        self
    }

    /// Chooses a verdict.
    pub(in crate::run::page) fn shown(mut self, shown: Shown) -> Self {
        self.0.shown = shown;
        self
    }

    /// Chooses a word.
    pub(in crate::run::page) fn held(mut self, word: &str) -> Self {
        self.0.held = Some(word.to_owned());
        self
    }

    /// Chooses a group.
    pub(in crate::run::page) fn group(mut self, id: String) -> Self {
        self.0.group = Some(id);
        self
    }

    /// Chooses an object.
    pub(in crate::run::page) fn object(mut self, object: ObjectAddress) -> Self {
        self.0.object = Some(object);
        self
    }
}

impl std::fmt::Display for Link {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(Question { target, object, search, shown, held, group, sort, page, .. }) = self;
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let given = [
            ("target", target.clone()),
            ("object", object.as_ref().map(ToString::to_string)),
            ("group", group.clone()),
            ("shown", Some(shown.as_str().to_owned()).filter(|_| *shown != Shown::All)),
            ("held", held.clone()),
            ("search", Some(search.clone()).filter(|search| !search.is_empty())),
            ("sort", sort.map(|sort| sort.as_str().to_owned())),
            ("page", (*page > 0).then(|| page.saturating_add(1).to_string())),
        ];
        for (key, value) in given {
            value.map(|value| query.append_pair(key, &value));
        }
        // Names are readable without the escaped slash.
        write!(formatter, "?{}", query.finish().replace("%2F", "/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_its_query() {
        let whole = "target=a%26b+c&object=DnsRecord.net.example/team-a/web&group=0123abcd&shown=drifted&held=BreakerOpen\
                     &search=x&sort=age&page=3";
        for query in [whole, "", "target=a", "shown=in-sync", "object=Service/a/b", "page=2"] {
            let asked = parse(query);
            assert_eq!(Link::to_page(&asked, asked.page).to_string(), format!("?{query}"));
        }
        let address = ObjectAddress { kind: "DnsRecord.net.example".to_owned(), name: "team-a/web".to_owned() };
        let asked = parse(whole);
        assert_eq!((asked.object, asked.page, asked.sort), (Some(address), 2, Some(Sort::Age)));
    }

    #[test]
    fn unknown_parameters_and_words_are_ignored() {
        let asked = parse("target=&shown=red&search=+web+&other=1&page=0&sort=x&held=&object=x");
        assert_eq!(asked, Question { with_rows: true, search: "web".to_owned(), ..Question::default() });
    }
}
