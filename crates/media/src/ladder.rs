//! From pixels to bytes that fit: which format, which quality, which size.
//!
//! The steps are qualities 85, 65, 45 and 30, then half the size and the same
//! qualities again, twice at most. A sample of the picture tells about where on
//! that ladder it fits, so that most pictures are encoded once; the real size
//! decides.

use std::borrow::Cow;

use crate::encode::{Coding, encode, sample_jpeg};
use crate::picture::{Layout, Picture};
use crate::resize::downscale;
use crate::terms::Terms;
use crate::text::{Size, bytes};
use crate::{Format, Problem, Stop};

const QUALITIES: [u8; 4] = [85, 65, 45, 30];
const HALVINGS: u32 = 2;
/// Whole encodings before giving up.
const MAX_ENCODES: u32 = 6;
/// A sample is this far off at most, in hundredths.
const SAMPLE_ERROR: u64 = 7;

/// No quality of the ladder makes so many times fewer bytes than a better one.
const HOPELESS: u64 = 8;

/// The outcome: bytes, and how they came to be.
pub(crate) struct Encoded {
    pub(crate) data: Vec<u8>,
    pub(crate) coding: Coding,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Whether transparency was laid on white.
    pub(crate) flattened: bool,
}

/// How many halvings may be skipped before a picture is opened, because nothing
/// larger can fit: the worst that quality 30 makes of a JPEG is a fifteenth.
pub(crate) fn hopeless_halvings(format: Format, size: u64, terms: &Terms) -> u32 {
    let hopeless = |budget: u64| budget.saturating_mul(20) < size;
    let jpeg = format == Format::Jpeg && terms.allows(format.media_type());
    u32::from(jpeg && terms.max_bytes.is_some_and(hopeless))
}

/// Where the picture came from, as far as the choice of a format depends on it.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    /// Its format.
    pub(crate) format: Format,
    /// Whether it was stored without loss.
    pub(crate) lossless: bool,
}

/// The format to write: the picture's own if the target takes it, then what
/// keeps transparency and text, then JPEG, then PNG, then whatever is taken.
pub(crate) fn choose(origin: Origin, picture: &Picture, terms: &Terms) -> Option<Coding> {
    let allows = |format: Format| terms.allows(format.media_type());
    let (jpeg, png) = (allows(Format::Jpeg), allows(Format::Png));
    let own = match origin.format {
        Format::Jpeg => Some(Coding::Jpeg(QUALITIES[0])),
        Format::Png => Some(Coding::Png),
        Format::Gif => Some(Coding::Gif),
        // A lossy WebP has no encoder here; without loss it would grow.
        Format::Webp if origin.lossless => Some(Coding::Webp),
        _ => None,
    };
    if let Some(own) = own.filter(|own| allows(own.format())) {
        return Some(own);
    }
    if png && (picture.layout == Layout::Rgba || (origin.lossless && picture.is_flat())) {
        return Some(Coding::Png);
    }
    if jpeg {
        return Some(Coding::Jpeg(QUALITIES[0]));
    }
    if png {
        return Some(Coding::Png);
    }
    terms
        .types
        .iter()
        .find_map(|t| match Format::of_media_type(t) {
            Some(Format::Webp) => Some(Coding::Webp),
            Some(Format::Gif) => Some(Coding::Gif),
            _ => None,
        })
}

/// Writes the picture so that it fits the terms' bytes.
pub(crate) fn climb(
    picture: Cow<'_, Picture>,
    halvings: u32,
    first: Coding,
    terms: &Terms,
    stop: &Stop,
) -> Result<Encoded, Problem> {
    let mut attempts = Attempts {
        budget: terms.max_bytes,
        halvings,
        spent: 0,
        tried: Vec::new(),
        flattened: false,
    };
    let jpeg = terms.allows(Format::Jpeg.media_type());
    match first {
        Coding::Jpeg(_) => attempts.jpegs(picture, stop),
        lossless => match attempts.lossless(&picture, lossless, stop)? {
            Some(done) => Ok(done),
            None if jpeg => attempts.jpegs(picture, stop),
            None => attempts.halve_lossless(picture, lossless, stop),
        },
    }
}

