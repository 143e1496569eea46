//! Generated images: valid ones by encoders, malformed ones by hand.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "test support, of which each test binary uses a part"
)]

pub mod forge;
pub mod webp;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jpeg_encoder::{ColorType as JpegColor, Encoder as JpegEncoder, SamplingFactor};
use majordomo_llm::{ImageLimits, Part, Request};
use majordomo_media::{Bounds, Fitted, Problem, Stop, Terms, fit_image};

/// A picture as a function from position to colour.
pub type Draw = fn(u32, u32) -> [u8; 3];

/// Smooth, like a photograph of the sky.
pub fn smooth(x: u32, y: u32) -> [u8; 3] {
    let wave = |a: f64, b: f64| {
        let value = (f64::from(x) * a + f64::from(y) * b).sin() * 100.0 + 128.0;
        value as u8
    };
    [wave(0.013, 0.007), wave(0.005, 0.017), wave(0.011, -0.009)]
}

/// Noise that no codec compresses.
pub fn noise(x: u32, y: u32) -> [u8; 3] {
    let mut state = (u64::from(x) << 32 | u64::from(y)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    state ^= state >> 29;
    state = state.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state ^= state >> 32;
    let [r, g, b, ..] = state.to_le_bytes();
    [r, g, b]
}

/// Flat areas with thin lines, like a window of text.
pub fn screen(x: u32, y: u32) -> [u8; 3] {
    let line = y % 16 < 2 && !(x / 5 + y / 16).is_multiple_of(3) && x % 100 > 20;
    if line { [20, 20, 30] } else { [250, 250, 245] }
}

pub fn rgb(width: u32, height: u32, draw: Draw) -> Vec<u8> {
    (0..height)
        .flat_map(|y| (0..width).flat_map(move |x| draw(x, y)))
        .collect()
}

pub fn jpeg(width: u32, height: u32, draw: Draw) -> Bytes {
    jpeg_with(width, height, draw, |_| {})
}

pub fn jpeg_with(
    width: u32,
    height: u32,
    draw: Draw,
    set: impl FnOnce(&mut JpegEncoder<&mut Vec<u8>>),
) -> Bytes {
    jpeg_of(&rgb(width, height, draw), (width, height), set)
}

pub fn jpeg_of(
    pixels: &[u8],
    (width, height): (u32, u32),
    set: impl FnOnce(&mut JpegEncoder<&mut Vec<u8>>),
) -> Bytes {
    let mut out = Vec::new();
    let mut encoder = JpegEncoder::new(&mut out, 90);
    encoder.set_sampling_factor(SamplingFactor::R_4_2_0);
    set(&mut encoder);
    encoder
        .encode(pixels, width as u16, height as u16, JpegColor::Rgb)
        .unwrap();
    out.into()
}

/// An EXIF block with an orientation and extra bytes.
pub fn exif(orientation: u8, more: &[u8]) -> Vec<u8> {
    let mut block = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0".to_vec();
    block[19] = orientation;
    block.extend_from_slice(more);
    block
}

pub fn png(width: u32, height: u32, draw: Draw) -> Bytes {
    png_of(
        width,
        height,
        png::ColorType::Rgb,
        png::BitDepth::Eight,
        &rgb(width, height, draw),
    )
}

pub fn png_of(
    width: u32,
    height: u32,
    color: png::ColorType,
    depth: png::BitDepth,
    data: &[u8],
) -> Bytes {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.set_compression(png::Compression::Fast);
    if color == png::ColorType::Indexed {
        let palette: Vec<u8> = (0..=255).flat_map(|v| [v, 255 - v, v / 2]).collect();
        let entries = 3 << depth as u8;
        encoder.set_palette(palette[..entries].to_vec());
    }
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(data).unwrap();
    writer.finish().unwrap();
    out.into()
}

pub fn rgba_png(width: u32, height: u32, pixel: impl Fn(u32, u32) -> [u8; 4]) -> Bytes {
    let pixel = &pixel;
    let data: Vec<u8> = (0..height)
        .flat_map(|y| (0..width).flat_map(move |x| pixel(x, y)))
        .collect();
    let (color, depth) = (png::ColorType::Rgba, png::BitDepth::Eight);
    png_of(width, height, color, depth, &data)
}

/// A GIF of full frames, each of one colour.
pub fn gif(width: u16, height: u16, frames: &[[u8; 3]]) -> Bytes {
    let palette: Vec<u8> = frames.concat();
    let mut out = Vec::new();
    let mut encoder = gif::Encoder::new(&mut out, width, height, &palette).unwrap();
    for index in 0..frames.len() {
        let pixels = vec![index as u8; usize::from(width) * usize::from(height)];
        let frame = gif::Frame::from_indexed_pixels(width, height, pixels, None);
        encoder.write_frame(&frame).unwrap();
    }
    drop(encoder);
    out.into()
}

/// A picture decoded to RGB by decoders that are not under test.
pub struct Opened {
    pub width: u32,
    pub height: u32,
    pub rgb: Vec<u8>,
}

impl Opened {
    pub fn at(&self, x: u32, y: u32) -> [u8; 3] {
        let at = (y * self.width + x) as usize * 3;
        [self.rgb[at], self.rgb[at + 1], self.rgb[at + 2]]
    }

    /// The mean absolute difference of all channels.
    pub fn distance(&self, other: &[u8]) -> f64 {
        assert_eq!(self.rgb.len(), other.len());
        let pairs = self.rgb.iter().zip(other);
        let sum: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        sum as f64 / self.rgb.len() as f64
    }
}

/// Decodes an 8-bit image without transparency, the first frame of a GIF.
pub fn open(data: &[u8]) -> Opened {
    if data.starts_with(b"GIF8") {
        return open_gif(data);
    }
    if data.starts_with(b"RIFF") {
        return open_webp(data);
    }
    if data.starts_with(b"\x89PNG") {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(data));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let rgb = match info.color_type {
            png::ColorType::Rgb => pixels,
            png::ColorType::Rgba => pixels.chunks(4).flat_map(|p| [p[0], p[1], p[2]]).collect(),
            png::ColorType::Grayscale => pixels.iter().flat_map(|v| [*v; 3]).collect(),
            other => panic!("{other:?}"),
        };
        return Opened {
            width: info.width,
            height: info.height,
            rgb,
        };
    }
    let options = zune_core::options::DecoderOptions::default()
        .jpeg_set_out_colorspace(zune_core::colorspace::ColorSpace::RGB);
    let cursor = zune_core::bytestream::ZCursor::new(data);
    let mut decoder = zune_jpeg::JpegDecoder::new_with_options(cursor, options);
    let rgb = decoder.decode().unwrap();
    let (width, height) = decoder.dimensions().unwrap();
    Opened {
        width: width as u32,
        height: height as u32,
        rgb,
    }
}

