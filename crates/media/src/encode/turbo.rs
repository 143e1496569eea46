//! JPEG by libjpeg-turbo, behind the feature `turbo`.

use std::borrow::Cow;

use turbojpeg::{Compressor, Image, OwnedBuf, PixelFormat, Subsamp, YuvPlanesImage};

use crate::picture::{Layout, Picture, Plane};

/// The file; none if the picture is of a kind that is left to our own encoder.
pub(super) fn encode(picture: &Picture, quality: u8) -> Option<OwnedBuf> {
    let mut encoder = Compressor::new().ok()?;
    encoder.set_quality(i32::from(quality)).ok()?;
    let (width, height) = (picture.width as usize, picture.height as usize);
    let (format, subsampling) = match picture.layout {
        Layout::Gray => (PixelFormat::GRAY, Subsamp::Gray),
        Layout::Rgb => (PixelFormat::RGB, Subsamp::Sub2x2),
        Layout::Rgbx | Layout::Rgba => (PixelFormat::RGBX, Subsamp::Sub2x2),
        Layout::Planes(_) => return planes(&mut encoder, picture),
    };
    encoder.set_subsamp(subsampling).ok()?;
    let image = Image {
        pixels: picture.data.as_slice(),
        width,
        pitch: width * format.size(),
        height,
        format,
    };
    encoder.compress_to_owned(image).ok()
}

/// Planes as they are, where colours have half the size already.
fn planes(encoder: &mut Compressor, picture: &Picture) -> Option<OwnedBuf> {
    let [y, cb, cr] = picture.planes()?;
    let half = (y.width.div_ceil(2), y.height.div_ceil(2));
    if (cb.width, cb.height) != half {
        return None;
    }
    let padded = even(y);
    let stride = half.0 as usize;
    let image = YuvPlanesImage {
        y_plane: &*padded,
        u_plane: cb.data,
        v_plane: cr.data,
        width: y.width as usize,
        height: y.height as usize,
        y_stride: stride * 2,
        u_stride: stride,
        v_stride: stride,
        subsamp: Subsamp::Sub2x2,
    };
    encoder.compress_yuv_planes_to_owned(&image).ok()
}

/// The plane with its last column and row repeated where they have no pair.
fn even(plane: Plane<'_>) -> Cow<'_, [u8]> {
    let (width, height) = (plane.width as usize, plane.height as usize);
    if width.is_multiple_of(2) && height.is_multiple_of(2) {
        return Cow::Borrowed(plane.data);
    }
    let stride = width.next_multiple_of(2);
    let mut out = Vec::with_capacity(stride * height.next_multiple_of(2));
    for row in plane.data.chunks_exact(width) {
        out.extend_from_slice(row);
        out.extend(row.last().filter(|_| stride > width));
    }
    if !height.is_multiple_of(2) {
        out.extend_from_within(out.len() - stride..);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Purpose, decode};
    use crate::encode::jpeg::encode_purely;
    use crate::picture::{Chroma, area};
    use crate::{Stop, measure};

    fn picture(width: u32, height: u32, layout: Layout) -> Picture {
        let length = match layout {
            Layout::Planes(chroma) => area(width, height) + 2 * area(chroma.width, chroma.height),
            packed => area(width, height) * packed.packed().unwrap(),
        };
        // A slope: what a wrong stride or plane does to it is plain to see.
        let data = (0..length).map(|at| (at * 7 / width as usize % 256) as u8);
        Picture {
            width,
            height,
            layout,
            data: data.collect(),
        }
    }

    #[test]
    fn both_encoders_write_the_same_picture_in_about_as_many_bytes() {
        for (width, height) in [(160_u32, 96_u32), (161, 97), (16, 1), (1, 1)] {
            let half = Chroma {
                width: width.div_ceil(2),
                height: height.div_ceil(2),
            };
            for layout in [
                Layout::Gray,
                Layout::Rgb,
                Layout::Rgbx,
                Layout::Planes(half),
            ] {
                let picture = picture(width, height, layout);
                for quality in [85, 30] {
                    let theirs = encode(&picture, quality).unwrap();
                    let mut ours = Vec::new();
                    encode_purely(&picture, quality, &mut ours).unwrap();
                    let name = format!("{width}×{height} {layout:?} of {quality}");
                    assert!(
                        // A tenth, and what their headers differ in.
                        ours.len().abs_diff(theirs.len()) <= ours.len() / 10 + 100,
                        "{name}: {} and {} bytes",
                        ours.len(),
                        theirs.len()
                    );
                    let open = |data: &[u8]| {
                        let header = measure(data).unwrap();
                        let picture = decode(
                            data,
                            &header,
                            Purpose::Shared((width, height)),
                            &Stop::new(),
                        );
                        picture.unwrap().packed().into_owned().data
                    };
                    let (ours, theirs) = (open(&ours), open(&theirs));
                    let pairs = ours.iter().zip(&theirs);
                    let apart: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
                    let mean = apart as f64 / ours.len() as f64;
                    assert!(mean < 3.0, "{name}: {mean}");
                }
            }
        }
    }

    #[test]
    fn colours_of_another_size_are_left_to_the_own_encoder() {
        let whole = Chroma {
            width: 32,
            height: 32,
        };
        assert!(encode(&picture(32, 32, Layout::Planes(whole)), 85).is_none());
    }
}
