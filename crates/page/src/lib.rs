//! The gateway's web page: templates, charts and assets.
//!
//! Each screen is a view, plain data that the caller fills, and a function that renders it
//! as HTML. Templates are checked at compile time and escape every value. This crate uses
//! no other crate of the workspace, does no I/O and reads no clock.
//!
//! ```
//! use majordomo_page::{Frame, Screen, TargetsView, targets};
//!
//! let frame = Frame::new(Screen::Targets, "0.1.0");
//! let html = targets(&frame, &TargetsView::default());
//! assert!(html.starts_with("<!DOCTYPE html>"));
//! ```

mod assets;
mod bidi;
mod budget;
mod captured;
mod chart;
mod config;
mod connect;
mod figures;
mod frame;
mod keys;
mod last_hour;
mod message;
mod now;
mod playground;
mod request;
mod routes;
mod row;
mod sign_in;
mod story;
mod targets;
mod usage;
mod waterfall;

pub use assets::{Asset, asset, assets};
pub use budget::BudgetView;
pub use captured::{CapturedView, ImageView, TargetImagesView};
pub use chart::{Bar, Segment};
pub use config::{ConfigView, config};
pub use connect::{ConnectView, connect};
pub use frame::{Frame, Screen, Viewer};
pub use keys::{AuditView, KeyView, KeysView, TeamView, keys};
pub use last_hour::{LastHour, last_hour};
pub use message::message;
pub use now::{Filter, NowView, now};
pub use playground::{PlaygroundView, playground};
pub use request::{
    AttemptView, ConditionView, ProcessorView, RequestView, RuleView, SpendView, request,
};
pub use routes::{RouteView, RoutesView, RuleBranch, ServiceView, routes};
pub use row::{RequestRow, RowState, request_row};
pub use sign_in::{sign_in, sign_out};
pub use targets::{TargetRow, TargetStatus, TargetsView, targets};
pub use usage::{UsageLine, UsageView, usage};
