//! Drafts for kinds of other operators, each put through `check`.

use drift_language::manifests_of;
use serde_json::{Value, json};

use crate::check::document::{Severity, Source, documents_of};
use crate::check::report::Report;
use crate::check::written_kinds::{check_with, written_in};
use crate::draft::definition::Definition;
use crate::draft::document::draft;
use crate::draft::sample_url::parse_address;
use crate::kinds::operators::{OPERATORS, Wake};

const DEFINITIONS: &str = include_str!("foreign_kinds.yaml");

/// A kind, the address and the answer of one resource, and the lines of the draft that are looked for.
struct Sample {
    kind: &'static str,
    url: &'static str,
    answer: Value,
    has: &'static [&'static str],
    lacks: &'static [&'static str],
}

fn queue() -> Sample {
    Sample {
        kind: "queue.rabbitmq.com",
        url: "http://rabbit.example:15672/api/queues/%2F/jobs",
        answer: json!({"name": "jobs", "vhost": "/", "durable": true, "auto_delete": false, "type": "quorum", "state": "running"}),
        has: &[
            "  # - the RabbitMQ topology operator writes the whole list of conditions anew at each reconcile\n",
            "objects: {apiVersion: rabbitmq.com/v1beta1, kind: Queue, conditions: Report}\n",
            "      # The same for every object: `api`, `queues`. Write a field in the place of what differs.\n",
            "url: \"http://rabbit.example:15672/api/queues/${self.spec.vhost}/${self.spec.name}\"\n",
            "    # nudge:\n    #   annotations: {drift-nudge: \"drift-${correction}\"}\n",
            "# - spec.rabbitmqClusterReference.name: the answer's name is compared with spec.name\n",
        ],
        lacks: &["CustomResourceDefinition queues", "observedGeneration"],
    }
}

fn record_set() -> Sample {
    Sample {
        kind: "recordset",
        url: "https://route53.example/2013-04-01/hostedzone/Z1/rrset?name=api.example.com&type=A",
        answer: json!({"Name": "api.example.com.", "Type": "A",
            "AliasTarget": {"HostedZoneId": "Z2", "DNSName": "lb.example.net.", "EvaluateTargetHealth": false}}),
        has: &[
            "objects: {apiVersion: route53.services.k8s.aws/v1alpha1, kind: RecordSet}\n",
            "  identity: \"${self.spec.name} ${self.spec.recordType}\"\n",
            "  - {that: \"${has(self.spec.name)}\", else: \"spec.name is needed\"}\n",
            "      # Each object is read with `Z1` of the sample address. Is it spec.hostedZoneID?\n",
            "hostedzone/Z1/rrset?name=${self.spec.name}&type=${self.spec.recordType}\"\n",
            "    # The answer's Name ends with a dot, and the address does not.",
            "      HostedZoneId: \"${self.spec.?aliasTarget.?hostedZoneID}\"\n",
            "# - spec.hostedZoneID: the answer has no field of this name\n",
            "# - spec.recordType: the answer has no field of this name. Is it Type?\n",
            "By the API group, its operator is AWS Controllers for Kubernetes (ACK), which corrects. No\n",
            "      # auth: {awsSigV4: {region: CHANGE-ME, service: route53, secretRef: {name: recordsets-read}}}\n",
        ],
        lacks: &[
            "self.metadata.name",
            "observedGeneration",
            "conditions: Report",
            "does not have: Type",
            "method: POST",
        ],
    }
}

fn dns_endpoint() -> Sample {
    let endpoint = json!({"dnsName": "a.example.org", "recordType": "A", "recordTTL": 60, "targets": ["192.0.2.1"]});
    Sample {
        kind: "dnsendpoint",
        url: "https://dns.example/sets/a",
        answer: json!({"endpoints": [endpoint]}),
        has: &[
            "  # - the kind has no .status.conditions\n",
            "kind: DNSEndpoint, conditions: Report}\n",
            "      endpoints: \"${self.spec.?endpoints}\"\n",
            "    # rules:\n    # - {path: /endpoints, list: map, keys: [CHANGE-ME]}\n",
        ],
        lacks: &[],
    }
}

