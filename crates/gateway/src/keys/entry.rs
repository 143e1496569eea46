//! A client key as the configuration declares it.

use std::ops::Range;

use majordomo::SecretString;

use super::Role;

/// One client's key.
#[derive(Clone, Debug)]
pub struct KeyEntry {
    /// Whose it is; told in logs.
    pub name: String,
    /// How it is recognised.
    pub secret: KeySecret,
    /// What it is for.
    pub role: Role,
    /// The models that it may ask for, globs allowed; none means all of them.
    pub models: Option<Vec<String>>,
    /// Where the entry stands.
    pub span: Range<usize>,
}

/// How a presented key is recognised.
#[derive(Clone, Debug)]
pub enum KeySecret {
    /// By its SHA-256.
    Sha256([u8; 32]),
    /// By itself.
    Plain(SecretString),
}
