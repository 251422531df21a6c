//! Operators whose kinds are known by their API group: how to wake them. `docs/cookbook/other-operators.md` has the
//! sources.

/// An operator of other people.
#[derive(Debug)]
pub(crate) struct Operator {
    /// Its name in sentences.
    pub(crate) name: &'static str,
    /// The ends of the API groups of its kinds.
    groups: &'static [&'static str],
    /// A kind of such a group that another operator has.
    except: Option<&'static str>,
    /// The change of the metadata that wakes it.
    pub(crate) wakes_on: Wake,
    /// True if each reconcile writes the whole list of conditions anew.
    pub(crate) replaces_conditions: bool,
    /// True if its external system takes requests with a signature of AWS.
    pub(crate) is_of_aws: bool,
}

/// The change of the metadata that wakes an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Any changed annotation. A nudge of a draft writes this one.
    Any(&'static str),
    /// This annotation alone.
    Only(&'static str),
    /// None.
    Never,
}

impl Wake {
    /// The annotation that a nudge writes.
    pub(crate) const fn annotation(self) -> Option<&'static str> {
        match self {
            Self::Any(name) | Self::Only(name) => Some(name),
            Self::Never => None,
        }
    }
}

/// The fact that [`Operator::replaces_conditions`] stands for, after the name of the operator.
pub(crate) const REPLACES_CONDITIONS: &str = "writes the whole list of conditions anew at each reconcile";

/// In the order of the page.
pub(crate) const OPERATORS: [Operator; 4] = [
    Operator {
        name: "Crossplane",
        groups: &[".crossplane.io", ".upbound.io"],
        except: None,
        wakes_on: Wake::Any("crossplane.io/reconcile-requested-at"),
        replaces_conditions: false,
        is_of_aws: false,
    },
    Operator {
        name: "Flux",
        groups: &[".toolkit.fluxcd.io", "infra.contrib.fluxcd.io"],
        except: None,
        wakes_on: Wake::Only("reconcile.fluxcd.io/requestedAt"),
        replaces_conditions: false,
        is_of_aws: false,
    },
    Operator {
        name: "AWS Controllers for Kubernetes (ACK)",
        groups: &[".services.k8s.aws"],
        except: None,
        wakes_on: Wake::Never,
        replaces_conditions: false,
        is_of_aws: true,
    },
    // The kind RabbitmqCluster of the same group is that of the cluster operator.
    Operator {
        name: "RabbitMQ topology operator",
        groups: &["rabbitmq.com"],
        except: Some("RabbitmqCluster"),
        wakes_on: Wake::Any("drift-nudge"),
        replaces_conditions: true,
        is_of_aws: false,
    },
];

impl Operator {
    /// Finds the operator of a kind.
    pub(crate) fn of(group: &str, kind: &str) -> Option<&'static Self> {
        let is_its = |end: &&str| if end.starts_with('.') { group.ends_with(end) } else { group == *end };
        OPERATORS.iter().find(|one| one.groups.iter().any(is_its) && one.except != Some(kind))
    }
}
