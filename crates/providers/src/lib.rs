//! Where the contract meets those who answer.
//!
//! One [`transport`] for all, and one thin file per provider; the ones over
//! HTTP are still to come. The [`fake`] provider is public, so that users can
//! test their own code with it.

pub mod fake;
pub mod transport;
