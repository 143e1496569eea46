//! The encoding ladder: format, quality and size that fit the byte limit.
//!
//! Steps are qualities 85, 65, 45 and 30 at full size, then the largest size that fits at
//! quality 30 (ADR 0044). Estimates predict the step, so most pictures are encoded once; the
//! actual size decides.

use majordomo_codecs::{
    Chroma, Encoding, Job, Layout, Picture, downscale, encode, estimate_jpeg_size,
};

use crate::decoded::Decoded;
use crate::human::{Dimensions, human_bytes};
use crate::terms::{Terms, scaled};
use crate::{Format, Problem};

const QUALITIES: [u8; 4] = [85, 65, 45, 30];
const LOWEST: u8 = 30;
/// The longest side of a JPEG that libjpeg reads.
const MAX_JPEG_SIDE: u32 = 65_500;
/// Full encodings of a lossless format, and of smaller JPEGs, before giving up.
const MAX_ENCODES: u32 = 6;
/// Sizes estimated before giving up.
const MAX_ESTIMATES: u32 = 12;
/// The largest error of an estimate, in percent.
const SAMPLE_ERROR: u64 = 7;
/// No quality of the ladder shrinks a better one by this factor.
const HOPELESS: u64 = 8;
/// Bytes of a JPEG grow with this power of its sides: between 2, since there are more
/// pixels, and 1, since each has less detail.
const GROWTH: f64 = 1.6;
/// Bytes of a JPEG without any pixels.
const HEADER_BYTES: f64 = 620.0;
/// The share of the limit that a chosen size aims at.
const AIM: f64 = 0.96;
/// The factor by which estimates are assumed too low after an encoding exceeds the limit.
const MISS: f64 = 1.15;
/// A size whose estimate is below this share of the limit is enlarged once.
const WASTEFUL: f64 = 0.8;

/// An encoded image.
pub(crate) struct EncodedImage {
    pub(crate) data: Vec<u8>,
    pub(crate) encoding: Encoding,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Whether transparency was flattened onto white.
    pub(crate) flattened: bool,
}

/// Halvings to skip before decoding because nothing larger can fit: quality 30 shrinks a
/// JPEG to a fifteenth at best.
pub(crate) fn hopeless_halvings(format: Format, size: u64, terms: &Terms) -> u32 {
    let hopeless = |budget: u64| budget.saturating_mul(20) < size;
    let jpeg = format == Format::Jpeg && terms.allows(format.media_type());
    u32::from(jpeg && terms.max_bytes.is_some_and(hopeless))
}

/// The properties of the source that determine the encoding.
#[derive(Clone, Copy)]
pub(crate) struct SourceImage {
    /// The source format.
    pub(crate) format: Format,
    /// Whether the source is lossless.
    pub(crate) lossless: bool,
}

/// Chooses the encoding: the source format if accepted, then one that keeps transparency and
/// text, then JPEG, then PNG, then any accepted format.
pub(crate) fn choose_encoding(
    source: SourceImage,
    picture: &Picture,
    terms: &Terms,
) -> Option<Encoding> {
    let allows = |format: Format| terms.allows(format.media_type());
    let (jpeg, png) = (allows(Format::Jpeg), allows(Format::Png));
    let own = match source.format {
        Format::Jpeg => Some(Encoding::Jpeg(QUALITIES[0])),
        Format::Png => Some(Encoding::Png),
        Format::Gif => Some(Encoding::Gif),
        // There is no lossy WebP encoder, and a lossless file would be larger.
        Format::Webp if source.lossless => Some(Encoding::Webp),
        _ => None,
    };
    if let Some(own) = own.filter(|own| allows(own.format())) {
        return Some(own);
    }
    if png && (picture.layout == Layout::Rgba || (source.lossless && picture.is_graphic())) {
        return Some(Encoding::Png);
    }
    if jpeg {
        return Some(Encoding::Jpeg(QUALITIES[0]));
    }
    if png {
        return Some(Encoding::Png);
    }
    terms
        .types
        .iter()
        .find_map(|t| match Format::of_media_type(t) {
            Some(Format::Webp) => Some(Encoding::Webp),
            Some(Format::Gif) => Some(Encoding::Gif),
            _ => None,
        })
}

