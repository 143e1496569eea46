//! The SIMD level at which code runs.

#[cfg(not(test))]
pub(crate) fn level() -> fearless_simd::Level {
    fearless_simd::Level::new()
}

#[cfg(test)]
pub(crate) use tests::{at_all_levels, level};

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use fearless_simd::Level;
    use majordomo_image_header::measure;

    use crate::webp::lossy_webps;
    use crate::{Chroma, Encoding, Job, Layout, Picture, SizeHint, decode, downscale, encode};

    thread_local! {
        static CHOSEN: Cell<Option<Level>> = const { Cell::new(None) };
    }

    /// The level that a test chose for its thread, or the best available.
    pub(crate) fn level() -> Level {
        CHOSEN.get().unwrap_or_else(Level::new)
    }

    /// Runs `make` at every SIMD level of this machine, the lowest first.
    pub(crate) fn at_all_levels<T>(mut make: impl FnMut() -> T) -> Vec<T> {
        let made = levels().into_iter().map(|level| {
            CHOSEN.set(Some(level));
            make()
        });
        let made = made.collect();
        CHOSEN.set(None);
        made
    }

    /// Every SIMD level of this machine, the lowest first.
    fn levels() -> Vec<Level> {
        let best = Level::new();
        #[cfg(target_arch = "x86_64")]
        let less = [
            best.as_sse2().map(Level::Sse2),
            best.as_sse4_2().map(Level::Sse4_2),
            best.as_avx2().map(Level::Avx2),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let less: [Option<Level>; 0] = [];
        less.into_iter().flatten().chain([best]).collect()
    }

    /// Gradients, edges and noise.
    fn drawn(layout: Layout) -> Picture {
        let (width, height) = (203, 149);
        let mut seed = 3_u32;
        let data = (0..width * height).flat_map(|at| {
            let (x, y) = (at % width, at / width);
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let pixel = match (x / 31 + y / 17) % 3 {
                0 => [x, y * 2, x + y, 255],
                1 => [seed >> 24, seed >> 16, seed >> 8, 255],
                _ => [240, 240, 235, 255],
            };
            let pixel = pixel.map(|value| value as u8);
            pixel.into_iter().take(layout.bytes_per_pixel().unwrap())
        });
        Picture {
            width,
            height,
            layout,
            data: data.collect::<Vec<u8>>().into(),
        }
    }

    /// Decodes, downscales and encodes every format that has SIMD code.
    #[test]
    fn every_simd_level_produces_the_same_file() {
        let job = Job::unlimited();
        let write = |picture: &Picture, encoding| {
            let file = encode(picture, encoding, None, &job).unwrap();
            file.unwrap()
        };
        let mut files = Vec::new();
        for layout in [Layout::Gray, Layout::Rgb, Layout::Rgba] {
            for encoding in [Encoding::Png, Encoding::Jpeg(85)] {
                files.push(write(&drawn(layout), encoding));
            }
        }
        files.extend(lossy_webps());
        for (at, file) in files.iter().enumerate() {
            let header = measure(file).unwrap();
            for side in [200, 90, 30] {
                let shrink = |length: u32| (length * side).div_ceil(header.longer_side()).max(1);
                let size = match side < header.longer_side() {
                    true => (shrink(header.width), shrink(header.height)),
                    false => (header.width, header.height),
                };
                let convert = || {
                    let mut picture =
                        decode(file, &header, SizeHint::ReduceTo(size), Chroma::Half, &job)
                            .unwrap();
                    if (picture.width, picture.height) != size {
                        picture = downscale(&picture, size, Chroma::Half, &job).unwrap();
                    }
                    write(&picture, Encoding::Jpeg(85))
                };
                let made = at_all_levels(convert);
                assert!(
                    made.windows(2).all(|pair| pair[0] == pair[1]),
                    "{at} {side}"
                );
            }
        }
    }
}
