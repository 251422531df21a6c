//! One request of a read, and the meaning of its response.

use http::Method;

use crate::cel::{Expression, Scope};
use crate::spec::naming::read_step_name;
use crate::systems::http::format::{Format, read_format};
use crate::systems::http::request::{RequestTemplate, read_request};
use crate::systems::http::statuses::{StatusSet, read_accept};
use crate::yaml::{Fields, Node, Reader, expression};

/// Maximum requests of one read. Each is a round trip within one deadline.
const MAX_STEPS: usize = 8;

/// Keys of a request at any place.
pub(crate) const REQUEST_KEYS: &[&str] =
    &["method", "url", "headers", "body", "form", "text", "xml", "as", "lists", "accept", "absentWhen"];

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

/// Reads the steps of a list. Each sees the responses of those before it, and later keys see all.
pub(crate) fn read_steps(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<ReadStep>> {
    let items = reader.items(node, place, 1..=MAX_STEPS)?;
    let mut turn = Turn::First;
    reader.each(items, place, |reader, item, place| {
        let known: Vec<&str> = std::iter::once("name").chain(REQUEST_KEYS.iter().copied()).collect();
        let step = reader.fields(item, place, &known).and_then(|fields| {
            let name = reader.needed(&fields, "name", read_step_name);
            let step = read_step(reader, &fields, std::mem::replace(&mut turn, Turn::Later));
            Some(ReadStep { name: Some(name?), ..step? })
        });
        let named = item.get("name").and_then(Node::as_text);
        // Invalid steps count too: their uses must not be reported as unknown.
        reader.names_mut().steps.extend(named.map(str::to_owned));
        step
    })
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

/// Reads the keys of one request.
pub(crate) fn read_step(reader: &mut Reader<'_>, fields: &Fields<'_>, turn: Turn) -> Option<ReadStep> {
    let method = reader.or(fields, "method", Method::GET, |reader, node, place| {
        // By index, because a Method cannot be copied.
        let methods = [Method::GET, Method::HEAD, Method::POST];
        let index = reader.choice(node, place, &[("GET", 0), ("HEAD", 1), ("POST", 2)])?;
        methods.into_iter().nth(index)
    });
    let site = reader.site("", Scope::Object);
    let request = read_request(reader, fields, method, &site);
    let format = read_format(reader, fields);
    let accept = reader.or(fields, "accept", StatusSet::success(), read_accept);
    let absence = read_absence(reader, fields, turn);
    let step = ReadStep { name: None, request: request?, format: format?, accept: accept?, absence: absence? };
    check_body(reader, fields, step)
}

fn read_absence(reader: &mut Reader<'_>, fields: &Fields<'_>, turn: Turn) -> Option<Absence> {
    match (fields.get("absentWhen"), turn) {
        (_, Turn::Page) | (None, Turn::Later) => Some(Absence::Never),
        (None, Turn::First) => Some(Absence::ByStatus),
        (Some(node), _) => expression(Scope::Response)(reader, node, &fields.place("absentWhen")).map(Absence::When),
    }
}

fn check_body(reader: &mut Reader<'_>, fields: &Fields<'_>, step: ReadStep) -> Option<ReadStep> {
    let written = crate::systems::http::request::body::BODY_KEYS.iter().find_map(|key| Some((key, fields.get(key)?)));
    match written {
        Some((key, node)) if step.request.method != Method::POST => {
            let message = format!("{}: only a POST has a body; write method: POST", fields.place(key));
            reader.refuse(node.at, message)
        }
        _ => Some(step),
    }
}
