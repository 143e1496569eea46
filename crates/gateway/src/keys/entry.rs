//! A client key as the configuration declares it.

use std::ops::Range;

use majordomo::dsn::SecretString;

use super::KeyRole;

/// A client key.
#[derive(Clone, Debug)]
pub struct KeyEntry {
    /// The owner's name, used in logs.
    pub name: String,
    /// How the key is recognized.
    pub secret: KeySecret,
    /// What the key may be used for.
    pub role: KeyRole,
    /// The models it may use, as globs; `None` means all.
    pub models: Option<Vec<String>>,
    /// Position of `models`; empty without it.
    pub models_span: Range<usize>,
    /// Position in the file.
    pub span: Range<usize>,
}

/// How a presented key is recognized.
#[derive(Clone, Debug)]
pub enum KeySecret {
    /// By its SHA-256.
    Sha256([u8; 32]),
    /// By its plain text.
    Plain(SecretString),
}
