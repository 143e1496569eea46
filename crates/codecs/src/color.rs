//! ICC profiles: pixels in other colour spaces are converted to sRGB.
//!
//! Consumers that ignore profiles would see wide-gamut images as pale. A profile that
//! cannot be applied is ignored.

use std::sync::Arc;

use majordomo_image_header::{Format, jpeg, png, webp};
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use moxcms::{
    ColorProfile, DataColorSpace, Layout as Channels, TransformExecutor, TransformOptions,
};

use crate::picture::{Layout, Picture};
use crate::{CodecError, Job};

/// Real profiles have kilobytes; larger ones are ignored like malformed ones.
const MAX_PROFILE: usize = 1 << 20;
/// The memory that a transform may allocate: its tables, and the profile as floating-point
/// numbers.
const TRANSFORM_BYTES: usize = 8 << 20;
/// Pixels transformed at once.
const CHUNK: usize = 4 << 10;
/// Bytes copied between two polls of the stop flag.
const COPIED: usize = 4 << 20;
/// Levels by which a profile may differ from sRGB and still count as sRGB.
const TOLERANCE: u8 = 2;

/// The embedded ICC profile, if its size is plausible.
pub fn color_profile(data: &[u8], format: Format) -> Option<Vec<u8>> {
    match format {
        Format::Jpeg => jpeg_profile(data),
        Format::Png => png_profile(data),
        Format::Webp => webp_profile(data).map(<[u8]>::to_vec),
        _ => None,
    }
}

/// Joins the APP2 segments of a profile in the order of their sequence numbers
/// (ICC.1, Annex B.4).
fn jpeg_profile(data: &[u8]) -> Option<Vec<u8>> {
    const APP2: u8 = 0xE2;
    let mut parts: Vec<(u8, &[u8])> = jpeg::segments(data)
        .filter(|(marker, _)| *marker == APP2)
        .filter_map(|(_, body)| {
            let part = body.strip_prefix(b"ICC_PROFILE\0")?;
            Some((*part.first()?, part.get(2..)?))
        })
        .collect();
    parts.sort_by_key(|(number, _)| *number);
    let size: usize = parts.iter().map(|(_, part)| part.len()).sum();
    let sane = (1..=MAX_PROFILE).contains(&size);
    sane.then(|| {
        parts
            .into_iter()
            .flat_map(|(_, part)| part)
            .copied()
            .collect()
    })
}

/// Whether a profile's header names this colour space of the file (ICC.1, 7.2.6).
fn is_of(profile: &[u8], space: &[u8; 4]) -> bool {
    profile.get(16..20) == Some(space)
}

/// Inflates `iCCP` with a size limit: the chunk may be a decompression bomb. A profile must
/// match the colour type (PNG specification, 11.3.2.3); another one is ignored.
fn png_profile(data: &[u8]) -> Option<Vec<u8>> {
    let (_, header, _) = png::chunks(data).next()?;
    let space = match header.get(9)? {
        0 | 4 => b"GRAY",
        _ => b"RGB ",
    };
    let (_, body, _) = png::chunks(data)
        .take_while(|(name, ..)| name != b"IDAT")
        .find(|(name, ..)| name == b"iCCP")?;
    let name_end = body.iter().take(80).position(|byte| *byte == 0)?;
    let packed = body.get(name_end + 2..)?;
    let profile = decompress_to_vec_zlib_with_limit(packed, MAX_PROFILE).ok()?;
    is_of(&profile, space).then_some(profile)
}

fn webp_profile(data: &[u8]) -> Option<&[u8]> {
    let (_, body) = webp::file_chunks(data).find(|(name, _)| name == b"ICCP")?;
    (body.len() <= MAX_PROFILE && is_of(body, b"RGB ")).then_some(body)
}

