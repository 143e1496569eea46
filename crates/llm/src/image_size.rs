//! The size of an image to generate.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use crate::{Error, ErrorKind};

/// Width and height in pixels, as in `1024x1536`.
///
/// ```
/// use majordomo_llm::ImageSize;
///
/// let size: ImageSize = "1024x1536".parse()?;
/// assert_eq!((size.width(), size.height()), (1024, 1536));
/// assert_eq!(size.aspect_ratio(), (2, 3));
/// assert!("0x1".parse::<ImageSize>().is_err());
/// # Ok::<(), majordomo_llm::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageSize {
    width: NonZeroU32,
    height: NonZeroU32,
}

impl ImageSize {
    /// Creates a size; `None` if one side is 0.
    pub fn new(width: u32, height: u32) -> Option<Self> {
        Some(Self {
            width: NonZeroU32::new(width)?,
            height: NonZeroU32::new(height)?,
        })
    }

    /// Returns the width.
    pub fn width(self) -> u32 {
        self.width.get()
    }

    /// Returns the height.
    pub fn height(self) -> u32 {
        self.height.get()
    }

    /// Returns width and height in lowest terms.
    pub fn aspect_ratio(self) -> (u32, u32) {
        let (mut a, mut b) = (self.width(), self.height());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        (self.width() / a, self.height() / a)
    }
}

impl fmt::Display for ImageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl FromStr for ImageSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let sides = text.split_once(['x', 'X']);
        let sides = sides.and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        sides
            .and_then(|(width, height)| Self::new(width, height))
            .ok_or_else(|| {
                let shown: String = text.chars().take(40).collect();
                let text = format!("`{shown}` is not a size such as 1024x1024");
                Error::new(ErrorKind::Spec, text)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_positive_sides_are_a_size() {
        for text in [
            "", "1024", "x", "1x", "0x5", "5x0", "-1x5", "1x2x3", "1 x 2",
        ] {
            assert!(text.parse::<ImageSize>().is_err(), "{text}");
        }
        let size: ImageSize = "1792X1024".parse().unwrap();
        assert_eq!(size.to_string(), "1792x1024");
        assert_eq!(size.aspect_ratio(), (7, 4));
    }
}
