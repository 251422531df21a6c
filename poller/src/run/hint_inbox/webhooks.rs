//! Targets that accept webhooks, and their queues.
//!
//! A running target registers itself and is removed when it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drift_language::WebhookHints;
use serde_json::Value;

use crate::engine::hints::HintOutcome;
use crate::run::hint_inbox::Inbox;

/// Targets that accept webhooks. Clones share them.
#[derive(Clone, Default)]
pub struct Webhooks(Arc<Mutex<HashMap<String, Arc<Webhook>>>>);

/// Webhook of one target.
pub(crate) struct Webhook {
    target: String,
    /// The target's webhook settings.
    pub(crate) hints: Arc<WebhookHints>,
    inbox: Inbox,
}

/// Registration of a target, until it is dropped.
pub(crate) struct Listed {
    webhooks: Webhooks,
    webhook: Arc<Webhook>,
}

impl Webhooks {
    /// Registers a target.
    pub(crate) fn list(&self, target: &str, hints: &Arc<WebhookHints>, inbox: &Inbox) -> Listed {
        let webhook = Webhook { target: target.to_owned(), hints: hints.clone(), inbox: inbox.clone() };
        let webhook = Arc::new(webhook);
        self.lock().insert(target.to_owned(), webhook.clone());
        Listed { webhooks: self.clone(), webhook }
    }

    /// Returns the webhook of the target with that name.
    pub(crate) fn find(&self, target: &str) -> Option<Arc<Webhook>> {
        self.lock().get(target).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Webhook>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Webhook {
    /// Takes in the payload of an authenticated request.
    ///
    /// # Errors
    /// Returns the outcome if the hint is not accepted.
    pub(crate) async fn take(&self, payload: &Value) -> Result<(), HintOutcome> {
        self.inbox.take(|| self.hints.identities.of(payload)).await
    }
}

impl Drop for Listed {
    /// Keeps the registration of the target's next version, which may have begun already.
    fn drop(&mut self) {
        let mut webhooks = self.webhooks.lock();
        let name = &self.webhook.target;
        if webhooks.get(name).is_some_and(|listed| Arc::ptr_eq(listed, &self.webhook)) {
            webhooks.remove(name);
        }
    }
}
