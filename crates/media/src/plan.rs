//! What will be done to an image, and why, before anything is done.

use std::fmt;

use majordomo_image_header::Header;

use crate::human::{Dimensions, human_bytes};
use crate::terms::Terms;
use crate::{Format, Problem, measure, sniff};

/// What a target needs done to an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing: its own bytes are sent.
    Pass {
        /// The MIME type to send them under.
        media_type: String,
    },
    /// It is opened and written anew.
    Refit {
        /// What it is now.
        header: Header,
        /// The size that it gets at most, upright.
        size: (u32, u32),
        /// Everything that does not fit.
        reasons: Vec<Reason>,
    },
}

/// One thing about an image that a target does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Too many pixels; how many it has on each side, and may have.
    Size {
        /// Now.
        from: (u32, u32),
        /// At most.
        to: (u32, u32),
    },
    /// Too many bytes.
    Bytes {
        /// Now.
        from: u64,
        /// At most.
        to: u64,
    },
    /// The target does not take the format.
    Type(Format),
    /// The camera was turned, and the target does not look at that.
    Turned,
    /// It moves, and the target takes stills.
    Animated(u32),
    /// Something follows the end of the picture, or its end is missing.
    UncleanEnd,
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
            Self::Turned => f.write_str("the camera was turned"),
            Self::Animated(frames) => write!(f, "{frames} frames, only stills are accepted"),
            Self::UncleanEnd => f.write_str("it does not end where its format ends"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass { media_type } => write!(f, "sent as it is, as {media_type}"),
            Self::Refit { reasons, .. } => {
                f.write_str("written anew: ")?;
                for (at, reason) in reasons.iter().enumerate() {
                    let separator = if at == 0 { "" } else { "; " };
                    write!(f, "{separator}{reason}")?;
                }
                Ok(())
            }
        }
    }
}

/// Says what would be done to an image for a target, without doing it.
///
/// `declared` is the MIME type that came with the bytes; it only matters for
/// formats that are not known here.
///
/// ```
/// use majordomo_llm::ImageLimits;
/// use majordomo_media::{Plan, Terms, plan};
///
/// let gif = b"GIF89a\x20\x00\x10\x00\x00\x00\x00;";
/// let limits = ImageLimits { max_px: Some(16), ..ImageLimits::default() };
/// let plan = plan(gif, "image/gif", &Terms::of(&limits, 1)).unwrap();
/// assert_eq!(plan.to_string(), "written anew: 32×16 pixels, at most 16×8 fit");
/// ```
pub fn plan(data: &[u8], declared: &str, terms: &Terms) -> Result<Plan, Problem> {
    if data.is_empty() {
        return Err(Problem::Empty);
    }
    match sniff(data) {
        None => pass_unknown(data, declared, terms),
        Some(format) if !format.decodes() => pass_by_name(data, format, terms),
        Some(_) => measure(data).and_then(|header| plan_measured(data, header, terms)),
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
    if let Some(to) = over(data, terms) {
        let from = data.len() as u64;
        reasons.push(Reason::Bytes { from, to });
    }
    if !terms.allows(media_type) {
        reasons.push(Reason::Type(header.format));
    }
    if !header.orientation.is_upright() && !terms.honours_orientation {
        reasons.push(Reason::Turned);
    }
    if header.is_animated() && !terms.animations {
        reasons.push(Reason::Animated(header.frames));
    }
    if !header.clean_end {
        reasons.push(Reason::UncleanEnd);
    }
    Ok(if reasons.is_empty() {
        Plan::Pass {
            media_type: media_type.to_owned(),
        }
    } else {
        Plan::Refit {
            header,
            size,
            reasons,
        }
    })
}

/// A format that is only known by name goes on where the target lists it.
fn pass_by_name(data: &[u8], format: Format, terms: &Terms) -> Result<Plan, Problem> {
    pass_unopened(data, &format.to_string(), format.media_type(), terms)
}

/// Bytes that nobody here knows go on only under a name that nobody here knows:
/// a web page that is called a PNG does not.
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
            tried: format!("nothing, since {found} is not opened here"),
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
