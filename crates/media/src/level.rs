//! Which vector instructions code is compiled for and chosen at run time.

#[cfg(not(test))]
pub(crate) fn level() -> fearless_simd::Level {
    fearless_simd::Level::new()
}

#[cfg(test)]
pub(crate) use tests::{at_all_levels, level};

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use bytes::Bytes;
    use fearless_simd::Level;
    use majordomo_llm::ImageLimits;

    use crate::decode::lossy_webps;
    use crate::encode::{Coding, encode};
    use crate::picture::{Layout, Picture};
    use crate::{Bounds, Stop, Terms, fit_image};

    thread_local! {
        static CHOSEN: Cell<Option<Level>> = const { Cell::new(None) };
    }

    /// What a test has chosen for its thread, or the best there is.
    pub(crate) fn level() -> Level {
        CHOSEN.get().unwrap_or_else(Level::new)
    }

    /// What is made with each kind of vector instructions that this machine has,
    /// the least first.
    pub(crate) fn at_all_levels<T>(mut make: impl FnMut() -> T) -> Vec<T> {
        let made = levels().into_iter().map(|level| {
            CHOSEN.set(Some(level));
            make()
        });
        let made = made.collect();
        CHOSEN.set(None);
        made
    }

    /// All that this machine has, the least first.
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

    /// Slopes, edges and noise.
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
            pixel.into_iter().take(layout.packed().unwrap())
        });
        Picture {
            width,
            height,
            layout,
            data: data.collect(),
        }
    }

    /// Opening, scaling and writing, in every format that has code for vectors.
    #[test]
    fn every_kind_of_vector_instructions_makes_the_same_file() {
        let stop = Stop::new();
        let write = |layout, coding| encode(&drawn(layout), coding, None, &stop);
        let mut files = Vec::new();
        for layout in [Layout::Gray, Layout::Rgb, Layout::Rgba] {
            for coding in [Coding::Png, Coding::Jpeg(85)] {
                files.push(Bytes::from(write(layout, coding).unwrap().unwrap()));
            }
        }
        files.extend(lossy_webps().map(Bytes::from));
        for (at, file) in files.iter().enumerate() {
            for side in [200, 90, 30] {
                let limits = ImageLimits {
                    max_px: Some(side),
                    types: vec!["image/jpeg".to_owned()],
                    ..ImageLimits::default()
                };
                let terms = Terms::of(&limits, 1);
                let fit = || fit_image(file, "", &terms, &Bounds::default(), &stop).unwrap();
                let made = at_all_levels(|| fit().data);
                assert!(
                    made.windows(2).all(|pair| pair[0] == pair[1]),
                    "{at} {side}"
                );
            }
        }
    }
}
