//! The vision proxy: replaces images with text descriptions, for models that take no
//! images.
//!
//! There is one engine, [`Vision`], with two entry points: a processor calls
//! [`Vision::describe`] for a whole request, and [`DescribeForTextOnly`] shapes the requests
//! of a chain for those targets that take no images.
//!
//! Images of the last message are described, and each is replaced by `[image: <description>]`;
//! earlier ones become `[image: (omitted from history)]`; on failure an image becomes `[image:
//! (description unavailable)]`. No image remains.
//!
//! The crate uses `majordomo`, `majordomo-wire` (images inside dialect-specific blocks)
//! and `majordomo-limits` (the byte budget of a request), never the gateway. It starts no
//! task except for hashing, and does no I/O except through describers and [`FetchImage`].
//!
//! | module | provides |
//! |---|---|
//! | `engine`, `preview`, `text_only` | the engine and its entry points |
//! | `plan`, `prompts` | which images are described, and with which prompt |
//! | `image_slots`, `image_content` | the images of a request and their content |
//! | `describer`, `single_flight`, `fetch` | calls a describer, at most once per description |
//! | `cache`, `scope`, `shared` | known descriptions: of all requests, of one request, and of other processes |
//! | `marker`, `outcome`, `config` | texts, results and settings |

mod cache;
mod config;
mod describer;
mod engine;
mod fetch;
mod image_content;
mod image_slots;
mod marker;
mod outcome;
mod plan;
mod preview;
mod prompts;
mod scope;
mod shared;
mod single_flight;
mod text_only;

pub use config::{DEFAULT_PROMPT, History, Latest, OnFailure, VisionConfig};
pub use engine::Vision;
pub use fetch::FetchImage;
pub use marker::{MAX_DESCRIPTION_BYTES, OMITTED, UNAVAILABLE};
pub use outcome::{DescribeCall, Described, FROM_CACHE, ImageDisposition, ImageOutcome};
pub use scope::{Scope, UsedDescriptions};
pub use shared::SharedDescriptions;
pub use text_only::{DescribeForTextOnly, Describers};
