//! Pixels as their differences from a prediction (section 4).

use super::Residual;
use crate::picture::{Layout, Picture};
use crate::{CodecError, Job};

/// The prediction of the first pixel.
const BLACK: Residual = [0, 0, 0, 255];

/// Calls `take` with the residuals of each row: those of the first from the left, those of the
/// others from above. Green is subtracted from red and blue before.
pub(super) fn for_each_row(
    picture: &Picture,
    job: &Job,
    mut take: impl FnMut(&[Residual]) -> Result<(), CodecError>,
) -> Result<(), CodecError> {
    let width = picture.width as usize;
    let mut rgb = job.memory.zeroed::<u8>(width * 3)?;
    let mut above = job.memory.zeroed::<Residual>(width)?;
    let mut residuals = job.memory.zeroed::<Residual>(width)?;
    for row in 0..picture.height {
        job.check()?;
        if picture.layout == Layout::Rgba {
            let start = row as usize * width;
            let pixels = &picture.data.as_chunks::<4>().0[start..start + width];
            residuals.copy_from_slice(pixels);
        } else {
            picture.rgb_row(row, &mut rgb);
            for (pixel, [red, green, blue]) in residuals.iter_mut().zip(rgb.as_chunks().0) {
                *pixel = [*red, *green, *blue, 255];
            }
        }
        let mut left = BLACK;
        for (pixel, above) in residuals.iter_mut().zip(&mut above[..]) {
            let [red, green, blue, alpha] = *pixel;
            let value = [
                red.wrapping_sub(green),
                green,
                blue.wrapping_sub(green),
                alpha,
            ];
            let predicted = if row == 0 { left } else { *above };
            *pixel = std::array::from_fn(|at| value[at].wrapping_sub(predicted[at]));
            (left, *above) = (value, value);
        }
        take(&residuals)?;
    }
    Ok(())
}
