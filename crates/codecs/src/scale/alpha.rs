//! Colours weighted by their alpha, as scaling needs them.

/// Multiplies the colours of a row by their alpha.
pub(super) fn premultiply(from: &[u8], to: &mut [u8]) {
    let pixels = from.as_chunks::<4>().0.iter();
    for (&[r, g, b, a], to) in pixels.zip(to.as_chunks_mut::<4>().0) {
        let weighted = |value: u8| {
            // Exact division by 255, rounded (Blinn, "Three Wrongs Make a Right").
            let product = u32::from(value) * u32::from(a) + 128;
            ((product + (product >> 8)) >> 8) as u8
        };
        *to = [weighted(r), weighted(g), weighted(b), a];
    }
}

/// Divides the colours of a row by their alpha; transparent pixels become black.
pub(super) fn unpremultiply(row: &mut [u8]) {
    for pixel in row.as_chunks_mut::<4>().0 {
        let [r, g, b, a] = *pixel;
        if a == 255 {
            continue;
        }
        let divided = |value: u8| {
            let exact = (u32::from(value) * 255 + u32::from(a) / 2).checked_div(u32::from(a));
            exact.unwrap_or(0).min(255) as u8
        };
        *pixel = [divided(r), divided(g), divided(b), a];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplication_rounds_to_the_nearest_and_division_reverses_it() {
        for alpha in 0..=255_u8 {
            for value in 0..=255_u8 {
                let mut pixel = [0; 4];
                premultiply(&[value, value, value, alpha], &mut pixel);
                let exact = f64::from(value) * f64::from(alpha) / 255.0;
                assert_eq!(f64::from(pixel[0]), exact.round(), "{value} {alpha}");
                unpremultiply(&mut pixel);
                let lost = 255 / u16::from(alpha.max(1)) / 2 + 1;
                let apart = u16::from(pixel[0].abs_diff(value));
                assert!(alpha == 0 || apart <= lost, "{value} {alpha}: {pixel:?}");
            }
        }
    }
}