fn database() -> Sample {
    Sample {
        kind: "postgres",
        url: "https://db.example/databases/shop",
        answer: json!({"database": "shop", "extensions": ["pgcrypto"], "schemas": ["public"]}),
        has: &[
            "  # - the kind has no .status.conditions\n  # - the kind requires roles, succeeded in .status\n",
            "kind: Postgres, conditions: Report}\n",
            "    rules:\n    - {path: /extensions, list: set}\n    - {path: /schemas, list: set}\n  correct:\n",
            "    # nudge:\n    #   annotations: {CHANGE-ME: \"drift-${correction}\"}\n",
            "# If the kind is yours, its status can keep the conditions. Then remove `conditions: Report`.\n",
            ".openAPIV3Schema.properties.status.properties:\n#   conditions:\n#     type: array\n",
        ],
        lacks: &["database cannot be changed", "additionalPrinterColumns", "    # http:"],
    }
}

fn database_user() -> Sample {
    Sample {
        kind: "postgresuser",
        url: "https://db.example/roles/app",
        answer: json!({"role": "app", "database": "shop", "privileges": "WRITE"}),
        has: &[
            "requires databaseName, postgresGroup, postgresLogin, postgresRole, succeeded in .status\n",
            "conditions: Report}\n",
        ],
        lacks: &[],
    }
}

fn client() -> Sample {
    Sample {
        kind: "keycloakclient",
        url: "https://id.example/admin/realms/pdp/clients/0a8f1c2e",
        answer: json!({"id": "0a8f1c2e", "clientId": "shop", "enabled": true, "attributes": {}, "secret": "x",
            "redirectUris": ["https://b.example/*", "https://a.example/*"], "webOrigins": ["+"]}),
        has: &[
            "kind: KeycloakClient, conditions: Report}\n",
            "      # The address ended with the answer's id, which the kind does not have.",
            "find the one by its name: docs/reference/target/collections.md.\n",
            "`pdp` of the sample address. Is it spec.realmRef.name?\n",
            "    # Lists are compared in order. If yours has none, or the server sorts it, add:\n    # rules:\n    \
             # - {path: /redirectUris, list: set}\n    # - {path: /webOrigins, list: set}\n",
        ],
        lacks: &["publish"],
    }
}

fn folder() -> Sample {
    Sample {
        kind: "grafanafolder",
        url: "https://grafana.example/api/folders/nErXDvCkzz",
        answer: json!({"id": 1, "uid": "nErXDvCkzz", "title": "Shop", "url": "/dashboards/f/nErXDvCkzz/shop"}),
        has: &[
            "kind: GrafanaFolder}\n",
            "  identity: \"${self.spec.uid}\"\n",
            "  - {that: \"${has(self.spec.uid)}\", else: \"spec.uid is needed\"}\n",
            "      url: \"https://grafana.example/api/folders/${self.spec.uid}\"\n",
        ],
        lacks: &["self.metadata.name", "conditions: Report"],
    }
}

fn dashboard() -> Sample {
    Sample {
        kind: "grafanadashboard",
        url: "https://grafana.example/api/dashboards/uid/cIBgcSjkk",
        answer: json!({"dashboard": {"id": 1, "uid": "cIBgcSjkk", "title": "Shop"},
            "meta": {"url": "/d/cIBgcSjkk/shop", "folderUid": "l3KqBxCMz", "slug": "shop"}}),
        has: &[
            "uid/${self.spec.uid}\"\n",
            "      observed: \"${response.body.dashboard}\"\n",
            "    desired:\n      uid: \"${self.spec.?uid}\"\n",
            "# - spec.folderUID: the answer has meta.folderUid, outside of what is compared\n",
            "# - spec.url: the answer's meta.url seems to be a link that the server makes\n",
        ],
        lacks: &["self.spec.?url", "which the kind does not have", "- spec.uid:"],
    }
}

fn grant() -> Sample {
    Sample {
        kind: "grant",
        url: "https://db.example/grants/bob/shop",
        answer: json!({"user": "bob", "database": "shop", "privileges": ["SELECT", "INSERT"]}),
        has: &[
            "kind: Grant}\n",
            "  - {that: \"${has(self.spec.forProvider.user)}\", else: \"spec.forProvider.user is needed\"}\n",
            "url: \"https://db.example/grants/${self.spec.forProvider.user}/${self.spec.forProvider.database}\"\n",
            "    #   annotations: {crossplane.io/reconcile-requested-at: \"drift-${correction}\"}\n",
            "    # - {path: /privileges, list: set}\n",
        ],
        lacks: &["self.metadata.name", "CustomResourceDefinition grants"],
    }
}

