//! Receives hints from other nodes.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::{sleep, timeout};

use super::{ClusterNode, HearNews};
use crate::call::{CallFailed, within};
use crate::connection::open_listener;
use crate::news::{Message, News};
use crate::scripts::{CALL, PREFIX};

/// A node receives its own heartbeats, twice a second. A connection that is silent for this
/// long has failed without an error.
const SILENCE: Duration = Duration::from_secs(3);
/// The pause before another attempt.
const RETRY: Duration = Duration::from_millis(500);

impl ClusterNode {
    /// Receives messages, and reconnects after a failure.
    pub(super) async fn listen(&self, hear: &HearNews) {
        loop {
            if let Err(CallFailed(reason)) = self.listen_once(hear).await {
                tracing::debug!(reason, "hints from other nodes cannot be received");
            }
            sleep(RETRY).await;
        }
    }

    async fn listen_once(&self, hear: &HearNews) -> Result<(), CallFailed> {
        // The name of its own channel contains the epoch, which is known once the node has
        // joined.
        while !self.has_joined() {
            sleep(RETRY / 5).await;
        }
        let mut listener = open_listener(&self.settings.state).await?;
        let news = format!("{PREFIX}:news");
        let channels = [news.as_str(), &self.own_channel()];
        within(CALL, listener.subscribe(&channels[..])).await?;
        // Earlier messages were missed.
        hear(News::Resync);
        let mut messages = listener.on_message();
        loop {
            let message = timeout(SILENCE, messages.next()).await;
            let message = message.map_err(|_| CallFailed(format!("silent for {SILENCE:?}")))?;
            let message = message.ok_or_else(|| CallFailed("the connection ended".to_owned()))?;
            if message.get_channel_name() != news {
                continue;
            }
            let text: String = message.get_payload()?;
            if let Some(news) = Message::read(&text, &self.id()) {
                hear(news);
            }
        }
    }

    fn has_joined(&self) -> bool {
        self.epoch.load(std::sync::atomic::Ordering::Relaxed) > 0
    }
}
