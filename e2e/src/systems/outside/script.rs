//! Chooses responses: one-time rules, permanent rules, and the background behind them.

use std::fmt;
use std::sync::Arc;

use super::answer::Answer;
use super::documents::Documents;
use super::request::Request;

/// The configured responses.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Checked before all rules.
    pub(super) choice: Choice,
    /// Permanent rules. The last match counts.
    pub(super) current: Vec<Rule>,
    /// One-time rules, checked before the permanent ones. The first match is used up.
    pub(super) queued: Vec<Rule>,
    pub(super) upstream: Option<String>,
    pub(super) documents: Option<Documents>,
}

/// Chooses responses by any property of a request.
#[derive(Clone, Default)]
pub(super) struct Choice(pub(super) Option<Arc<Choose>>);

type Choose = dyn Fn(&Request) -> Option<Answer> + Send + Sync;

impl fmt::Debug for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Choice").field(&self.0.is_some()).finish()
    }
}

/// A response for matching requests.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) answer: Answer,
}

impl Rule {
    fn fits(&self, method: &str, path: &str) -> bool {
        let fits_path = match self.path.strip_suffix('*') {
            Some(beginning) => path.starts_with(beginning),
            None => path == self.path,
        };
        (self.method == "*" || self.method == method) && fits_path
    }
}

/// The source of responses to requests without a rule.
#[derive(Debug, Default)]
pub(crate) struct Background {
    pub(super) upstream: Option<String>,
    pub(super) documents: Option<Documents>,
}

impl Script {
    /// Returns the response to a request. Uses up a matching one-time rule.
    pub(super) fn answer(&mut self, request: &Request) -> Answer {
        if let Some(chosen) = self.choice.0.as_ref().and_then(|choose| choose(request)) {
            return chosen;
        }
        let fits = |rule: &Rule| rule.fits(&request.method, &request.path);
        let queued = self.queued.iter().position(fits).map(|index| self.queued.remove(index).answer);
        let current = || self.current.iter().rev().find(|rule| fits(rule)).map(|rule| rule.answer.clone());
        queued.or_else(current).unwrap_or_else(|| match (&self.documents, &self.upstream) {
            (Some(_), _) => Answer::stored(),
            (None, Some(_)) => Answer::forwarded(),
            (None, None) => Answer::json(404, &serde_json::json!({"error": "no rule for this request"})),
        })
    }

    /// Returns the current background.
    pub(super) fn background(&self) -> Background {
        Background { upstream: self.upstream.clone(), documents: self.documents.clone() }
    }
}
