//! Remote images, fetched safely where a target needs their bytes.