/// The chroma that a result needs: a picture with subsampled chroma, which is lossy, becomes a
/// JPEG if the target accepts one, and is subsampled again.
pub(crate) fn needed_chroma(terms: &Terms) -> Chroma {
    match terms.allows(Format::Jpeg.media_type()) {
        true => Chroma::Half,
        false => Chroma::Full,
    }
}

/// Encodes the picture within the byte limit.
pub(crate) fn encode_within(
    picture: Decoded<'_>,
    first: Encoding,
    terms: &Terms,
    job: &Job,
) -> Result<EncodedImage, Problem> {
    let mut attempts = EncodeAttempts {
        budget: terms.max_bytes,
        spent: 0,
        tried: Vec::new(),
        flattened: false,
    };
    let jpeg = terms.allows(Format::Jpeg.media_type());
    match first {
        Encoding::Jpeg(_) => attempts.jpeg(picture, job),
        lossless => match attempts.lossless(&picture, lossless, job)? {
            Some(done) => Ok(done),
            None if jpeg => attempts.jpeg(picture, job),
            None => attempts.halve_lossless(picture, lossless, job),
        },
    }
}

struct EncodeAttempts {
    budget: Option<u64>,
    /// Full encodings so far.
    spent: u32,
    tried: Vec<String>,
    flattened: bool,
}

impl EncodeAttempts {
    /// One full encoding; `None` if it exceeds the budget.
    fn encode(
        &mut self,
        picture: &Picture,
        encoding: Encoding,
        job: &Job,
    ) -> Result<Option<EncodedImage>, Problem> {
        job.stop.check()?;
        self.spent += 1;
        let size = Dimensions(picture.width, picture.height);
        self.tried.push(match encoding {
            Encoding::Jpeg(quality) => format!("{size} jpeg of quality {quality}"),
            other => format!("{size} {}", other.format()),
        });
        let data = encode(picture, encoding, self.budget, job)?;
        Ok(data.map(|data| EncodedImage {
            data,
            encoding,
            width: picture.width,
            height: picture.height,
            flattened: self.flattened,
        }))
    }

    /// PNG is compressed harder before any lossy format is tried.
    fn lossless(
        &mut self,
        picture: &Picture,
        encoding: Encoding,
        job: &Job,
    ) -> Result<Option<EncodedImage>, Problem> {
        let done = self.encode(picture, encoding, job)?;
        if done.is_none() && encoding == Encoding::Png && picture.is_graphic() {
            return self.encode(picture, Encoding::SmallPng, job);
        }
        Ok(done)
    }

    fn halve_lossless(
        mut self,
        mut picture: Decoded<'_>,
        encoding: Encoding,
        job: &Job,
    ) -> Result<EncodedImage, Problem> {
        while self.spent < MAX_ENCODES && picture.width.max(picture.height) > 1 {
            picture = Decoded::Own(half(&picture, job)?);
            if let Some(done) = self.lossless(&picture, encoding, job)? {
                return Ok(done);
            }
        }
        Err(self.cannot_fit())
    }

    fn jpeg(mut self, mut picture: Decoded<'_>, job: &Job) -> Result<EncodedImage, Problem> {
        self.flattened = picture.layout == Layout::Rgba;
        if picture.width.max(picture.height) > MAX_JPEG_SIDE {
            let size = scaled(picture.width, picture.height, MAX_JPEG_SIDE);
            picture = Decoded::Own(downscale(&picture, size, Chroma::Half, job)?);
        }
        let promising = self.first_promising_quality(&picture, job)?;
        if let Some(start) = promising {
            for quality in &QUALITIES[start..] {
                if let Some(done) = self.encode(&picture, Encoding::Jpeg(*quality), job)? {
                    return Ok(done);
                }
            }
        }
        self.shrink(&picture, promising.is_some(), job)
    }

