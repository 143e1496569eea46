//! The web page: fills the views of `majordomo-page` with the gateway's data.
//!
//! One file per screen. The page reads the same data as `/api`, and only requests that have
//! passed the trust boundary reach this module.

mod captured;
mod config;
mod connect;
mod headers;
mod keys;
pub(super) mod now;
mod playground;
mod request;
mod routes;
pub(super) mod rows;
mod targets;
mod usage;

use std::sync::Arc;

use http::{HeaderMap, Response, StatusCode, header};
use majordomo_page::{Frame, Screen, message};

pub(super) use headers::{asset, html};

use super::access::OperatorCaller;
use super::body::OperatorBody;
use crate::server::ServerContext;
use crate::state::GatewayState;
use crate::trust::Visible;

/// The data that a screen is rendered from.
pub(super) struct PageContext<'a> {
    pub(super) server: &'a Arc<ServerContext>,
    pub(super) state: &'a Arc<GatewayState>,
    pub(super) caller: &'a OperatorCaller,
    /// The query string.
    pub(super) query: &'a str,
}

/// Whether the client prefers a page to plain text.
pub(super) fn accepts_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// The screen at a path; `None` if there is none.
pub(super) async fn respond(
    context: &PageContext<'_>,
    path: &str,
) -> Option<Response<OperatorBody>> {
    let html = match path {
        "/" => now::render(context).await,
        "/targets" => targets::render(context),
        "/routes" => routes::render(context),
        "/playground" => playground::render(context).await,
        "/config" => config::render(context),
        "/keys" => keys::render(context).await,
        "/usage" => usage::render(context).await,
        "/connect" => connect::render(context).await,
        _ => {
            let id = path.strip_prefix("/requests/")?;
            match request::render(context, id).await {
                Some(html) => html,
                None => {
                    let text = "It was never made, or is no longer kept.";
                    return Some(context.missing("No such request", text));
                }
            }
        }
    };
    Some(headers::html(StatusCode::OK, html))
}

/// Why a viewer may not open a screen.
pub(super) fn refused(reason: &str) -> Response<OperatorBody> {
    let mut sentence = reason.to_owned();
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let frame = Frame::new(Screen::Other, env!("CARGO_PKG_VERSION"));
    let html = message(&frame, "Not allowed", &format!("{sentence}."));
    headers::html(StatusCode::FORBIDDEN, html)
}

impl PageContext<'_> {
    /// What does not exist.
    pub(super) fn missing(&self, heading: &str, text: &str) -> Response<OperatorBody> {
        let html = message(&self.frame(Screen::Request), heading, text);
        headers::html(StatusCode::NOT_FOUND, html)
    }

    /// The frame of a screen, with the operator's notices.
    fn frame(&self, screen: Screen) -> Frame {
        let mut notices = Vec::new();
        if self.caller.sees() == Visible::All {
            if let Some(reason) = &*self.server.stale.load() {
                notices.push(format!("The old configuration is active: {reason}"));
            }
            notices.extend(self.server.notes.load().iter().cloned());
            let cluster = self.server.cluster();
            notices.extend(cluster.iter().flat_map(|cluster| cluster.notices()));
        }
        Frame::new(screen, env!("CARGO_PKG_VERSION"))
            .seen_by(self.caller.viewer())
            .with_notices(notices)
            .capturing(self.captures())
    }

    /// Whether the requests of any key that the viewer sees are captured.
    fn captures(&self) -> bool {
        let (keys, sees) = (self.server.keys(), self.caller.sees());
        let mut captured = keys.all().filter(|key| key.is_captured());
        captured.any(|key| sees.includes(Some(key.name()), key.team()))
    }

    /// A parameter of the query string.
    fn parameter(&self, name: &str) -> String {
        super::usage::parameter(self.query, name).unwrap_or_default()
    }
}
