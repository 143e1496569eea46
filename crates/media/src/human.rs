//! Sizes in human-readable form.

use std::fmt;

/// `3.7 MB`, `12 kB`, `80 B`.
pub(crate) fn human_bytes(count: u64) -> String {
    let count_f = count as f64;
    match count {
        0..1_000 => format!("{count} B"),
        1_000..100_000 => format!("{} kB", short(count_f / 1e3)),
        _ => format!("{} MB", short(count_f / 1e6)),
    }
}

/// `12.5 megapixels`.
pub(crate) fn human_megapixels(count: u64) -> String {
    format!("{} megapixels", short(count as f64 / 1e6))
}

/// One decimal below ten.
fn short(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// `4000×3000`.
pub(crate) struct Dimensions(pub(crate) u32, pub(crate) u32);

impl fmt::Display for Dimensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_format_in_human_units() {
        for (count, text) in [
            (80, "80 B"),
            (4_200, "4.2 kB"),
            (34_000, "34 kB"),
            (300_000, "0.3 MB"),
            (3_650_000, "3.6 MB"),
            (268_435_456, "268 MB"),
        ] {
            assert_eq!(human_bytes(count), text);
        }
    }
}
