//! Draws small pictures, so that image generation can be tried without a model.

use majordomo_llm::Image;

/// Sides that a picture may have.
const MOST_PIXELS: u32 = 2_048;
/// Cells of the pattern in each direction.
const CELLS: u32 = 8;

/// A PNG with a symmetric pattern and a colour, both of which depend only on the seed.
///
/// Sides are limited to 2,048 pixels.
///
/// ```
/// use majordomo_providers::fake::picture;
///
/// let image = picture(7, 64, 32);
/// let header = image.data.header().unwrap();
/// assert_eq!((header.width, header.height), (64, 32));
/// assert_eq!(image, picture(7, 64, 32));
/// assert_ne!(image, picture(8, 64, 32));
/// ```
pub fn picture(seed: u64, width: u32, height: u32) -> Image {
    let (width, height) = (width.clamp(1, MOST_PIXELS), height.clamp(1, MOST_PIXELS));
    let bits = mixed(seed);
    let mut pixels = Vec::new();
    for y in 0..height {
        // No filter; one bit per pixel.
        pixels.push(0);
        let row = y * CELLS / height;
        let mut byte = 0_u8;
        for x in 0..width {
            let column = x * CELLS / width;
            let half = column.min(CELLS - 1 - column);
            let on = bits >> (row * (CELLS / 2) + half) & 1;
            byte = byte << 1 | u8::from(on == 1);
            if x % 8 == 7 {
                pixels.push(byte);
                byte = 0;
            }
        }
        if width % 8 != 0 {
            pixels.push(byte << (8 - width % 8));
        }
    }
    let [red, green, blue, ..] = mixed(bits).to_le_bytes();
    let palette = [250, 250, 245, red / 2 + 32, green / 2 + 32, blue / 2 + 32];
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // One bit, a palette, no interlacing.
    header.extend_from_slice(&[1, 3, 0, 0, 0]);
    let mut png = b"\x89PNG\r\n\x1A\n".to_vec();
    chunk(&mut png, b"IHDR", &header);
    chunk(&mut png, b"PLTE", &palette);
    chunk(&mut png, b"IDAT", &stored(&pixels));
    chunk(&mut png, b"IEND", &[]);
    Image::new("image/png", png)
}

/// The finalizer of SplitMix64.
fn mixed(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    png.extend_from_slice(&length.to_be_bytes());
    let start = png.len();
    png.extend_from_slice(kind);
    png.extend_from_slice(data);
    let crc = crc32(&png[start..]);
    png.extend_from_slice(&crc.to_be_bytes());
}

/// A zlib stream (RFC 1950) of stored blocks (RFC 1951, section 3.2.4).
fn stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = data.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        out.push(u8::from(blocks.peek().is_none()));
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in data {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    out.extend_from_slice(&(b << 16 | a).to_be_bytes());
    out
}

fn crc32(data: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in data {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let bit = crc & 1;
            crc = crc >> 1 ^ (0xedb8_8320 * bit);
        }
    }
    !crc
}

/// A number that depends only on a text (FNV-1a).
pub(super) fn seed_of(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The pictures of a request: the requested number, 64 by 64 pixels unless it has a size.
/// Equal requests get equal pictures.
pub fn pictures(request: &majordomo_llm::ImageRequest) -> Vec<Image> {
    let prompt = request.prompt();
    let n = prompt
        .n
        .map_or(1, std::num::NonZeroU32::get)
        .min(MOST_PICTURES);
    let size = prompt
        .size
        .map_or((64, 64), |size| (size.width(), size.height()));
    let mut seed = seed_of(&prompt.prompt);
    for number in prompt.seed.into_iter().map(i64::cast_unsigned) {
        seed = mixed(seed ^ number);
    }
    let edited = prompt.images.iter().map(|image| image.data.len() as u64);
    let seed = edited.fold(seed, |seed, length| mixed(seed ^ length));
    let seeds = (0..n).map(|number| seed.wrapping_add(number.into()));
    seeds.map(|seed| picture(seed, size.0, size.1)).collect()
}

/// Maximum pictures per call.
const MOST_PICTURES: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_their_specifications() {
        assert_eq!(crc32(b"IEND"), 0xae42_6082);
        let stream = stored(b"Wikipedia");
        assert_eq!(stream[stream.len() - 4..], 0x11e6_0398_u32.to_be_bytes());
    }

    #[test]
    fn sides_are_bounded() {
        let header = picture(1, 0, u32::MAX).data.header().unwrap();
        assert_eq!((header.width, header.height), (1, MOST_PIXELS));
    }
}