fn application() -> Sample {
    Sample {
        kind: "application",
        url: "https://argo.example/api/v1/applications/shop",
        answer: json!({"metadata": {"name": "shop"}, "spec": {"project": "default", "revisionHistoryLimit": 3}}),
        has: &[
            "  # - the kind has no /status subresource\n  # - the kind has no field status in the items of .status.conditions\n",
            "kind: Application, conditions: Report}\n",
            "applications/${self.metadata.name}\"\n",
        ],
        lacks: &["which the kind does not have", "CHANGE-ME.example"],
    }
}

fn queue_of_aws() -> Sample {
    Sample {
        kind: "queues.sqs.services.k8s.aws",
        url: "https://sqs.eu-central-1.amazonaws.com/",
        answer: json!({"Attributes": {"VisibilityTimeout": "30", "DelaySeconds": "0", "QueueArn": "arn:aws:sqs:x"}}),
        has: &[
            "kind: Queue}\n",
            "      # auth: {awsSigV4: {region: eu-central-1, service: sqs, secretRef: {name: queues-read}}}\n      # method: POST\n",
            "x-amz-target: CHANGE-ME}\n      # body: {CHANGE-ME: \"${self.metadata.name}\"}\n",
            "url: \"https://sqs.eu-central-1.amazonaws.com/\"\n",
            "      observed: \"${response.body.Attributes}\"\n",
            "      VisibilityTimeout: \"${self.spec.?visibilityTimeout}\"\n",
        ],
        lacks: &["bearer"],
    }
}

fn cluster() -> Sample {
    Sample {
        kind: "pg",
        url: "https://db.example/clusters/acid-minimal?all=1",
        answer: json!({"teamId": "acid", "numberOfInstances": 2}),
        has: &[
            "  # - the kind has in .status fields of type string alone, no list\n",
            "objects: {apiVersion: acid.zalan.do/v1, kind: postgresql, conditions: Report}\n",
            "      # The same for every object: `clusters`, `all=1`.",
            "    # Only reports drift. If an operator corrects these objects,",
            "# If the kind is yours, its status can keep the conditions. Then remove `conditions: Report`. This replaces the\n",
            ".schema.openAPIV3Schema.properties:\n#   status:\n",
        ],
        lacks: &[],
    }
}

/// Keeps a status that it does not declare.
fn widget() -> Sample {
    Sample {
        kind: "widget",
        url: "https://open.example/widgets/a",
        answer: json!({"size": 1}),
        has: &["objects: {apiVersion: open.example/v1, kind: Widget}\n", "mode: Observe\n    # http:\n"],
        lacks: &["Required:", "subresources", "#   status:"],
    }
}

fn widget_without_subresource() -> Sample {
    Sample {
        kind: "widget.v2.open.example",
        has: &[
            "  # - the kind has no /status subresource\n  objects: {apiVersion: open.example/v2, kind: Widget, conditions: Report}\n",
            "#   subresources: {status: {}}\n",
        ],
        lacks: &["Required:", "#   status:", ".status.conditions"],
        ..widget()
    }
}

fn drafted(sample: &Sample) -> Result<String, String> {
    let definition = Definition::find(&manifests_of(DEFINITIONS), sample.kind, "crds.yaml").unwrap();
    draft(&definition, &sample.answer, Some(&parse_address(sample.url)?))
}

fn checked(text: &str) -> Report {
    let source = |name: &str, text: &str| Source { name: name.to_owned(), text: text.to_owned() };
    let sources = vec![source("target.yaml", text), source("crds.yaml", DEFINITIONS)];
    let kinds = written_in(&sources);
    let documents = documents_of(sources);
    let mut report = check_with(&documents, &kinds);
    report.refuse_unfinished(&documents);
    report
}

