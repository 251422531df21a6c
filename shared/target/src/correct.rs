//! `correct`: what the controller does about drift.

use std::time::Duration;

use http::{HeaderName, Method};

use crate::cel::{EvaluationError, Scope, Site, TextTemplate, UrlTemplate, ValueTemplate, Variables};
use crate::durations::duration;
use crate::raw::Reader;
use crate::request::{
    Auth, StatusSet, Templates, Tls, read_accept, read_auth, read_headers, read_tls, read_url, read_value,
};
use crate::yaml::Node;
use drift_model::field_paths::FieldPaths;
use drift_model::http_request::HttpRequest;

/// Longest `settle`: beyond, drift would stand for an hour and nobody would see why.
const MAX_SETTLE: Duration = Duration::from_hours(1);
/// Most corrections of one target under way at once.
const MAX_CONCURRENT: u32 = 1_000;
/// Most corrections of one target begun per minute.
const MAX_PER_MINUTE: u32 = 60_000;
/// Most `attempts`.
const MAX_ATTEMPTS: u32 = 1_000;
/// Requests of one correction: it is one try, not a program.
const MAX_STEPS: usize = 16;

/// What the controller does.
#[derive(Debug)]
pub struct Correct {
    /// Whether it acts at all.
    pub mode: Mode,
    /// Whether it touches what was there before.
    pub existing: Existing,
    /// How long the external system needs until a read shows a correction.
    pub settle: Duration,
    /// Rates and bounds.
    pub limits: CorrectLimits,
    /// The one kind of destination so far.
    pub http: Option<HttpCorrect>,
}

impl Default for Correct {
    fn default() -> Self {
        Self {
            mode: Mode::Observe,
            existing: Existing::Refuse,
            settle: Duration::ZERO,
            limits: CorrectLimits::default(),
            http: None,
        }
    }
}

/// `correct.mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Only look.
    Observe,
    /// Correct drift.
    Correct,
}

/// `correct.existing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// What was there before is never touched.
    Refuse,
    /// It becomes ours with the first update.
    Adopt,
}

/// `correct.limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorrectLimits {
    /// Corrections under way at once; default 4.
    pub concurrent: u32,
    /// Corrections begun per minute; default 60.
    pub per_minute: u32,
    /// Share of drifted objects at which the breaker opens; default 20.
    pub max_drifted_percent: u8,
    /// Ineffective corrections in a row before only one an hour is tried; default 10.
    pub attempts: u32,
}

impl Default for CorrectLimits {
    fn default() -> Self {
        Self { concurrent: 4, per_minute: 60, max_drifted_percent: 20, attempts: 10 }
    }
}

/// Corrections by HTTP.
#[derive(Debug)]
pub struct HttpCorrect {
    /// The controller's credential.
    pub auth: Option<Auth>,
    /// A private CA.
    pub tls: Option<Tls>,
    /// Steps of a creation; empty where the target has no `create`.
    pub create: Vec<HttpStep>,
    /// Steps of an update.
    pub update: Vec<HttpStep>,
    /// Steps of a deletion.
    pub delete: Vec<HttpStep>,
}

/// One request of a correction.
#[derive(Debug)]
pub struct HttpStep {
    /// POST, PUT, PATCH or DELETE.
    pub method: Method,
    /// Where.
    pub url: UrlTemplate,
    /// Extra headers.
    pub headers: Vec<(HeaderName, TextTemplate)>,
    /// JSON body.
    pub body: Option<ValueTemplate>,
    /// Statuses that mean done; default 200–299, and always 404 and 410 for a step of a deletion.
    pub accept: StatusSet,
    /// Statuses that mean that the resource is gone, for a step of a deletion; any other that is accepted means that it
    /// is under way. The same as `accept` where the target says nothing, and for all other steps.
    pub done_on: StatusSet,
}

impl HttpStep {
    /// The request of this step, without its credential and idempotency key.
    ///
    /// # Errors
    /// When a template cannot be evaluated for this object.
    pub fn render(&self, variables: &Variables<'_>) -> Result<HttpRequest, EvaluationError> {
        let templates =
            Templates { method: &self.method, url: &self.url, headers: &self.headers, body: self.body.as_ref() };
        templates.render(variables)
    }

    fn collect_fields(&self, fields: &mut FieldPaths) {
        fields.extend(&self.url.fields());
        self.headers.iter().for_each(|(_, template)| fields.extend(&template.fields()));
        self.body.iter().for_each(|template| fields.extend(&template.fields()));
    }
}

impl Correct {
    /// The fields under `self` that its templates read.
    pub(super) fn fields(&self) -> FieldPaths {
        let mut fields = FieldPaths::default();
        let steps = self.http.iter().flat_map(|http| http.create.iter().chain(&http.update).chain(&http.delete));
        steps.for_each(|step| step.collect_fields(&mut fields));
        fields
    }
}

