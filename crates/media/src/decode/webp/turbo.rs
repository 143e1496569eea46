//! Still pictures without loss or with transparency by libwebp, behind the
//! feature `turbo`. Our own decoder is faster with the others.

use webp::{BitstreamFeatures, Decoder};

use crate::picture::{Layout, Picture, area};

/// None if there is anything odd about the file: the decoder in pure Rust then
/// says what is damage and what is not, so that both builds take the same files.
pub(super) fn still(data: &[u8], (width, height): (u32, u32)) -> Option<Picture> {
    let features = BitstreamFeatures::new(data)?;
    if (features.width(), features.height()) != (width, height) {
        return None;
    }
    let image = Decoder::new(data).decode()?;
    let layout = if image.is_alpha() {
        Layout::Rgba
    } else {
        Layout::Rgb
    };
    let pixels = image.get(..area(width, height) * layout.packed()?)?;
    Some(Picture {
        width,
        height,
        layout,
        data: pixels.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::any;
    use super::*;
    use crate::Stop;

    fn files() -> [(&'static str, webp::WebPMemory); 3] {
        const SIZE: (u32, u32) = (97, 63);
        let rgba: Vec<u8> = (0..SIZE.0 * SIZE.1)
            .flat_map(|at| {
                let (x, y) = (at % SIZE.0, at / SIZE.0);
                [x * 2, y * 3, x + y, 255 - y].map(|value| value as u8)
            })
            .collect();
        let rgb: Vec<u8> = rgba
            .as_chunks::<4>()
            .0
            .iter()
            .flat_map(|p| [p[0], p[1], p[2]])
            .collect();
        let opaque = webp::Encoder::from_rgb(&rgb, SIZE.0, SIZE.1);
        let clear = webp::Encoder::from_rgba(&rgba, SIZE.0, SIZE.1);
        [
            ("lossless", opaque.encode_lossless()),
            ("lossy with alpha", clear.encode(80.0)),
            ("lossless with alpha", clear.encode_lossless()),
        ]
    }

    /// They differ in how they enlarge the colours.
    #[test]
    fn both_decoders_see_the_same_picture() {
        for (name, data) in files() {
            let size = crate::measure(&data).map(|header| (header.width, header.height));
            let size = size.unwrap();
            let ours = any::still(&data, size, &Stop::new()).unwrap();
            let theirs = still(&data, size).unwrap();
            assert_eq!(ours.layout, theirs.layout, "{name}");
            let pairs = ours.data.iter().zip(&theirs.data);
            let apart: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
            let mean = apart as f64 / ours.data.len() as f64;
            assert!(mean < 2.0, "{name}: {mean}");
        }
    }

    #[test]
    fn a_damaged_or_lying_file_is_left_to_the_other_decoder() {
        let (_, data) = &files()[0];
        assert!(still(&data[..data.len() / 2], (97, 63)).is_none());
        assert!(still(data, (98, 63)).is_none());
    }
}
