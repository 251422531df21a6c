//! The targets that accept webhooks, and their queues.
//!
//! A target at work puts itself here and is gone when its work ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drift_language::WebhookHints;
use serde_json::Value;

use crate::engine::hints::HintOutcome;
use crate::run::hint_inbox::Inbox;

/// The targets that take such requests. Clones share them.
#[derive(Clone, Default)]
pub struct Webhooks(Arc<Mutex<HashMap<String, Arc<Webhook>>>>);

/// One target's.
pub(crate) struct Webhook {
    target: String,
    /// The target's webhook settings.
    pub(crate) hints: Arc<WebhookHints>,
    inbox: Inbox,
}

/// A target's place among them, until it is dropped.
pub(crate) struct Listed {
    webhooks: Webhooks,
    webhook: Arc<Webhook>,
}

impl Webhooks {
    /// Takes requests for a target.
    pub(crate) fn list(&self, target: &str, hints: &Arc<WebhookHints>, inbox: &Inbox) -> Listed {
        let webhook = Webhook { target: target.to_owned(), hints: hints.clone(), inbox: inbox.clone() };
        let webhook = Arc::new(webhook);
        self.lock().insert(target.to_owned(), webhook.clone());
        Listed { webhooks: self.clone(), webhook }
    }

    /// The one of that name.
    pub(crate) fn find(&self, target: &str) -> Option<Arc<Webhook>> {
        self.lock().get(target).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Webhook>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Webhook {
    /// A request that is believed came with this payload.
    ///
    /// # Errors
    /// What became of it, where it is not taken.
    pub(crate) async fn take(&self, payload: &Value) -> Result<(), HintOutcome> {
        self.inbox.take(|| self.hints.identities.of(payload)).await
    }
}

impl Drop for Listed {
    /// The work of the target's next text may have begun already.
    fn drop(&mut self) {
        let mut webhooks = self.webhooks.lock();
        let name = &self.webhook.target;
        if webhooks.get(name).is_some_and(|listed| Arc::ptr_eq(listed, &self.webhook)) {
            webhooks.remove(name);
        }
    }
}
