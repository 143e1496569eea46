//! What of a configuration file may not be shown.
//!
//! Secrets are found by where they stand, whatever stands there: [`positions`]
//! walks the parsed file and hides every value whose place may hold one. A file
//! that is no TOML has no places; [`unparsed`] shows only what is known to be
//! harmless. On top of both, [`shape`] knows what secrets look like, for those
//! that were put somewhere else, and [`comments`] are never shown. All of them
//! give spans of the text and know nothing of messages.

pub(super) mod comments;
pub(super) mod names;
pub(super) mod positions;
pub(super) mod shape;
pub(super) mod unparsed;

/// What stands in the place of each character of a secret.
pub(super) const STAR: char = '*';
