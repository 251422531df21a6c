//! Kinds of other operators, cut down to what a target reads, and what wakes each operator.
//!
//! Their conditions cannot be in their own status: it lacks the list, requires other fields, is replaced as a whole, or
//! is no subresource.

use serde_json::{Value, json};

/// A change of an object that its operator reacts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wakes {
    /// Every change of the object.
    Change,
    /// A change of the spec, or of this annotation.
    Annotation(&'static str),
    /// Nothing that a nudge may change.
    Spec,
}

/// A kind of another operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Foreign {
    pub kind: &'static str,
    pub plural: &'static str,
    /// The versions. The last one is stored.
    pub versions: &'static [&'static str],
    /// The field of the spec that the operator brings outside.
    pub field: &'static str,
    pub desired: &'static str,
    pub drifted: &'static str,
    pub wakes: Wakes,
    pub has_status_subresource: bool,
    /// Returns the schema of its status.
    pub status: fn() -> Value,
    /// Returns the status that the operator writes after each reconcile.
    pub reconciled: fn() -> Value,
    /// Its conditions are on the object.
    pub is_plain: bool,
}

const TEXT: fn() -> Value = || json!({"type": "string"});

/// A condition without `observedGeneration`.
fn item() -> Value {
    json!({"type": "object", "required": ["status", "type"], "properties": {"type": TEXT(), "status": TEXT(),
        "reason": TEXT(), "message": TEXT(), "lastTransitionTime": {"type": "string", "format": "date-time"}}})
}

fn list_of(items: &Value) -> Value {
    json!({"type": "object", "properties": {"conditions": {"type": "array", "items": items},
        "observedGeneration": {"type": "integer", "format": "int64"}}})
}

fn ready() -> Value {
    json!({"conditions": [{"type": "Ready", "status": "True", "reason": "Reconciled", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
}

/// Replaces its whole list of conditions at each reconcile.
pub(super) const QUEUE: Foreign = Foreign {
    kind: "Queue",
    plural: "queues",
    versions: &["v1alpha2", "v1beta1"],
    field: "type",
    desired: "quorum",
    drifted: "classic",
    wakes: Wakes::Change,
    has_status_subresource: true,
    status: || list_of(&item()),
    reconciled: ready,
    is_plain: false,
};

/// Its operator hears of the spec only.
pub(super) const RECORD_SET: Foreign = Foreign {
    kind: "RecordSet",
    plural: "recordsets",
    versions: &["v1alpha1"],
    field: "setIdentifier",
    desired: "blue",
    drifted: "green",
    wakes: Wakes::Spec,
    ..QUEUE
};

/// A status without a list of conditions.
pub(super) const DNS_ENDPOINT: Foreign = Foreign {
    kind: "DNSEndpoint",
    plural: "dnsendpoints",
    versions: &["v1alpha1"],
    field: "target",
    desired: "192.0.2.1",
    drifted: "192.0.2.2",
    status: || json!({"type": "object", "properties": {"observedGeneration": {"type": "integer", "format": "int64"}}}),
    reconciled: || json!({"observedGeneration": 1}),
    ..QUEUE
};

/// A status with required fields, which a patch of conditions alone would lack.
pub(super) const POSTGRES_USER: Foreign = Foreign {
    kind: "PostgresUser",
    plural: "postgresusers",
    versions: &["v1alpha1"],
    field: "privileges",
    desired: "READ",
    drifted: "WRITE",
    wakes: Wakes::Spec,
    status: || {
        json!({"type": "object", "required": ["succeeded", "postgresRole", "databaseName"],
        "properties": {"succeeded": {"type": "boolean"}, "postgresRole": TEXT(), "databaseName": TEXT()}})
    },
    reconciled: || json!({"succeeded": true, "postgresRole": "web-a1b2c3", "databaseName": "web"}),
    ..QUEUE
};

/// One word of status.
pub(super) const REALM_USER: Foreign = Foreign {
    kind: "KeycloakRealmUser",
    plural: "keycloakrealmusers",
    versions: &["v1"],
    field: "email",
    desired: "a@example.org",
    drifted: "b@example.org",
    status: || json!({"type": "object", "properties": {"value": TEXT(), "failureCount": {"type": "integer"}}}),
    reconciled: || json!({"value": "OK"}),
    ..QUEUE
};

/// A status of texts, and a kind in lower case.
pub(super) const POSTGRESQL: Foreign = Foreign {
    kind: "postgresql",
    plural: "postgresqls",
    versions: &["v1"],
    field: "teamId",
    desired: "acid",
    drifted: "other",
    status: || json!({"type": "object", "additionalProperties": TEXT()}),
    reconciled: || json!({"PostgresClusterStatus": "Running"}),
    ..QUEUE
};

/// No status subresource.
pub(super) const APPLICATION: Foreign = Foreign {
    kind: "Application",
    plural: "applications",
    versions: &["v1alpha1"],
    field: "revision",
    desired: "v2",
    drifted: "v1",
    wakes: Wakes::Annotation("argocd.argoproj.io/refresh"),
    has_status_subresource: false,
    status: || json!({"type": "object", "properties": {"health": TEXT()}}),
    reconciled: || json!({"health": "Healthy"}),
    ..QUEUE
};

/// All six fields: it needs no report.
pub(super) const KUSTOMIZATION: Foreign = Foreign {
    kind: "Kustomization",
    plural: "kustomizations",
    versions: &["v1"],
    field: "revision",
    desired: "v2",
    drifted: "v1",
    wakes: Wakes::Annotation("reconcile.fluxcd.io/requestedAt"),
    status: || {
        let mut item = item();
        item["properties"]["observedGeneration"] = json!({"type": "integer", "format": "int64"});
        list_of(&item)
    },
    reconciled: || json!({"observedGeneration": 1}),
    is_plain: true,
    ..QUEUE
};

impl Foreign {
    /// Returns the annotation of a nudge, or `None` if the target only observes.
    pub(super) fn nudge(&self) -> Option<&'static str> {
        match self.wakes {
            Wakes::Change => Some("nudges.example/requested-at"),
            Wakes::Annotation(name) => Some(name),
            Wakes::Spec => None,
        }
    }

    /// Returns its group below a world's own.
    pub(super) fn group(&self, of_world: &str) -> String {
        format!("{}.{of_world}", self.plural)
    }

    pub(super) fn stored_version(&self) -> &'static str {
        self.versions.last().copied().unwrap_or_default()
    }

    /// Returns its CustomResourceDefinition.
    pub(super) fn definition(&self, group: &str) -> Value {
        let spec = json!({"type": "object", "properties": {self.field: TEXT()}});
        let schema = json!({"type": "object", "properties": {"spec": spec, "status": (self.status)()}});
        let subresources = if self.has_status_subresource { json!({"status": {}}) } else { json!({}) };
        let versions: Vec<Value> = self
            .versions
            .iter()
            .map(|name| {
                json!({"name": name, "served": true, "storage": *name == self.stored_version(),
                "subresources": subresources, "schema": {"openAPIV3Schema": schema}})
            })
            .collect();
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{group}", self.plural)},
            "spec": {"group": group, "scope": "Namespaced", "versions": versions,
                "names": {"kind": self.kind, "plural": self.plural, "singular": self.kind.to_lowercase()}}})
    }
}