fn open_gif(data: &[u8]) -> Opened {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(data).unwrap();
    let frame = decoder.read_next_frame().unwrap().unwrap();
    let pixels = frame.buffer.chunks(4);
    Opened {
        width: u32::from(frame.width),
        height: u32::from(frame.height),
        rgb: pixels.flat_map(|p| [p[0], p[1], p[2]]).collect(),
    }
}

fn open_webp(data: &[u8]) -> Opened {
    let mut decoder = image_webp::WebPDecoder::new(std::io::Cursor::new(data)).unwrap();
    let (width, height) = decoder.dimensions();
    let mut pixels = vec![0; decoder.output_buffer_size().unwrap()];
    decoder.read_image(&mut pixels).unwrap();
    let pixel = if decoder.has_alpha() { 4 } else { 3 };
    let rgb = pixels.chunks(pixel).flat_map(|p| [p[0], p[1], p[2]]);
    Opened {
        width,
        height,
        rgb: rgb.collect(),
    }
}

/// Fits with default bounds.
pub fn fit(data: &Bytes, limits: &ImageLimits) -> Result<Fitted, Problem> {
    let terms = Terms::of(limits, 1);
    fit_image(data, "", &terms, &Bounds::default(), &Stop::new())
}

/// Limits the longer side only.
pub fn px(max_px: u32) -> ImageLimits {
    ImageLimits::default().with_max_px(Some(max_px))
}

/// Limits the bytes only.
pub fn max_bytes(max_bytes: u64) -> ImageLimits {
    ImageLimits::default().with_max_bytes(Some(max_bytes))
}

/// Limits the types only.
pub fn types(types: &[&str]) -> ImageLimits {
    ImageLimits::default().with_types(types.iter().map(|t| (*t).to_owned()).collect())
}

/// A request with text and these images.
pub fn request(images: &[Bytes]) -> Request {
    images.iter().fold(Request::user("look"), |request, image| {
        request.part(Part::image("image/png", image.clone()))
    })
}

/// A runtime for one test.
pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(work)
}

/// The shortest of several runs, in CPU time where available, so that other load does not
/// fail tests.
pub fn fastest(runs: usize, mut work: impl FnMut()) -> Duration {
    let time = |work: &mut dyn FnMut()| {
        let start = cpu_time();
        work();
        cpu_time().saturating_sub(start)
    };
    (0..runs).map(|_| time(&mut work)).min().unwrap()
}

/// The mean of many runs, for work shorter than the resolution of the CPU clock.
pub fn average(runs: u32, mut work: impl FnMut()) -> Duration {
    fastest(3, || (0..runs).for_each(|_| work())) / runs
}

/// CPU time of this thread, or the time on the wall where it is not known.
pub fn cpu_time() -> Duration {
    thread_cpu_time().unwrap_or_else(wall_time)
}

fn thread_cpu_time() -> Option<Duration> {
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = scheduled.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// Time since the first call.
#[allow(
    clippy::disallowed_methods,
    reason = "a test of speed needs a real clock"
)]
pub fn wall_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// A colour that may differ by a few levels.
pub fn near(found: [u8; 3], wanted: [u8; 3], tolerance: u8) {
    let close = found
        .iter()
        .zip(&wanted)
        .all(|(a, b)| a.abs_diff(*b) <= tolerance);
    assert!(close, "{found:?} is not {wanted:?}");
}