struct Attempts {
    budget: Option<u64>,
    /// How often the picture was halved before it came here.
    halvings: u32,
    spent: u32,
    tried: Vec<String>,
    flattened: bool,
}

impl Attempts {
    /// One whole encoding; none if it is over budget.
    fn encode(
        &mut self,
        picture: &Picture,
        coding: Coding,
        stop: &Stop,
    ) -> Result<Option<Encoded>, Problem> {
        stop.check()?;
        self.spent += 1;
        let size = Size(picture.width, picture.height);
        self.tried.push(match coding {
            Coding::Jpeg(quality) => format!("{size} jpeg of quality {quality}"),
            other => format!("{size} {}", other.format()),
        });
        let data = encode(picture, coding, self.budget, stop)?;
        Ok(data.map(|data| Encoded {
            data,
            coding,
            width: picture.width,
            height: picture.height,
            flattened: self.flattened,
        }))
    }

    /// A PNG is packed tighter before anything is lost.
    fn lossless(
        &mut self,
        picture: &Picture,
        coding: Coding,
        stop: &Stop,
    ) -> Result<Option<Encoded>, Problem> {
        let done = self.encode(picture, coding, stop)?;
        if done.is_none() && coding == Coding::Png && picture.is_flat() {
            return self.encode(picture, Coding::SmallPng, stop);
        }
        Ok(done)
    }

    fn halve_lossless(
        mut self,
        mut picture: Cow<'_, Picture>,
        coding: Coding,
        stop: &Stop,
    ) -> Result<Encoded, Problem> {
        while self.spent < MAX_ENCODES && picture.width.max(picture.height) > 1 {
            picture = Cow::Owned(half(&picture, stop)?);
            if let Some(done) = self.lossless(&picture, coding, stop)? {
                return Ok(done);
            }
        }
        Err(self.give_up())
    }

    fn jpegs(mut self, mut picture: Cow<'_, Picture>, stop: &Stop) -> Result<Encoded, Problem> {
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
            let start = self.first_promising(&picture, stop)?;
            // The last size is tried however the sample looks.
            let start = match start {
                None if halving == HALVINGS => QUALITIES.len() - 1,
                None => continue,
                Some(start) => start,
            };
            for quality in &QUALITIES[start..] {
                if self.spent == MAX_ENCODES {
                    return Err(self.give_up());
                }
                if let Some(done) = self.encode(&picture, Coding::Jpeg(*quality), stop)? {
                    return Ok(done);
                }
            }
        }
        Err(self.give_up())
    }

    /// The first quality whose size may fit, by a sample of the picture.
    fn first_promising(
        &mut self,
        picture: &Picture,
        stop: &Stop,
    ) -> Result<Option<usize>, Problem> {
        let Some(budget) = self.budget else {
            return Ok(Some(0));
        };
        for (at, quality) in QUALITIES.into_iter().enumerate() {
            stop.check()?;
            let about = sample_jpeg(picture, quality).ok_or(Problem::DecoderFailed)?;
            if about * (100 - SAMPLE_ERROR) / 100 <= budget {
                return Ok(Some(at));
            }
            if about / HOPELESS > budget {
                break;
            }
        }
        let size = Size(picture.width, picture.height);
        self.tried
            .push(format!("a sample of {size} jpeg down to quality 30"));
        Ok(None)
    }

    fn give_up(self) -> Problem {
        Problem::CannotFit {
            limit: self.budget.map_or_else(|| "its format".to_owned(), bytes),
            tried: self.tried.join(", "),
        }
    }
}

fn half(picture: &Picture, stop: &Stop) -> Result<Picture, Problem> {
    let (width, height) = (picture.width.div_ceil(2), picture.height.div_ceil(2));
    downscale(picture, width, height, stop)
}
