//! Scanline filters (PNG specification, section 9).

/// Reverses a filter in place; `None` for an unknown filter type.
///
/// `N` is the size of a pixel, `M` that of eight. Both rows have the same length; the row
/// above the first is all zeros.
#[inline(always)]
pub(super) fn unfilter<const N: usize, const M: usize>(
    filter: u8,
    above: Option<&[u8]>,
    row: &mut [u8],
) -> Option<()> {
    let Some(above) = above else {
        match filter {
            0 | 2 => {}
            // Below zeros, the Paeth predictor is the left pixel.
            1 | 4 => sub::<N, M>(row),
            3 => average_below_zeros::<N>(row),
            _ => return None,
        }
        return Some(());
    };
    match filter {
        0 => {}
        1 => sub::<N, M>(row),
        2 => up(above, row),
        3 => average::<N>(above, row),
        4 => paeth::<N, M>(above, row),
        _ => return None,
    }
    Some(())
}

fn add<const N: usize>(left: &mut [u8; N], pixel: &mut [u8; N]) {
    for (left, value) in left.iter_mut().zip(pixel) {
        *left = left.wrapping_add(*value);
        *value = *left;
    }
}

/// Filter type 1: difference to the left pixel.
#[inline(always)]
fn sub<const N: usize, const M: usize>(row: &mut [u8]) {
    let mut left = [0; N];
    let (eights, rest) = row.as_chunks_mut::<M>();
    for eight in eights {
        sub_eight_pixels(&mut left, eight);
    }
    for pixel in rest.as_chunks_mut::<N>().0 {
        add(&mut left, pixel);
    }
}

#[inline(always)]
fn sub_eight_pixels<const N: usize, const M: usize>(left: &mut [u8; N], eight: &mut [u8; M]) {
    let same = *eight == [0; M];
    let pixels = eight.as_chunks_mut::<N>().0;
    if same {
        pixels.fill(*left);
    } else {
        for pixel in pixels {
            add(left, pixel);
        }
    }
}

/// Filter type 2: difference to the pixel above.
#[inline(always)]
fn up(above: &[u8], row: &mut [u8]) {
    for (value, above) in row.iter_mut().zip(above) {
        *value = value.wrapping_add(*above);
    }
}

/// Filter type 3: difference to the average of both.
#[inline(always)]
fn average<const N: usize>(above: &[u8], row: &mut [u8]) {
    let mut left = [0_u8; N];
    let pixels = row.as_chunks_mut::<N>().0;
    for (pixel, above) in pixels.iter_mut().zip(above.as_chunks::<N>().0) {
        for channel in 0..N {
            let mean = (u16::from(left[channel]) + u16::from(above[channel])) / 2;
            pixel[channel] = pixel[channel].wrapping_add(mean as u8);
        }
        left = *pixel;
    }
}

fn average_below_zeros<const N: usize>(row: &mut [u8]) {
    let mut left = [0_u8; N];
    for pixel in row.as_chunks_mut::<N>().0 {
        for (value, left) in pixel.iter_mut().zip(left) {
            *value = value.wrapping_add(left / 2);
        }
        left = *pixel;
    }
}

/// Filter type 4: difference to the Paeth predictor.
#[inline(always)]
fn paeth<const N: usize, const M: usize>(above: &[u8], row: &mut [u8]) {
    let (mut left, mut upper_left) = ([0; N], [0; N]);
    let (eights, rest) = row.as_chunks_mut::<M>();
    let (eights_above, rest_above) = above.as_chunks::<M>();
    let mut place = 0_usize;
    for (eight, above_eight) in eights.iter_mut().zip(eights_above) {
        // Where the row above is constant, the predictor is the left pixel.
        let before = place.checked_sub(N);
        let upper_left_eight = before.and_then(|at| above.get(at..)?.first_chunk::<M>());
        if upper_left_eight == Some(above_eight) {
            sub_eight_pixels(&mut left, eight);
        } else {
            let pixels = eight.as_chunks_mut::<N>().0;
            paeth_pixels(&mut left, &mut upper_left, above_eight, pixels);
        }
        if let Some(last) = above_eight.last_chunk() {
            upper_left = *last;
        }
        place += M;
    }
    paeth_pixels(
        &mut left,
        &mut upper_left,
        rest_above,
        rest.as_chunks_mut().0,
    );
}

#[inline(always)]
fn paeth_pixels<const N: usize>(
    left: &mut [u8; N],
    upper_left: &mut [u8; N],
    above: &[u8],
    pixels: &mut [[u8; N]],
) {
    for (pixel, above) in pixels.iter_mut().zip(above.as_chunks::<N>().0) {
        for channel in 0..N {
            let near = paeth_predictor(left[channel], above[channel], upper_left[channel]);
            pixel[channel] = pixel[channel].wrapping_add(near);
        }
        (*left, *upper_left) = (*pixel, *above);
    }
}

/// PaethPredictor (section 9.4) without absolute values: the smaller of left and above if
/// `upper_left` exceeds both by enough, the larger if it is below both by enough, otherwise
/// `upper_left`.
#[inline(always)]
fn paeth_predictor(left: u8, above: u8, upper_left: u8) -> u8 {
    let [a, b, c] = [left, above, upper_left].map(i16::from);
    let bend = c * 3 - (a + b);
    let (low, high) = (a.min(b), a.max(b));
    let near = if high <= bend { low } else { c };
    (if bend <= low { high } else { near }) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paeth_predictor_matches_its_definition() {
        for a in (0..=255).step_by(3) {
            for b in (0..=255).step_by(5) {
                for c in (0..=255).step_by(2) {
                    let plane = i32::from(a) + i32::from(b) - i32::from(c);
                    let far = |value: u8| (plane - i32::from(value)).abs();
                    // Ties go to the first of these.
                    let wanted = [a, b, c].into_iter().min_by_key(|value| far(*value));
                    assert_eq!(Some(paeth_predictor(a, b, c)), wanted, "{a} {b} {c}");
                }
            }
        }
    }
}