#[test]
fn drafts_for_kinds_of_other_operators_pass_check() {
    let samples = [
        queue(),
        record_set(),
        dns_endpoint(),
        database(),
        database_user(),
        client(),
        folder(),
        dashboard(),
        grant(),
        application(),
        queue_of_aws(),
        cluster(),
        widget(),
        widget_without_subresource(),
    ];
    for sample in samples {
        let text = drafted(&sample).unwrap();
        for part in sample.has {
            assert!(text.contains(part), "{part}: {text}");
        }
        for part in sample.lacks {
            assert!(!text.contains(part), "{part}: {text}");
        }
        assert_eq!(errors_of(&text), Vec::<String>::new(), "{text}");
        let used = with_comments_used(&text);
        let is_unwoken = text.replace("\n    # ", " ").contains("No nudge wakes it");
        assert!(used.contains("mode: Correct") || is_unwoken || text.contains("# http:"), "{used}");
        let errors = errors_of(&used);
        let is_known = errors.iter().all(|error| error.starts_with("CHANGE-ME stands") && used.contains("CHANGE-ME"));
        assert!(is_known, "{errors:?}: {used}");
    }
}

/// The errors of a draft that is good but for them. The message of a condition carries the generation if the kind does
/// not.
fn errors_of(text: &str) -> Vec<String> {
    let report = checked(text);
    assert_eq!(report.targets.len(), 1, "{:?}: {text}", report.remarks);
    let errors = report.remarks.into_iter().filter(|remark| remark.severity == Severity::Error);
    errors.map(|remark| remark.message).collect()
}

/// A draft whose user takes the proposed rules and the nudge.
fn with_comments_used(text: &str) -> String {
    text.replace("    # rules:\n", "    rules:\n")
        .replace("    # - {path: ", "    - {path: ")
        .replace("    mode: Observe\n    # nudge:\n    #   ", "    mode: Correct\n    nudge:\n      ")
}

#[test]
fn a_cluster_scoped_kind_without_conditions_cannot_be_watched() {
    let sample = Sample {
        kind: "providerconfig",
        url: "https://db.example/providers/main",
        answer: json!({"tls": "skip-verify"}),
        has: &[],
        lacks: &[],
    };
    let text = drafted(&sample).unwrap();
    for expected in [
        "  # `check` refuses this target. The object cannot keep both conditions, and a DriftReport needs the namespace",
        "  # - the kind has no /status subresource\n  # - the kind has no .status.conditions\n  objects: {",
        "kind: ProviderConfig}\n",
        "# Required: without it, `check` refuses this target.\n# Add to CustomResourceDefinition providerconfigs.mysql",
        "#   subresources: {status: {}}\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(checked(&text).is_bad());
}

#[test]
fn a_name_of_several_kinds_needs_a_group() {
    for (word, expected) in [
        ("queue", Some("several kinds are called queue: write queues.rabbitmq.com or queues.sqs.services.k8s.aws")),
        ("Queue.rabbitmq.com", None),
        ("queues.v1alpha1.sqs.services.k8s.aws", None),
        ("widget", None),
    ] {
        let said = Definition::find(&manifests_of(DEFINITIONS), word, "crds.yaml").err().map(|error| error.to_string());
        assert_eq!(said.as_deref(), expected, "{word}");
    }
}

#[test]
fn fields_in_items_of_a_list_are_named() {
    let Sample { kind, url, answer, .. } = dns_endpoint();
    let sample = Sample { kind, url, answer: answer["endpoints"][0].clone(), has: &[], lacks: &[] };
    let said = drafted(&sample).unwrap_err();
    let expected = "give the answer for all items of spec.endpoints together, an object with the list endpoints";
    assert!(said.ends_with(expected), "{said}");
}

#[test]
fn the_page_lists_what_drafts_know_of_operators() {
    let page = include_str!("../../../../docs/cookbook/other-operators.md");
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| ")).collect();
    for operator in &OPERATORS {
        let row = rows.iter().find(|row| row.contains(operator.name)).copied().unwrap_or_default();
        assert!(
            row.ends_with(if operator.wakes_on == Wake::Never { "| no |" } else { "| yes |" }),
            "{}: {row}",
            operator.name
        );
        let annotation = operator.wakes_on.annotation().unwrap_or_default();
        let is_any = matches!(operator.wakes_on, Wake::Any(_));
        assert_eq!(row.contains("any changed annotation"), is_any, "{}: {row}", operator.name);
        assert!(is_any || row.contains(annotation), "{}: {row}", operator.name);
        assert_eq!(row.contains("conditions: Report"), operator.replaces_conditions, "{row}");
    }
}
