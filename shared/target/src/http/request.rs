//! What a request is rendered from: method, URL, headers, body.
//!
//! A rendered request carries no credential. It must not know whether it reads or writes.

use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::cel::{EvaluationError, Site, TextTemplate, UrlTemplate, ValueTemplate, Variables};
use crate::raw::Reader;
use crate::yaml::Node;
use drift_model::http_request::HttpRequest;

/// What a request is rendered from.
pub(crate) struct Templates<'t> {
    pub(crate) method: &'t Method,
    pub(crate) url: &'t UrlTemplate,
    pub(crate) headers: &'t [(HeaderName, TextTemplate)],
    pub(crate) body: Option<&'t ValueTemplate>,
}

impl Templates<'_> {
    pub(crate) fn render(&self, variables: &Variables<'_>) -> Result<HttpRequest, EvaluationError> {
        let mut headers = HeaderMap::with_capacity(self.headers.len());
        for (name, template) in self.headers {
            let value = HeaderValue::try_from(template.render(variables)?)
                .map_err(|_| template.site().error("the value holds characters that no header can carry"))?;
            headers.insert(name, value);
        }
        let body = self.body.map(|body| {
            let value = body.render(variables)?;
            serde_json::to_vec(&value).map_err(|_| body.site().error("the body has no JSON form"))
        });
        Ok(HttpRequest {
            method: self.method.clone(),
            url: self.url.render(variables)?,
            headers,
            body: body.transpose()?,
        })
    }
}

pub(crate) fn read_url(reader: &mut Reader<'_>, node: &Node, site: &Site) -> Option<UrlTemplate> {
    let text = reader.text(node, &site.place)?;
    reader.compiled(node, &site.place, UrlTemplate::parse(text, site))
}