/// Converts to sRGB; `None` if that changes nothing.
///
/// A gray profile is applied to gray pictures, and to those with four channels, whose pixels
/// must be gray.
pub fn to_srgb(
    picture: &Picture,
    profile: &[u8],
    job: &Job,
) -> Result<Option<Picture>, CodecError> {
    let wanted = match picture.layout {
        Layout::Gray => DataColorSpace::Gray,
        _ => DataColorSpace::Rgb,
    };
    // Tables that the transform builds from a profile of the largest size.
    let _tables = job.memory.reserve(TRANSFORM_BYTES)?;
    let Some(transform) = Transform::new(profile, wanted, picture.layout) else {
        return Ok(None);
    };
    if transform.is_identity(picture.layout) {
        return Ok(None);
    }
    let mut converted = match picture.to_interleaved(job)? {
        Some(rgb) => rgb,
        None => {
            let mut data = job.memory.with_room(picture.data.len())?;
            for part in picture.data.chunks(COPIED) {
                job.check()?;
                data.append(part)?;
            }
            Picture { data, ..*picture }
        }
    };
    let pixel = converted.layout.bytes_per_pixel().unwrap_or(3);
    let mut before = [0; CHUNK * 4];
    for chunk in converted.data.chunks_mut(CHUNK * pixel) {
        job.check()?;
        let before = &mut before[..chunk.len()];
        before.copy_from_slice(chunk);
        transform.apply(before, chunk);
    }
    Ok(Some(converted))
}

/// Converts CMYK to sRGB in place: pixels of four bytes become pixels of three at the
/// start of the buffer. `None` if the profile cannot be applied.
pub(crate) fn cmyk_to_srgb(
    data: &mut [u8],
    profile: &[u8],
    job: &Job,
) -> Result<Option<()>, CodecError> {
    let _tables = job.memory.reserve(TRANSFORM_BYTES)?;
    let Some(transform) = Transform::new(profile, DataColorSpace::Cmyk, Layout::Rgb) else {
        return Ok(None);
    };
    let mut rgb = [0; CHUNK * 3];
    let pixels = data.len() / 4;
    for start in (0..pixels).step_by(CHUNK) {
        job.check()?;
        let count = CHUNK.min(pixels - start);
        let rgb = &mut rgb[..count * 3];
        transform.apply(&data[start * 4..(start + count) * 4], rgb);
        data[start * 3..(start + count) * 3].copy_from_slice(rgb);
    }
    Ok(Some(()))
}

/// A transform to sRGB, or to gray with the transfer curve of sRGB.
enum Transform {
    Pixels(Arc<dyn TransformExecutor<u8> + Send + Sync>),
    /// Of gray that is stored in three channels beside alpha.
    GrayCurve(Box<[u8; 256]>),
}

impl Transform {
    /// `None` for a malformed profile, and for one of another colour space.
    fn new(profile: &[u8], wanted: DataColorSpace, layout: Layout) -> Option<Self> {
        let source = ColorProfile::new_from_slice(profile).ok()?;
        if source.color_space == wanted {
            return Self::of_pixels(&source, layout);
        }
        let has_gray = source.color_space == DataColorSpace::Gray
            && matches!(layout, Layout::Rgba | Layout::Rgbx);
        has_gray.then(|| Self::of_gray(&source))?
    }

    fn of_gray(source: &ColorProfile) -> Option<Self> {
        let mut levels = [0; 256];
        for (level, value) in levels.iter_mut().zip(0..=255) {
            *level = value;
        }
        let mut curve = Box::new([0; 256]);
        Self::of_pixels(source, Layout::Gray)?.apply(&levels, &mut curve[..]);
        Some(Self::GrayCurve(curve))
    }

    fn of_pixels(source: &ColorProfile, layout: Layout) -> Option<Self> {
        let to = match layout {
            Layout::Gray => Channels::Gray,
            Layout::Rgb | Layout::YCbCr(_) => Channels::Rgb,
            Layout::Rgba | Layout::Rgbx => Channels::Rgba,
        };
        let from = match source.color_space {
            // Four samples, like RGBA.
            DataColorSpace::Cmyk => Channels::Rgba,
            _ => to,
        };
        let mut target = ColorProfile::new_srgb();
        if layout == Layout::Gray {
            let curve = target.red_trc.take();
            target = ColorProfile::new_gray_with_gamma(2.2);
            target.gray_trc = curve;
        }
        let options = TransformOptions::default();
        let transform = source.create_transform_8bit(from, &target, to, options);
        transform.ok().map(Self::Pixels)
    }

