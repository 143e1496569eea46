//! Ids of requests: UUID version 7, so that they sort by time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::civil::Day;

/// The id of a request in the ledger. Its first 48 bits are the request's start.
///
/// ```
/// use majordomo_ledger::RequestId;
///
/// let id = RequestId::new(1_794_924_000_000, 7);
/// assert!(id.to_string().ends_with("-7000-8000-000000000007"));
/// assert_eq!(id.millis(), 1_794_924_000_000);
/// assert_eq!(id.to_string().parse(), Ok(id));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RequestId(u128);

impl RequestId {
    /// An id of a request that started at this Unix time in milliseconds.
    pub const fn new(millis: i64, random: u128) -> Self {
        let time = (millis as u128 & 0xffff_ffff_ffff) << 80;
        let random = random & ((0xfff << 64) | 0x3fff_ffff_ffff_ffff);
        Self(time | random | (7 << 76) | (0b10 << 62))
    }

    /// The smallest id of this time, for ranges.
    pub(crate) const fn first_at(millis: i64) -> Self {
        Self((millis as u128 & 0xffff_ffff_ffff) << 80)
    }

    /// The Unix time of the request's start, in milliseconds.
    pub const fn millis(self) -> i64 {
        (self.0 >> 80) as i64
    }

    /// The day of the request's start.
    pub const fn day(self) -> Day {
        Day::of_millis(self.millis())
    }

    pub(crate) const fn bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    pub(crate) const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

/// The positions of the separators of a UUID.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];
/// The positions of each byte's two digits.
const PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

// Uses lookup tables instead of formatting: every request gets an id, and the ledger reads it
// twice.
impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'-'; 36];
        for (place, byte) in PLACES.into_iter().zip(self.bytes()) {
            text[place] = DIGITS[usize::from(byte >> 4)];
            text[place + 1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(str::from_utf8(&text).unwrap_or_default())
    }
}

/// The values of hexadecimal digits; other bytes have one above 15.
const VALUES: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut value: u8 = 0;
    while value < 16 {
        match value {
            ..10 => values[(b'0' + value) as usize] = value,
            _ => {
                values[(b'a' + value - 10) as usize] = value;
                values[(b'A' + value - 10) as usize] = value;
            }
        }
        value += 1;
    }
    values
};

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<RequestId> for String {
    fn from(id: RequestId) -> Self {
        id.to_string()
    }
}

/// A text that is not a UUID.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a request id")]
pub struct RequestIdError(String);

impl FromStr for RequestId {
    type Err = RequestIdError;

    fn from_str(text: &str) -> Result<Self, RequestIdError> {
        let error = || RequestIdError(text.chars().take(64).collect());
        let bytes: &[u8; 36] = text.as_bytes().try_into().map_err(|_| error())?;
        let mut id = [0; 16];
        let mut all = 0;
        for (byte, place) in id.iter_mut().zip(PLACES) {
            let (high, low) = (bytes[place], bytes[place + 1]);
            let (high, low) = (VALUES[usize::from(high)], VALUES[usize::from(low)]);
            all |= high | low;
            *byte = (high << 4) | (low & 15);
        }
        if all > 15 || HYPHENS.iter().any(|place| bytes[*place] != b'-') {
            return Err(error());
        }
        Ok(Self::from_bytes(id))
    }
}

impl TryFrom<String> for RequestId {
    type Error = RequestIdError;

    fn try_from(text: String) -> Result<Self, RequestIdError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_id_is_read_as_it_is_shown_in_either_case(bits in any::<u128>()) {
            let id = RequestId::from_bytes(bits.to_be_bytes());
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(id.to_string().to_uppercase().parse(), Ok(id));
        }

        #[test]
        fn another_character_at_any_place_is_refused(
            bits in any::<u128>(), place in 0_usize..36, other in "[g-z/:@`é{ ]"
        ) {
            let mut text = RequestId::from_bytes(bits.to_be_bytes()).to_string();
            text.replace_range(place..=place, &other);
            prop_assert!(text.parse::<RequestId>().is_err());
        }
    }

    #[test]
    fn another_length_is_refused() {
        let id = RequestId::new(1, 2).to_string();
        for text in ["", &id[1..], &format!("{id}0")] {
            assert!(text.parse::<RequestId>().is_err(), "{text}");
        }
    }
}
