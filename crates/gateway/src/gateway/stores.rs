//! A gateway's state on disk: the ledger, budgets, keys and teams.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};

use crate::config::LedgerPlace;
use crate::ledger_sink::{LedgerSink, now_millis, pseudonyms};
use crate::quota::{BudgetPlace, Quotas};
use crate::reload::StateLoader;
use crate::server::ServerContext;
use crate::stored_keys::{AccessOptions, AccessPlace, AccessWorker, StoredEntries};
use crate::{GatewayState, Server};

/// Starts the ledger, unless it is off.
pub(super) fn add_ledger(server: &Server, loader: &StateLoader, state: &GatewayState) {
    let settings = &state.config().ledger;
    if let Some(ledger) = LedgerSink::start(settings, &loader.environment) {
        server.context().set_ledger(ledger);
    } else if settings.store != LedgerPlace::Off {
        tracing::warn!(
            "requests are not recorded: there is no folder for the ledger; set `store` in [ledger]"
        );
    }
    let today = majordomo_ledger::Day::of_millis(now_millis());
    let book = state.pricing.book();
    if book.is_old(today) {
        let date = book.date().map(|date| date.to_string());
        tracing::warn!(
            date,
            "the price table is older than 60 days; upgrade majordomo, or set `file` in [prices]"
        );
    }
}

/// Stores budgets beside the ledger, if there is one.
pub(super) fn keep_budgets(server: &Server, loader: &StateLoader, state: &GatewayState) {
    let Some(place) = state.config().ledger.place(&loader.environment) else {
        if state.config().has_budgets() {
            tracing::warn!("budgets start over with the process: nothing is recorded");
        }
        if let Some(cluster) = &loader.cluster {
            server
                .context()
                .set_quotas(Quotas::new(None, Some(cluster)));
        }
        return;
    };
    let pseudonyms = match state.config().ledger.hash_end_users {
        false => None,
        true => match pseudonyms(state.config().ledger.folder(&loader.environment).as_deref()) {
            Ok(pseudonyms) => Some(pseudonyms),
            Err(error) => {
                // Names must not be written by accident.
                tracing::error!(%error, "budgets are kept in memory: the key for hashes of end users cannot be read");
                let quotas = Quotas::new(None, loader.cluster.as_ref());
                server.context().set_quotas(quotas);
                return;
            }
        },
    };
    let place = Some(BudgetPlace {
        store: place,
        pseudonyms,
        days: Arc::clone(state.limits.days()),
    });
    let quotas = Quotas::new(place, loader.cluster.as_ref());
    if state.config().has_budgets() {
        quotas.open_store();
    }
    server.context().set_quotas(quotas);
}

/// Waits until the store of budgets is open, if a caller has one: the first requests wait for
/// their leases only for a moment.
pub(super) async fn await_budgets(context: &ServerContext, until: Instant) {
    if !context.has_budgets() {
        return;
    }
    // Those of the file are refused by then.
    if !context.state.load().config().shares_budgets() {
        tracing::warn!(
            "stored keys or teams have budgets, but each node of this cluster has its own: set \
             `store = \"postgres://…\"` in [ledger]"
        );
    }
    let _ = timeout_at(until, context.quotas().store_opened()).await;
}

/// Reads the stored keys and follows their changes. Completes once they are in effect.
pub(super) async fn start_access(
    server: &Server,
    loader: &StateLoader,
    state: &GatewayState,
) -> Option<AccessWorker> {
    let settings = &state.config().ledger;
    let options = AccessOptions {
        place: AccessPlace::of(settings, &loader.environment)?,
        audit_retention: settings.audit_retention,
        now_millis,
        announce: {
            let cluster = loader.cluster.clone();
            Box::new(move || {
                if let Some(cluster) = &cluster {
                    cluster.tell_keys_changed();
                }
            })
        },
    };
    let context = server.context();
    let shared = Arc::downgrade(&context);
    let publish = move |entries| {
        if let Some(context) = shared.upgrade() {
            context.set_stored(entries);
        }
    };
    let started =
        tokio::task::spawn_blocking(move || AccessWorker::start(options, Box::new(publish)));
    match started.await {
        Ok(Ok(worker)) => {
            context.access.store(Some(Arc::new(worker.caller())));
            Some(worker)
        }
        // Stored keys cannot be read, so it is unknown whether there are any.
        Ok(Err(_)) | Err(_) => {
            tracing::error!("stored keys cannot be used: their thread cannot start");
            context.set_stored(Arc::new(StoredEntries::closed()));
            None
        }
    }
}