    /// Pixels that cannot be transformed are not changed.
    fn apply(&self, from: &[u8], to: &mut [u8]) {
        match self {
            Self::Pixels(transform) => {
                if transform.transform(from, to).is_err() {
                    let length = from.len().min(to.len());
                    to[..length].copy_from_slice(&from[..length]);
                }
            }
            Self::GrayCurve(curve) => {
                let pixels = from.as_chunks::<4>().0;
                for (to, &[r, g, b, alpha]) in to.as_chunks_mut().0.iter_mut().zip(pixels) {
                    let [r, g, b] = [r, g, b].map(|level| curve[usize::from(level)]);
                    *to = [r, g, b, alpha];
                }
            }
        }
    }

    /// Whether primaries and transfer curves are those of sRGB, so that no colour would change
    /// visibly. The name of a profile is unreliable: Display P3 profiles mention sRGB, too.
    fn is_identity(&self, layout: Layout) -> bool {
        const LEVELS: [u8; 6] = [0, 51, 102, 153, 204, 255];
        let mut samples = Vec::with_capacity(LEVELS.len().pow(3) * 4);
        for red in LEVELS {
            for green in LEVELS {
                for blue in LEVELS {
                    match layout {
                        Layout::Gray => samples.push(red),
                        Layout::Rgb | Layout::YCbCr(_) => samples.extend([red, green, blue]),
                        Layout::Rgba | Layout::Rgbx => samples.extend([red, green, blue, 255]),
                    }
                }
            }
        }
        let mut converted = vec![0; samples.len()];
        self.apply(&samples, &mut converted);
        let pairs = samples.iter().zip(&converted);
        pairs.map(|(a, b)| a.abs_diff(*b)).max() <= Some(TOLERANCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moxcms::{LocalizableString, ProfileText};

    fn picture(layout: Layout) -> Picture {
        let pixel = layout.bytes_per_pixel().unwrap();
        let color = [200, 80, 60, 255];
        Picture {
            width: 40,
            height: 3,
            layout,
            data: color[..pixel].repeat(120).into(),
        }
    }

    fn converted(profile: &ColorProfile, layout: Layout) -> Option<Vec<u8>> {
        let profile = profile.encode().unwrap();
        let converted = to_srgb(&picture(layout), &profile, &Job::unlimited()).unwrap();
        converted.map(|picture| picture.data[..picture.layout.bytes_per_pixel().unwrap()].to_vec())
    }

    fn named(mut profile: ColorProfile, name: &str) -> ColorProfile {
        let text = LocalizableString::new("en".into(), "US".into(), name.into());
        profile.description = Some(ProfileText::Localizable(vec![text]));
        profile
    }

    #[test]
    fn a_profile_is_judged_by_primaries_and_curve_and_not_by_its_name() {
        let p3 = named(
            ColorProfile::new_display_p3(),
            "Display P3 Gamut with sRGB Transfer",
        );
        let mut linear = named(ColorProfile::new_srgb(), "e-sRGB");
        linear.cicp = None;
        let curve = moxcms::curve_from_gamma(1.0);
        linear.red_trc = Some(curve.clone());
        linear.green_trc = Some(curve.clone());
        linear.blue_trc = Some(curve);
        let plain = named(ColorProfile::new_srgb(), "c2");
        for layout in [Layout::Rgb, Layout::Rgbx] {
            let wide = converted(&p3, layout).unwrap();
            assert!(wide[0] > 208 && wide[1] < 78 && wide[2] < 58, "{wide:?}");
            let bright = converted(&linear, layout).unwrap();
            assert!(bright[1] > 140, "{bright:?}");
            assert_eq!(converted(&plain, layout), None);
        }
    }

    #[test]
    fn gray_is_converted_to_the_curve_of_srgb() {
        let mut same = ColorProfile::new_gray_with_gamma(2.2);
        same.gray_trc = ColorProfile::new_srgb().red_trc;
        assert_eq!(converted(&same, Layout::Gray), None);
        let linear = ColorProfile::new_gray_with_gamma(1.0);
        let bright = converted(&linear, Layout::Gray).unwrap();
        // 200 / 255 of the light, by IEC 61966-2-1.
        assert!(bright[0].abs_diff(228) <= 1, "{bright:?}");
        // In four channels: by the light of each, and alpha stays.
        let bright = converted(&linear, Layout::Rgba).unwrap();
        for (value, wanted) in bright.iter().zip([228, 151, 132, 255]) {
            assert!(value.abs_diff(wanted) <= 1, "{bright:?}");
        }
        assert_eq!(converted(&same, Layout::Rgba), None);
        assert_eq!(converted(&linear, Layout::Rgb), None);
    }
}
