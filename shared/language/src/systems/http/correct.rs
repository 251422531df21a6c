//! `correct.http`: corrections by requests to an HTTP server.

use crate::cel::{DESIRED, EVERY_KEY};
use crate::correct::made_of::MadeOf;
use crate::systems::http::auth::{Auth, read_auth};
use crate::systems::http::body::Body;
use crate::systems::http::correct_step::{HttpStep, Purpose, read_steps};
use crate::systems::http::socket::read_socket;
use crate::systems::http::tls::{Tls, read_tls};
use crate::yaml::Node;
use crate::yaml::raw::Reader;
use drift_api::object::field_paths::FieldPaths;

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
    /// Steps that put another in place of what cannot be changed; where it is empty, those of a deletion and of a creation.
    pub replace: Vec<HttpStep>,
}

impl HttpCorrect {
    /// The steps of every action.
    pub fn steps(&self) -> impl Iterator<Item = &HttpStep> {
        self.create.iter().chain(&self.update).chain(&self.delete).chain(&self.replace)
    }

    pub(crate) fn reads_differs(&self) -> bool {
        self.steps().any(HttpStep::reads_differs)
    }

    /// Whether an update certainly sends nothing where this is the only key that differs.
    pub(crate) fn leaves(&self, key: &str) -> bool {
        !self.update.is_empty() && self.update.iter().all(|step| step.leaves(key))
    }

    /// What the requests of each action are made of.
    pub(crate) fn made_of(&self) -> [Option<MadeOf>; 4] {
        let made_of = |step: &HttpStep| (step.request.fields(), step.request.reads(DESIRED));
        [&self.create, &self.update, &self.delete, &self.replace].map(|steps| MadeOf::of(steps.iter().map(made_of)))
    }

    /// Whether the one request that an update always sends carries others and not this key of the desired state, which is made of these fields.
    /// Of several, one may switch on what another switches off, without a value of the key in either.
    pub(crate) fn lacks(&self, key: &str, fields: &FieldPaths) -> bool {
        let carries = |step: &HttpStep| {
            let (request, own) = (&step.request, step.request.fields());
            let is_read = |field: &[String]| own.iter().any(|own| own.starts_with(field) || field.starts_with(own));
            request.reads(EVERY_KEY) || request.reads(&format!("{DESIRED}.{key}")) || fields.iter().any(is_read)
        };
        let writes_fields = |step: &HttpStep| {
            let body = step.request.body.as_ref().filter(|body| matches!(body, Body::Json(_) | Body::Form(_)));
            body.is_some_and(|body| body.reads(DESIRED) || body.fields().iter().next().is_some())
        };
        let mut writes = self.update.iter().filter(|step| !step.looks_up());
        let (only, None) = (writes.next(), writes.next()) else { return false };
        only.is_some_and(|step| step.when.is_none() && writes_fields(step)) && !self.update.iter().any(carries)
    }

    pub(crate) fn fields(&self) -> FieldPaths {
        let mut fields = FieldPaths::default();
        self.steps().for_each(|step| fields.extend(&step.fields()));
        fields
    }
}

pub(crate) fn read_http(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<HttpCorrect> {
    let fields = reader.fields(node, place, &["socket", "auth", "tls", "create", "update", "delete", "replace"])?;
    let auth = reader.optional(&fields, "auth", read_auth);
    let tls = reader.optional(&fields, "tls", read_tls);
    let steps =
        |purpose| move |reader: &mut Reader<'_>, node: &Node, place: &str| read_steps(reader, node, place, purpose);
    reader.names_mut().socket = reader.optional(&fields, "socket", read_socket)?;
    let create = reader.or(&fields, "create", Vec::new(), steps(Purpose::Writing));
    let update = reader.or(&fields, "update", Vec::new(), steps(Purpose::Writing));
    let delete = reader.or(&fields, "delete", Vec::new(), steps(Purpose::Deleting));
    let replace = reader.or(&fields, "replace", Vec::new(), steps(Purpose::Replacing));
    reader.names_mut().socket = None;
    if !["create", "update", "delete", "replace"].iter().any(|key| fields.get(key).is_some()) {
        return reader
            .refuse(fields.at(), format!("{place}: at least one of create, update, delete, replace is needed"));
    }
    let (create, update, delete, replace) = (create?, update?, delete?, replace?);
    let http = HttpCorrect { auth: auth?, tls: tls?, create, update, delete, replace };
    if http.tls.is_some() && !http.steps().any(|step| step.request.url.is_https()) {
        let at = fields.get("tls").map_or(node.at, |tls| tls.at);
        return reader.refuse(at, format!("{place}.tls: no URL is https"));
    }
    Some(http)
}
