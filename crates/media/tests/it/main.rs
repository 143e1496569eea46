//! Fitting of images, through the public interface.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

mod agreement;
mod bombs;
mod decision;
mod fidelity;
mod geometry;
mod malformed;
mod mediagen;
mod ocr;
mod orientation;
mod profiles;
mod properties;
mod repeatable;
mod stopping;
