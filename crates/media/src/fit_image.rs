//! Fits one image to a target: decodes, downscales, rotates, converts and encodes it.

use bytes::Bytes;
use majordomo_codecs::{
    Encoding, Job, Picture, SizeHint, color_profile, decode, decode_upright, downscale_decoded,
    to_srgb,
};
use majordomo_image_header::{Compression, Header};

use crate::decoded::Decoded;
use crate::ladder::{
    EncodedImage, SourceImage, choose_encoding, encode_within, hopeless_halvings, needed_chroma,
};
use crate::plan::Plan;
use crate::terms::Terms;
use crate::{Bounds, Format, Problem, Stop, plan};

/// An image that a target accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fitted {
    /// The encoded bytes, which are the original's if it fits.
    pub data: Bytes,
    /// The MIME type of `data`.
    pub media_type: String,
    /// How it was re-encoded; `None` if it was not.
    pub conversion: Option<Conversion>,
    /// Bytes that followed the end of the image and were cut off.
    pub trimmed: u64,
}

impl Fitted {
    /// The unmodified image, up to its end.
    pub(crate) fn untouched(data: &Bytes, media_type: String, end: usize) -> Self {
        Self {
            data: data.slice(..end),
            media_type,
            conversion: None,
            trimmed: (data.len() - end) as u64,
        }
    }
}

/// An image before and after it was re-encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversion {
    /// The original's header.
    pub from: Header,
    /// The original's size in bytes.
    pub from_bytes: u64,
    /// The new format.
    pub format: Format,
    /// The new width.
    pub width: u32,
    /// The new height.
    pub height: u32,
    /// The new size in bytes.
    pub bytes: u64,
    /// The JPEG quality, if it is a JPEG.
    pub quality: Option<u8>,
    /// Whether transparency was flattened onto white.
    pub flattened: bool,
}

/// Fits one image on this thread.
///
/// The result satisfies all terms. An image that already fits keeps its bytes. The work
/// ends early when `stop` is set; `bounds` limit its memory, and the caller limits its
/// time.
///
/// ```
/// use bytes::Bytes;
/// use majordomo_llm::ImageLimits;
/// use majordomo_media::{Bounds, Stop, Terms, fit_image};
///
/// let gif = Bytes::from_static(b"GIF89a\x20\x00\x10\x00\x00\x00\x00;");
/// let terms = Terms::of(&ImageLimits::default(), 1);
/// let fitted = fit_image(&gif, "image/png", &terms, &Bounds::default(), &Stop::new()).unwrap();
/// assert_eq!(fitted.media_type, "image/gif", "the bytes decide");
/// assert_eq!(fitted.data.as_ptr(), gif.as_ptr(), "and are not copied");
/// ```
pub fn fit_image(
    data: &Bytes,
    declared: &str,
    terms: &Terms,
    bounds: &Bounds,
    stop: &Stop,
) -> Result<Fitted, Problem> {
    match plan(data, declared, terms)? {
        Plan::Pass { media_type } => Ok(Fitted::untouched(data, media_type, data.len())),
        Plan::Trim { media_type, end } => Ok(Fitted::untouched(data, media_type, end)),
        Plan::Refit { header, size, .. } => {
            bounds.check(&header)?;
            let job = Job::new(stop.clone(), bounds.max_decoded);
            let refit = Refit::new(data, &header, size, terms);
            let chroma = needed_chroma(terms);
            // The encoding of other formats depends on the picture as it is stored.
            if header.format == Format::Jpeg && refit.stored() == (header.width, header.height) {
                let picture = decode_upright(data, &header, chroma, &job)?;
                let encoding = refit.encoding(&picture)?;
                return refit.finish(Decoded::Own(picture), encoding, &job);
            }
            let hint = SizeHint::ReduceTo(refit.stored());
            let picture = decode(data, &header, hint, chroma, &job)?;
            refit.run(Decoded::Own(picture), &job)
        }
    }
}

/// An image to be re-encoded for some terms.
pub(crate) struct Refit<'a> {
    data: &'a [u8],
    header: &'a Header,
    terms: &'a Terms,
    /// The upright size to start with.
    size: (u32, u32),
}

impl<'a> Refit<'a> {
    pub(crate) fn new(
        data: &'a [u8],
        header: &'a Header,
        size: (u32, u32),
        terms: &'a Terms,
    ) -> Self {
        let halvings = hopeless_halvings(header.format, data.len() as u64, terms);
        let halve = |side: u32| side.div_ceil(1 << halvings);
        Self {
            data,
            header,
            terms,
            size: (halve(size.0), halve(size.1)),
        }
    }

    /// The smallest size to decode to, as stored.
    pub(crate) fn stored(&self) -> (u32, u32) {
        self.header.orientation.upright(self.size.0, self.size.1)
    }

    /// Converts the decoded picture to a form that the terms accept.
    pub(crate) fn run(&self, mut picture: Decoded<'_>, job: &Job) -> Result<Fitted, Problem> {
        let header = self.header;
        let encoding = self.encoding(&picture)?;
        // Downscaled first: the steps that follow have fewer pixels to process.
        let size = self.stored();
        if (picture.width, picture.height) != size {
            let chroma = needed_chroma(self.terms);
            let stored = (header.width, header.height);
            let smaller = downscale_decoded(&picture, stored, size, chroma, job)?;
            picture = Decoded::Own(smaller);
        }
        if !header.orientation.is_upright() {
            picture = Decoded::Own(picture.oriented(header.orientation, job)?);
        }
        self.finish(picture, encoding, job)
    }

    fn encoding(&self, picture: &Picture) -> Result<Encoding, Problem> {
        let header = self.header;
        let source = SourceImage {
            format: header.format,
            lossless: matches!(
                header.compression,
                Compression::Png | Compression::Gif | Compression::WebpLossless
            ),
        };
        choose_encoding(source, picture, self.terms).ok_or_else(|| Problem::NotAccepted {
            found: header.format.to_string(),
            accepted: self.terms.accepted(),
        })
    }

    /// Converts the colours of a picture that is upright and has its size, and encodes it.
    fn finish(
        &self,
        mut picture: Decoded<'_>,
        encoding: Encoding,
        job: &Job,
    ) -> Result<Fitted, Problem> {
        if let Some(profile) = color_profile(self.data, self.header.format)
            && let Some(converted) = to_srgb(&picture, &profile, job)?
        {
            picture = Decoded::Own(converted);
        }
        let mut encoded = encode_within(picture, encoding, self.terms, job)?;
        encoded.data.shrink_to_fit();
        Ok(fitted(encoded, self.header, self.data.len() as u64))
    }
}

fn fitted(encoded: EncodedImage, header: &Header, from_bytes: u64) -> Fitted {
    let format = encoded.encoding.format();
    Fitted {
        media_type: format.media_type().to_owned(),
        conversion: Some(Conversion {
            from: *header,
            from_bytes,
            format,
            width: encoded.width,
            height: encoded.height,
            bytes: encoded.data.len() as u64,
            quality: match encoded.encoding {
                Encoding::Jpeg(quality) => Some(quality),
                _ => None,
            },
            flattened: encoded.flattened,
        }),
        trimmed: 0,
        data: Bytes::from(encoded.data),
    }
}
