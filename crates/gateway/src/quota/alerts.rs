//! Alerts: logged at once, then queued for the webhook.

use std::sync::{Mutex, PoisonError};

use majordomo_ledger::Cost;
use majordomo_limits::{AlertSink, BudgetAlert, Nanodollars};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::webhook::Webhook;

/// Maximum alerts that wait for the webhook; further ones are only logged.
const QUEUED: usize = 256;

/// Alerts between a request that is settled and the webhook.
pub(super) struct AlertQueue {
    sender: Sender<BudgetAlert>,
    /// Taken by the first task that delivers.
    receiver: Mutex<Option<Receiver<BudgetAlert>>>,
}

impl Default for AlertQueue {
    fn default() -> Self {
        let (sender, receiver) = channel(QUEUED);
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
        }
    }
}

impl AlertSink for AlertQueue {
    fn alert(&self, alert: BudgetAlert) {
        tracing::warn!(
            level = alert.level.kind.name(),
            name = &*alert.level.name,
            window = alert.window.name(),
            percent = alert.percent,
            settled = %usd(alert.settled),
            limit = %usd(alert.limit),
            "a budget is used"
        );
        // A full queue loses the webhook's call, not the log line.
        let _ = self.sender.try_send(alert);
    }
}

impl AlertQueue {
    /// Sends alerts one after another, until it is dropped.
    pub(super) async fn deliver(&self, webhook: &Webhook) {
        let receiver = self.receiver.lock();
        let receiver = receiver.unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut receiver) = receiver else {
            return;
        };
        while let Some(alert) = receiver.recv().await {
            webhook.send(&alert).await;
        }
    }
}

pub(super) fn usd(amount: Nanodollars) -> Cost {
    Cost::from_nanodollars(i64::try_from(amount.0).unwrap_or(i64::MAX))
}
