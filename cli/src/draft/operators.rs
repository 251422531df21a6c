//! Operators whose kinds are known by their API group: how to wake them. `docs/cookbook/other-operators.md` has the
//! sources.

use crate::kinds::names::ServedKind;

/// An operator of other people.
#[derive(Debug)]
pub(super) struct Operator {
    /// Its name in comments.
    pub(super) name: &'static str,
    /// The ends of the API groups of its kinds.
    groups: &'static [&'static str],
    /// A kind of such a group that another operator has.
    except: Option<&'static str>,
    /// The annotation that wakes it. `None` if no change of the metadata does.
    pub(super) wakes_on: Option<&'static str>,
    /// True if each reconcile writes the whole list of conditions anew.
    pub(super) replaces_conditions: bool,
}

/// In the order of the page.
pub(super) const OPERATORS: [Operator; 4] = [
    Operator {
        name: "Crossplane",
        groups: &[".crossplane.io", ".upbound.io"],
        except: None,
        wakes_on: Some("crossplane.io/reconcile-requested-at"),
        replaces_conditions: false,
    },
    Operator {
        name: "Flux",
        groups: &[".toolkit.fluxcd.io", "infra.contrib.fluxcd.io"],
        except: None,
        wakes_on: Some("reconcile.fluxcd.io/requestedAt"),
        replaces_conditions: false,
    },
    Operator {
        name: "AWS Controllers for Kubernetes (ACK)",
        groups: &[".services.k8s.aws"],
        except: None,
        wakes_on: None,
        replaces_conditions: false,
    },
    // The kind RabbitmqCluster of the same group is that of the cluster operator.
    Operator {
        name: "RabbitMQ topology operator",
        groups: &["rabbitmq.com"],
        except: Some("RabbitmqCluster"),
        wakes_on: Some("drift-nudge"),
        replaces_conditions: true,
    },
];

impl Operator {
    /// Finds the operator of a kind.
    pub(super) fn of(kind: &ServedKind) -> Option<&'static Self> {
        let is_its = |end: &&str| if end.starts_with('.') { kind.group.ends_with(end) } else { kind.group == *end };
        OPERATORS.iter().find(|one| one.groups.iter().any(is_its) && one.except != Some(&kind.kind))
    }
}
