//! One request of a read, and the meaning of its response.

use http::Method;

use crate::cel::{Expression, Scope};
use crate::section::{Key, Leaf, Section, section, text};
use crate::spec::naming::step_name;
use crate::systems::http::format::{Format, WrittenFormat};
use crate::systems::http::request::RequestTemplate;
use crate::systems::http::request::body::Body;
use crate::systems::http::request::headers::headers;
use crate::systems::http::request::kind::RequestKind;
use crate::systems::http::statuses::{StatusSet, statuses};
use crate::yaml::{Fields, Node, Reader, expression};

/// Maximum requests of one read. Each is a round trip within one deadline.
const MAX_STEPS: usize = 8;

/// One request of a read.
#[derive(Debug)]
pub struct ReadStep {
    /// The name of its response for later steps and rules.
    pub name: Option<String>,
    /// The request: GET (default), HEAD or POST.
    pub request: RequestTemplate,
    /// The format of the body; default JSON.
    pub format: Format,
    /// Statuses that carry an observation; default 200–299.
    pub accept: StatusSet,
    /// The rule for an absent resource.
    pub absence: Absence,
}

/// The rule for an absent resource.
#[derive(Debug)]
pub enum Absence {
    /// A status of 404 or 410 whose body is empty, or well-formed JSON.
    ByStatus,
    /// The target's own rule.
    When(Expression),
    /// The response never means absence.
    Never,
}

/// The turn of a request in a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The first request. Its status alone can mean that the resource is absent.
    First,
    /// A request after the first.
    Later,
    /// A page of a collection. The absence rule applies to its entries.
    Page,
}

/// A request as written.
#[derive(Section)]
#[section(context = Turn, check = Self::check_body)]
pub(crate) struct WrittenRequest {
    #[key(flatten = RequestKind::Read)]
    request: RequestTemplate,
    #[key(flatten = (), of = WrittenFormat)]
    format: Format,
    /// Statuses with an observation. Default: [200-299].
    #[key(statuses(&[]), default = StatusSet::success())]
    accept: StatusSet,
    /// The resource does not exist. Default: 404 or 410, body empty or well-formed.
    #[key(text(expression(if context == Turn::Page { Scope::Item } else { Scope::Response })))]
    absent_when: Option<Expression>,
}

impl WrittenRequest {
    fn check_body(self, reader: &mut Reader<'_>, fields: &Fields<'_>, _: Turn) -> Option<Self> {
        let mut keys = Body::names(RequestKind::Read).into_iter();
        match keys.find_map(|key| Some((key, fields.get(key)?))) {
            Some((key, node)) if self.request.method != Method::POST => {
                let message = format!("{}: only a POST has a body; write method: POST", fields.place(key));
                reader.refuse(node.at, message)
            }
            _ => Some(self),
        }
    }

    /// Returns the request, and the rule about the entries of a page.
    fn into_step(self, name: Option<String>, turn: Turn) -> (ReadStep, Option<Expression>) {
        let Self { request, format, accept, absent_when } = self;
        let (absence, of_entries) = match (absent_when, turn) {
            (of_entries, Turn::Page) => (Absence::Never, of_entries),
            (None, Turn::Later) => (Absence::Never, None),
            (None, Turn::First) => (Absence::ByStatus, None),
            (Some(rule), _) => (Absence::When(rule), None),
        };
        (ReadStep { name, request, format, accept, absence }, of_entries)
    }
}

/// A step as written.
#[derive(Section)]
#[section(context = Turn, value = ReadStep, check = |step: Self, _, _, turn| Some(step.request.into_step(Some(step.name), turn).0))]
struct WrittenStep {
    /// Later steps and rules see the response as steps.NAME.
    #[key(step_name())]
    name: String,
    #[key(flatten = context)]
    request: WrittenRequest,
}

/// The requests of a read.
pub(crate) struct Requests {
    pub(crate) first: ReadStep,
    pub(crate) further: Vec<ReadStep>,
    /// The rule about the entries of a page.
    pub(crate) absent_when: Option<Expression>,
}

/// One request, or a list of them.
impl Section for Requests {
    type Value = Self;
    type Context = Turn;

    fn names(turn: Turn) -> Vec<&'static str> {
        [WrittenRequest::names(turn), vec![STEPS_KEY]].concat()
    }

    fn keys(turn: Turn) -> Vec<Key> {
        let steps = Key {
            name: STEPS_KEY,
            description: "In place of url: 1 to 8 requests in order.",
            is_required: false,
            schema: steps().schema(),
        };
        let beside = WrittenRequest::keys(turn).into_iter().map(|key| Key { is_required: false, ..key });
        beside.chain([steps]).collect()
    }

    fn read_from(reader: &mut Reader<'_>, fields: &Fields<'_>, turn: Turn) -> Option<Self> {
        let Some(node) = fields.get(STEPS_KEY) else {
            let (first, absent_when) = WrittenRequest::read_from(reader, fields, turn)?.into_step(None, turn);
            return Some(Self { first, further: Vec::new(), absent_when });
        };
        let place = fields.place(STEPS_KEY);
        if turn == Turn::Page {
            return reader.refuse(node.at, format!("{place}: a collection is one request and its pages; write url"));
        }
        let own = WrittenRequest::names(turn);
        let is_beside = |key: &str| own.contains(&key) && key != HEADERS_KEY;
        if let Some(entry) = fields.entries().iter().find(|entry| is_beside(&entry.key)) {
            let message = format!("{}: beside steps it stands in each of them", fields.place(&entry.key));
            reader.refuse::<()>(entry.key_at, message);
        }
        let shared = reader.or(fields, HEADERS_KEY, Vec::new(), headers(Scope::Object));
        let (mut steps, shared) = (steps().read(reader, node, &place)?, shared?);
        steps.iter_mut().for_each(|step| step.request.inherit(&shared));
        let mut steps = steps.into_iter();
        Some(Self { first: steps.next()?, further: steps.collect(), absent_when: None })
    }
}

/// The key of the list.
const STEPS_KEY: &str = "steps";
/// The key of the headers of all steps.
const HEADERS_KEY: &str = "headers";

/// The steps of a list. Each sees the responses of those before it, and later keys see all.
fn steps() -> impl Leaf<Value = Vec<ReadStep>> {
    section::<WrittenStep>(Turn::Later).listed(|later, reader, node, place| {
        let mut is_first = true;
        reader.list(node, place, 1..=MAX_STEPS, |reader, item, place| {
            let step = match std::mem::replace(&mut is_first, false) {
                true => WrittenStep::read(reader, item, place, Turn::First),
                false => later.read(reader, item, place),
            };
            // Invalid steps count too: their uses must not be reported as unknown.
            reader.names_mut().steps.extend(item.get("name").and_then(Node::as_text).map(str::to_owned));
            step
        })
    })
}
