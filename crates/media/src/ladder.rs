//! The encoding ladder: format, quality and size that fit the byte limit.
//!
//! Steps are qualities 85, 65, 45 and 30, then the same at half the size, at most twice. An
//! estimate predicts the step that fits, so most pictures are encoded once; the actual size
//! decides.

use std::borrow::Cow;

use majordomo_codecs::{Encoding, Layout, Picture, downscale, encode, estimate_jpeg_size};

use crate::human::{Dimensions, human_bytes};
use crate::terms::Terms;
use crate::{Format, Problem, Stop};

const QUALITIES: [u8; 4] = [85, 65, 45, 30];
const HALVINGS: u32 = 2;
/// Full encodings before giving up.
const MAX_ENCODES: u32 = 6;
/// The largest error of an estimate, in percent.
const SAMPLE_ERROR: u64 = 7;

/// No quality of the ladder shrinks a better one by this factor.
const HOPELESS: u64 = 8;

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

/// The source, as far as the choice of an encoding depends on it.
#[derive(Clone, Copy)]
pub(crate) struct SourceImage {
    /// The source format.
    pub(crate) format: Format,
    /// Whether the source is lossless.
    pub(crate) lossless: bool,
}

/// Chooses the encoding: the source format if accepted, then what keeps transparency and
/// text, then JPEG, then PNG, then anything accepted.
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
        // There is no lossy WebP encoder, and lossless would grow.
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

/// Encodes the picture within the byte limit.
pub(crate) fn encode_within(
    picture: Cow<'_, Picture>,
    halvings: u32,
    first: Encoding,
    terms: &Terms,
    stop: &Stop,
) -> Result<EncodedImage, Problem> {
    let mut attempts = EncodeAttempts {
        budget: terms.max_bytes,
        halvings,
        spent: 0,
        tried: Vec::new(),
        flattened: false,
    };
    let jpeg = terms.allows(Format::Jpeg.media_type());
    match first {
        Encoding::Jpeg(_) => attempts.jpeg(picture, stop),
        lossless => match attempts.lossless(&picture, lossless, stop)? {
            Some(done) => Ok(done),
            None if jpeg => attempts.jpeg(picture, stop),
            None => attempts.halve_lossless(picture, lossless, stop),
        },
    }
}

struct EncodeAttempts {
    budget: Option<u64>,
    /// How often the picture was halved before.
    halvings: u32,
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
        stop: &Stop,
    ) -> Result<Option<EncodedImage>, Problem> {
        stop.check()?;
        self.spent += 1;
        let size = Dimensions(picture.width, picture.height);
        self.tried.push(match encoding {
            Encoding::Jpeg(quality) => format!("{size} jpeg of quality {quality}"),
            other => format!("{size} {}", other.format()),
        });
        let data = encode(picture, encoding, self.budget, stop)?;
        Ok(data.map(|data| EncodedImage {
            data,
            encoding,
            width: picture.width,
            height: picture.height,
            flattened: self.flattened,
        }))
    }

    /// PNG is compressed harder before anything lossy is tried.
    fn lossless(
        &mut self,
        picture: &Picture,
        encoding: Encoding,
        stop: &Stop,
    ) -> Result<Option<EncodedImage>, Problem> {
        let done = self.encode(picture, encoding, stop)?;
        if done.is_none() && encoding == Encoding::Png && picture.is_graphic() {
            return self.encode(picture, Encoding::SmallPng, stop);
        }
        Ok(done)
    }

    fn halve_lossless(
        mut self,
        mut picture: Cow<'_, Picture>,
        encoding: Encoding,
        stop: &Stop,
    ) -> Result<EncodedImage, Problem> {
        while self.spent < MAX_ENCODES && picture.width.max(picture.height) > 1 {
            picture = Cow::Owned(half(&picture, stop)?);
            if let Some(done) = self.lossless(&picture, encoding, stop)? {
                return Ok(done);
            }
        }
        Err(self.cannot_fit())
    }

    fn jpeg(mut self, mut picture: Cow<'_, Picture>, stop: &Stop) -> Result<EncodedImage, Problem> {
        if picture.layout == Layout::Rgba {
            picture.to_mut().flatten();
            self.flattened = true;
        }
        for halving in self.halvings..=HALVINGS {
            if halving > self.halvings {
                if picture.width.max(picture.height) == 1 {
                    break;
                }
                picture = Cow::Owned(half(&picture, stop)?);
            }
            let start = self.first_promising_quality(&picture, stop)?;
            // The last size is tried whatever the estimate.
            let start = match start {
                None if halving == HALVINGS => QUALITIES.len() - 1,
                None => continue,
                Some(start) => start,
            };
            for quality in &QUALITIES[start..] {
                if self.spent == MAX_ENCODES {
                    return Err(self.cannot_fit());
                }
                if let Some(done) = self.encode(&picture, Encoding::Jpeg(*quality), stop)? {
                    return Ok(done);
                }
            }
        }
        Err(self.cannot_fit())
    }

    /// The first quality whose estimated size may fit.
    fn first_promising_quality(
        &mut self,
        picture: &Picture,
        stop: &Stop,
    ) -> Result<Option<usize>, Problem> {
        let Some(budget) = self.budget else {
            return Ok(Some(0));
        };
        for (at, quality) in QUALITIES.into_iter().enumerate() {
            stop.check()?;
            let about = estimate_jpeg_size(picture, quality).ok_or(Problem::DecoderFailed)?;
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

fn half(picture: &Picture, stop: &Stop) -> Result<Picture, Problem> {
    let (width, height) = (picture.width.div_ceil(2), picture.height.div_ceil(2));
    Ok(downscale(picture, width, height, stop)?)
}
