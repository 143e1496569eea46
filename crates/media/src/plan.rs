//! The planned operation on an image, with the reasons.

use std::fmt;

use majordomo_image_header::{Header, end};
use majordomo_llm::Image;

use crate::human::{Dimensions, human_bytes};
use crate::terms::Terms;
use crate::{Format, Problem, measure, sniff};

/// The operation that a target requires for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing: it is sent unchanged.
    Pass {
        /// The MIME type to send.
        media_type: String,
    },
    /// Only data after its end is cut off.
    Trim {
        /// The MIME type to send.
        media_type: String,
        /// Bytes to send.
        end: usize,
    },
    /// It is decoded and re-encoded.
    Refit {
        /// The original's header.
        header: Header,
        /// The largest size that fits, upright.
        size: (u32, u32),
        /// Every limit that it exceeds.
        reasons: Vec<Reason>,
    },
}

/// A limit that an image exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Too many pixels.
    Size {
        /// Width and height of the original.
        from: (u32, u32),
        /// Width and height at most.
        to: (u32, u32),
    },
    /// Too many bytes.
    Bytes {
        /// Bytes of the original.
        from: u64,
        /// Bytes at most.
        to: u64,
    },
    /// The target does not accept the format.
    Type(Format),
    /// The EXIF orientation is not upright, and the target ignores EXIF.
    NotUpright,
    /// It is an animation, and the target accepts stills only.
    Animated(u32),
    /// The file does not end where its format ends.
    MissingEnd,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { from, to } => write!(
                f,
                "{} pixels, at most {} fit",
                Dimensions(from.0, from.1),
                Dimensions(to.0, to.1)
            ),
            Self::Bytes { from, to } => write!(
                f,
                "{}, at most {} fit",
                human_bytes(*from),
                human_bytes(*to)
            ),
            Self::Type(format) => write!(f, "{format} is not accepted"),
            Self::NotUpright => f.write_str("its EXIF orientation is not upright"),
            Self::Animated(frames) => write!(f, "{frames} frames, only stills are accepted"),
            Self::MissingEnd => f.write_str("its end is missing"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass { media_type } => write!(f, "sent unchanged as {media_type}"),
            Self::Trim { media_type, .. } => write!(
                f,
                "sent unchanged as {media_type}, without what follows its end"
            ),
            Self::Refit { reasons, .. } => {
                f.write_str("re-encoded: ")?;
                for (at, reason) in reasons.iter().enumerate() {
                    let separator = if at == 0 { "" } else { "; " };
                    write!(f, "{separator}{reason}")?;
                }
                Ok(())
            }
        }
    }
}

/// Plans the operation on an image for a target, without performing it.
///
/// `declared` is the MIME type that came with the bytes; it matters only if the format is
/// unrecognised.
///
/// ```
/// use majordomo_llm::ImageLimits;
/// use majordomo_media::{Plan, Terms, plan};
///
/// let gif = b"GIF89a\x20\x00\x10\x00\x00\x00\x00;";
/// let limits = ImageLimits::default().with_max_px(Some(16));
/// let plan = plan(gif, "image/gif", &Terms::of(&limits, 1)).unwrap();
/// assert_eq!(plan.to_string(), "re-encoded: 32×16 pixels, at most 16×8 fit");
/// ```
pub fn plan(data: &[u8], declared: &str, terms: &Terms) -> Result<Plan, Problem> {
    plan_with(data, declared, terms, || measure(data))
}

/// Like [`plan`], with the header that the image carries.
pub(crate) fn plan_image(image: &Image, terms: &Terms) -> Result<Plan, Problem> {
    let header = || Ok(image.data.header()?);
    plan_with(&image.data, &image.media_type, terms, header)
}

fn plan_with(
    data: &[u8],
    declared: &str,
    terms: &Terms,
    header: impl FnOnce() -> Result<Header, Problem>,
) -> Result<Plan, Problem> {
    if data.is_empty() {
        return Err(Problem::Empty);
    }
    match sniff(data) {
        None => pass_unknown(data, declared, terms),
        Some(format) if !format.decodes() => pass_by_name(data, format, terms),
        Some(_) => plan_measured(data, header()?, terms),
    }
}

fn plan_measured(data: &[u8], header: Header, terms: &Terms) -> Result<Plan, Problem> {
    let media_type = header.format.media_type();
    let (width, height) = header.upright();
    let size = terms.largest(width, height).ok_or_else(|| no_size(terms))?;
    let mut reasons = Vec::new();
    if size != (width, height) {
        reasons.push(Reason::Size {
            from: (width, height),
            to: size,
        });
    }
    // Data after the end is not sent, so it does not count.
    let end = match header.clean_end {
        true => Some(data.len()),
        false => end(data),
    };
    let bytes = end.unwrap_or(data.len()) as u64;
    if let Some(to) = terms.max_bytes.filter(|max| bytes > *max) {
        reasons.push(Reason::Bytes { from: bytes, to });
    }
    if !terms.allows(media_type) {
        reasons.push(Reason::Type(header.format));
    }
    if !header.orientation.is_upright() && !terms.honours_orientation {
        reasons.push(Reason::NotUpright);
    }
    if header.is_animated() && !terms.animations {
        reasons.push(Reason::Animated(header.frames));
    }
    if end.is_none() {
        reasons.push(Reason::MissingEnd);
    }
    let media_type = media_type.to_owned();
    Ok(match (reasons.is_empty(), end) {
        (true, Some(end)) if end < data.len() => Plan::Trim { media_type, end },
        (true, _) => Plan::Pass { media_type },
        (false, _) => Plan::Refit {
            header,
            size,
            reasons,
        },
    })
}

/// A format that is not decoded passes if the target lists it.
fn pass_by_name(data: &[u8], format: Format, terms: &Terms) -> Result<Plan, Problem> {
    pass_unopened(data, &format.to_string(), format.media_type(), terms)
}

/// Unrecognised bytes pass only under an unrecognised image type: a web page declared as
/// PNG does not.
fn pass_unknown(data: &[u8], declared: &str, terms: &Terms) -> Result<Plan, Problem> {
    let declared = declared.trim().to_ascii_lowercase();
    if !declared.starts_with("image/") || Format::of_media_type(&declared).is_some() {
        return Err(Problem::Unrecognised);
    }
    pass_unopened(data, &declared, &declared, terms)
}

fn pass_unopened(
    data: &[u8],
    found: &str,
    media_type: &str,
    terms: &Terms,
) -> Result<Plan, Problem> {
    if !terms.allows(media_type) {
        return Err(Problem::NotAccepted {
            found: found.to_owned(),
            accepted: terms.accepted(),
        });
    }
    if let Some(max) = over(data, terms) {
        return Err(Problem::CannotFit {
            limit: format!(
                "{} with its {}",
                human_bytes(max),
                human_bytes(data.len() as u64)
            ),
            tried: format!("nothing, since {found} is not decoded here"),
        });
    }
    Ok(Plan::Pass {
        media_type: media_type.to_owned(),
    })
}

fn over(data: &[u8], terms: &Terms) -> Option<u64> {
    terms.max_bytes.filter(|max| data.len() as u64 > *max)
}

fn no_size(terms: &Terms) -> Problem {
    let limit = match (terms.max_px, terms.patches) {
        (Some(0), _) => "0 pixels".to_owned(),
        (_, Some(patches)) => format!("{} patches", patches.max),
        _ => "the target's limit on pixels".to_owned(),
    };
    Problem::CannotFit {
        limit,
        tried: "every size down to one pixel".to_owned(),
    }
}
