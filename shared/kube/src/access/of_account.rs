//! Checks the rights of another ServiceAccount.

use std::collections::BTreeSet;

use k8s_openapi::api::authorization::v1::{SubjectAccessReview, SubjectAccessReviewSpec};
use kube::core::Resource;

use crate::access::{Right, send_review};
use crate::client::CallError;

/// Names a ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The account's namespace.
    pub namespace: String,
    /// The account's name.
    pub name: String,
}

impl Account {
    /// Its user name at the API server.
    fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    /// The groups of every ServiceAccount.
    fn groups(&self) -> Vec<String> {
        let of_namespace = format!("system:serviceaccounts:{}", self.namespace);
        vec!["system:serviceaccounts".to_owned(), of_namespace, "system:authenticated".to_owned()]
    }

    fn review(&self, right: &Right) -> SubjectAccessReview {
        let spec = SubjectAccessReviewSpec {
            user: Some(self.user()),
            groups: Some(self.groups()),
            resource_attributes: Some(right.attributes()),
            ..Default::default()
        };
        SubjectAccessReview { spec, ..Default::default() }
    }
}

/// Checks each right of an account and returns the missing ones.
///
/// # Errors
/// Fails if the API server does not answer, or the caller may not review other accounts. The rights are then unknown.
pub async fn missing_rights_of(
    client: &kube::Client,
    account: &Account,
    rights: &BTreeSet<Right>,
) -> Result<BTreeSet<Right>, CallError> {
    let mut missing = BTreeSet::new();
    for right in rights {
        let path = SubjectAccessReview::url_path(&(), None);
        let review = send_review(client, path, &account.review(right)).await?;
        if !review.status.is_some_and(|status| status.allowed) {
            missing.insert(right.clone());
        }
    }
    Ok(missing)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::access::rights::right_to_tell;
    use crate::client::fake_api::{answering, reply};
    use serde_json::json;

    #[tokio::test]
    async fn the_account_is_asked_about_with_its_groups() {
        let (client, log) = answering(|sent| {
            let asked = sent.json()["spec"].clone();
            let expected = json!({"user": "system:serviceaccount:home:drift-poller",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:home", "system:authenticated"],
                "resourceAttributes": {"verb": "create", "group": "events.k8s.io", "resource": "events", "namespace": "a"}});
            reply(201, &json!({"spec": {}, "status": {"allowed": asked == expected}}))
        });
        let account = Account { namespace: "home".to_owned(), name: "drift-poller".to_owned() };
        let (granted, lacking) = (right_to_tell(Some("a".to_owned())), right_to_tell(Some("b".to_owned())));
        let missing = missing_rights_of(&client, &account, &[granted, lacking.clone()].into()).await.unwrap();
        assert_eq!(missing, [lacking].into());
        assert_eq!(log.lines(), ["POST /apis/authorization.k8s.io/v1/subjectaccessreviews?"; 2]);
    }
}
