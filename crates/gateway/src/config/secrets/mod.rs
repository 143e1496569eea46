//! Finds the parts of a configuration file that must not be displayed.
//!
//! Secrets are recognized by position: [`positions`] walks the parsed file and masks
//! every value whose place may hold one. A file that is not valid TOML has no positions;
//! [`unparsed`] displays only what is known to be harmless. In addition, [`patterns`]
//! recognizes misplaced secrets by their form, and [`comments`] are never displayed. All
//! of them return spans and know nothing about diagnostics. Uses no sibling module.

pub(super) mod comments;
pub(super) mod names;
pub(super) mod patterns;
pub(super) mod positions;
pub(super) mod unparsed;

/// Replaces each character of a secret.
pub(super) const STAR: char = '*';