    /// Finds the largest size that fits at the lowest quality: small text suffers less from
    /// low quality than from low resolution. `tried` means that the whole picture was encoded
    /// and did not fit, whatever its estimate.
    fn shrink(
        mut self,
        picture: &Picture,
        tried: bool,
        job: &Job,
    ) -> Result<EncodedImage, Problem> {
        let Some(budget) = self.budget else {
            return Err(self.cannot_fit());
        };
        let longer = picture.width.max(picture.height);
        // Sides that are known to fit, and not to fit, by estimate.
        let (mut fits, mut exceeds) = (0, longer);
        let mut about = estimate_jpeg_size(picture, LOWEST, job)?;
        // A sample of rows misjudges pictures whose detail is in a few rows; the size of an
        // encoding corrects all later estimates.
        let mut bias = 1.0;
        let corrected = |about: u64, bias: f64| (about as f64 * bias) as u64;
        let raised =
            |bias: f64, about: u64| bias * (budget as f64 / about as f64).clamp(1.0, 1.5) * MISS;
        if tried {
            bias = raised(bias, about.max(1));
            about = corrected(about, bias);
        }
        let (mut side, mut encodes) = (longer, 0);
        for estimate in 0..MAX_ESTIMATES {
            let pixels = |bytes: f64| (bytes - HEADER_BYTES).max(1.0);
            let ratio = pixels(budget as f64 * AIM) / pixels(about as f64);
            let ratio = ratio.powf(1.0 / GROWTH);
            let wanted = (f64::from(side) * ratio) as u32;
            let most = exceeds.max(2) - 1;
            side = wanted.clamp((fits + 1).min(most), most);
            let (width, height) = scaled(picture.width, picture.height, side);
            let smaller = downscale(picture, (width, height), Chroma::Half, job)?;
            about = corrected(estimate_jpeg_size(&smaller, LOWEST, job)?, bias);
            if about * (100 - SAMPLE_ERROR) / 100 > budget {
                let size = Dimensions(width, height);
                self.tried
                    .push(format!("a sample of {size} jpeg of quality 30"));
                if side == 1 {
                    break;
                }
                exceeds = exceeds.min(side);
                fits = fits.min(side - 1);
                continue;
            }
            let is_wasteful = (about as f64) < budget as f64 * WASTEFUL;
            if is_wasteful && estimate < MAX_ESTIMATES / 2 && side + 1 < exceeds {
                fits = side;
                continue;
            }
            if let Some(done) = self.encode(&smaller, Encoding::Jpeg(LOWEST), job)? {
                return Ok(done);
            }
            encodes += 1;
            if encodes >= MAX_ENCODES || side == 1 {
                break;
            }
            exceeds = side;
            fits = fits.min(side - 1);
            let before = bias;
            bias = raised(bias, about.max(1));
            about = corrected(about, bias / before);
        }
        Err(self.cannot_fit())
    }

    /// The first quality whose estimated size may fit.
    fn first_promising_quality(
        &mut self,
        picture: &Picture,
        job: &Job,
    ) -> Result<Option<usize>, Problem> {
        let Some(budget) = self.budget else {
            return Ok(Some(0));
        };
        for (at, quality) in QUALITIES.into_iter().enumerate() {
            job.stop.check()?;
            let about = estimate_jpeg_size(picture, quality, job)?;
            if about * (100 - SAMPLE_ERROR) / 100 <= budget {
                return Ok(Some(at));
            }
            if about / HOPELESS > budget {
                break;
            }
        }
        let size = Dimensions(picture.width, picture.height);
        self.tried
            .push(format!("a sample of {size} jpeg down to quality 30"));
        Ok(None)
    }

    fn cannot_fit(self) -> Problem {
        Problem::CannotFit {
            limit: self
                .budget
                .map_or_else(|| "its format".to_owned(), human_bytes),
            tried: self.tried.join(", "),
        }
    }
}

fn half(picture: &Picture, job: &Job) -> Result<Picture, Problem> {
    let size = (picture.width.div_ceil(2), picture.height.div_ceil(2));
    Ok(downscale(picture, size, Chroma::Full, job)?)
}