pub(super) fn read_correct(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Correct> {
    let fields = reader.fields(node, place, &["mode", "existing", "settle", "limits", "http"])?;
    let default = Correct::default();
    let mode = reader.or(&fields, "mode", default.mode, |reader, node, place| {
        reader.choice(node, place, &[("Observe", Mode::Observe), ("Correct", Mode::Correct)])
    });
    let existing = reader.or(&fields, "existing", default.existing, |reader, node, place| {
        reader.choice(node, place, &[("Refuse", Existing::Refuse), ("Adopt", Existing::Adopt)])
    });
    let settle = reader.or(&fields, "settle", default.settle, |reader, node, place| {
        duration(reader, node, place, Duration::ZERO..=MAX_SETTLE)
    });
    let limits = reader.or(&fields, "limits", default.limits, read_limits);
    let http = reader.optional(&fields, "http", read_http);
    let correct = Correct { mode: mode?, existing: existing?, settle: settle?, limits: limits?, http: http? };
    if correct.mode == Mode::Correct && correct.http.is_none() {
        return reader.refuse(fields.at(), format!("{place}: mode Correct needs http with create, update or delete"));
    }
    Some(correct)
}

fn read_limits(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<CorrectLimits> {
    let fields = reader.fields(node, place, &["concurrent", "perMinute", "maxDriftedPercent", "attempts"])?;
    let default = CorrectLimits::default();
    let concurrent = reader.or(&fields, "concurrent", default.concurrent, |reader, node, place| {
        reader.whole(node, place, 1..=MAX_CONCURRENT)
    });
    let per_minute = reader.or(&fields, "perMinute", default.per_minute, |reader, node, place| {
        reader.whole(node, place, 1..=MAX_PER_MINUTE)
    });
    let max_drifted_percent =
        reader.or(&fields, "maxDriftedPercent", default.max_drifted_percent, |reader, node, place| {
            reader.whole(node, place, 1..=100)
        });
    let attempts = reader
        .or(&fields, "attempts", default.attempts, |reader, node, place| reader.whole(node, place, 1..=MAX_ATTEMPTS));
    Some(CorrectLimits {
        concurrent: concurrent?,
        per_minute: per_minute?,
        max_drifted_percent: max_drifted_percent?,
        attempts: attempts?,
    })
}

/// What the steps of an action are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Writing,
    Deleting,
}

impl Purpose {
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Writing => &["method", "url", "headers", "body", "accept"],
            Self::Deleting => &["method", "url", "headers", "body", "accept", "doneOn"],
        }
    }

    /// What a step accepts and what means done. What is gone already need not be deleted, and what means done is
    /// accepted.
    fn settle(self, accept: StatusSet, done_on: Option<StatusSet>) -> (StatusSet, StatusSet) {
        let gone = || StatusSet(vec![404..=404, 410..=410]);
        let accept = if self == Self::Deleting { accept.and(&gone()) } else { accept };
        match done_on {
            None => (accept.clone(), accept),
            Some(done_on) => (accept.and(&done_on), done_on.and(&gone())),
        }
    }
}

fn read_http(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<HttpCorrect> {
    let fields = reader.fields(node, place, &["auth", "tls", "create", "update", "delete"])?;
    let auth = reader.optional(&fields, "auth", read_auth);
    let tls = reader.optional(&fields, "tls", read_tls);
    let steps =
        |purpose| move |reader: &mut Reader<'_>, node: &Node, place: &str| read_steps(reader, node, place, purpose);
    let create = reader.or(&fields, "create", Vec::new(), steps(Purpose::Writing));
    let update = reader.or(&fields, "update", Vec::new(), steps(Purpose::Writing));
    let delete = reader.or(&fields, "delete", Vec::new(), steps(Purpose::Deleting));
    if !["create", "update", "delete"].iter().any(|key| fields.get(key).is_some()) {
        return reader.refuse(fields.at(), format!("{place}: at least one of create, update, delete is needed"));
    }
    let http = HttpCorrect { auth: auth?, tls: tls?, create: create?, update: update?, delete: delete? };
    let mut steps = http.create.iter().chain(&http.update).chain(&http.delete);
    if http.tls.is_some() && !steps.any(|step| step.url.is_https()) {
        let at = fields.get("tls").map_or(node.at, |tls| tls.at);
        return reader.refuse(at, format!("{place}.tls: no URL is https"));
    }
    Some(http)
}

fn read_steps(reader: &mut Reader<'_>, node: &Node, place: &str, purpose: Purpose) -> Option<Vec<HttpStep>> {
    let items = reader.items(node, place, 1..=MAX_STEPS)?;
    let steps: Vec<Option<HttpStep>> = items
        .iter()
        .enumerate()
        .map(|(position, item)| read_step(reader, item, &format!("{place}[{position}]"), purpose))
        .collect();
    steps.into_iter().collect()
}

fn read_step(reader: &mut Reader<'_>, node: &Node, place: &str, purpose: Purpose) -> Option<HttpStep> {
    let fields = reader.fields(node, place, purpose.keys())?;
    let site = |place: &str| Site::new(place, Scope::Correction);
    let method = reader.required(&fields, "method").and_then(|node| {
        // By index: a Method cannot be copied.
        let methods = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        let choices = [("POST", 0), ("PUT", 1), ("PATCH", 2), ("DELETE", 3)];
        methods.into_iter().nth(reader.choice(node, &fields.place("method"), &choices)?)
    });
    let url = reader.required(&fields, "url").and_then(|node| read_url(reader, node, &site(&fields.place("url"))));
    let headers =
        reader.or(&fields, "headers", Vec::new(), |reader, node, place| read_headers(reader, node, &site(place)));
    let body = reader.optional(&fields, "body", |reader, node, place| read_value(reader, node, &site(place)));
    let accept = reader.or(&fields, "accept", StatusSet::success(), read_accept);
    let done_on = reader.optional(&fields, "doneOn", read_accept);
    let (accept, done_on) = purpose.settle(accept?, done_on?);
    Some(HttpStep { method: method?, url: url?, headers: headers?, body: body?, accept, done_on })
}
