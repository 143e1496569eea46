//! Money as integers: rates in picodollars, costs in nanodollars.
//!
//! No floating point anywhere: a report's total equals the sum of its rows to the last
//! digit. A cost is rounded half-up once, when its row is made.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

use serde::{Deserialize, Serialize};

/// Picodollars in one nanodollar.
const PICO_PER_NANO: u128 = 1_000;

/// An amount that is not written as a plain decimal number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Anything but digits and one point.
    #[error("`{0}` is not an amount of dollars; write a decimal number such as \"0.27\"")]
    NotDecimal(String),
    /// More decimal places than the unit has.
    #[error("`{text}` has more than {places} decimal places")]
    TooPrecise {
        /// The amount as written.
        text: String,
        /// The decimal places that the unit has.
        places: u32,
    },
    /// More than fits.
    #[error("`{0}` is more money than can be counted")]
    TooLarge(String),
}

/// The price of one unit (a token, an image, a request), in picodollars.
///
/// ```
/// use majordomo_ledger::Rate;
///
/// let rate = Rate::per_million("0.27").unwrap();
/// assert_eq!(rate.picodollars(), 270_000);
/// assert_eq!(rate.to_string(), "0.27");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// A rate of zero: explicitly free.
    pub const ZERO: Self = Self(0);

    /// A rate in picodollars.
    pub const fn from_picodollars(picodollars: u64) -> Self {
        Self(picodollars)
    }

    /// Parses dollars per million units. Six decimal places are exact.
    ///
    /// # Errors
    ///
    /// Fails for anything but a non-negative decimal number within the range.
    pub fn per_million(text: &str) -> Result<Self, MoneyError> {
        scaled(text, 6).map(Self)
    }

    /// Parses dollars per unit. Twelve decimal places are exact.
    ///
    /// # Errors
    ///
    /// Fails for anything but a non-negative decimal number within the range.
    pub fn per_unit(text: &str) -> Result<Self, MoneyError> {
        scaled(text, 12).map(Self)
    }

    /// The rate in picodollars.
    pub const fn picodollars(self) -> u64 {
        self.0
    }

    /// The price of `count` units, in picodollars.
    pub(crate) fn times(self, count: u64) -> u128 {
        u128::from(self.0) * u128::from(count)
    }
}

/// Dollars per million units.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal(f, self.0, 6, 0)
    }
}

/// An amount of money, in nanodollars. Negative only in corrections.
///
/// Arithmetic saturates.
///
/// ```
/// use majordomo_ledger::Cost;
///
/// assert_eq!(Cost::from_nanodollars(1_234_000).to_string(), "0.001234");
/// assert_eq!(Cost::parse_usd("5").unwrap().nanodollars(), 5_000_000_000);
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Cost(i64);

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount in nanodollars.
    pub const fn from_nanodollars(nanodollars: i64) -> Self {
        Self(nanodollars)
    }

    /// Rounds picodollars half-up.
    pub(crate) fn from_picodollars(picodollars: u128) -> Self {
        let rounded = picodollars.saturating_add(PICO_PER_NANO / 2) / PICO_PER_NANO;
        Self(i64::try_from(rounded).unwrap_or(i64::MAX))
    }

    /// Parses dollars. Nine decimal places are exact.
    ///
    /// # Errors
    ///
    /// Fails for anything but a non-negative decimal number within the range.
    pub fn parse_usd(text: &str) -> Result<Self, MoneyError> {
        let nano = scaled(text, 9)?;
        let nano = i64::try_from(nano).map_err(|_| MoneyError::TooLarge(text.to_owned()))?;
        Ok(Self(nano))
    }

    /// Parses a JSON number of dollars, rounded half-up to nanodollars. Upstreams report costs
    /// in this form, with an exponent if they are small.
    pub fn from_json_number(text: &str) -> Option<Self> {
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) || all.len() > 30 {
            return None;
        }
        // The value is `all` × 10^shift nanodollars.
        let shift = exponent.checked_add(9)? - i32::try_from(fraction.len()).ok()?;
        let value: u128 = all.parse().ok()?;
        let nano = if shift >= 0 {
            value.checked_mul(10_u128.checked_pow(shift.unsigned_abs())?)?
        } else {
            match 10_u128.checked_pow(shift.unsigned_abs()) {
                Some(unit) => value.saturating_add(unit / 2) / unit,
                None => 0,
            }
        };
        i64::try_from(nano).ok().map(Self)
    }

    /// The amount in nanodollars.
    pub const fn nanodollars(self) -> i64 {
        self.0
    }
}

/// Dollars, with as many decimal places as needed and at least two.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        decimal(f, self.0.unsigned_abs(), 9, 2)
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Cost {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Cost {
    type Output = Self;

    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// A decimal number as an integer of 10^-`places`.
fn scaled(text: &str, places: u32) -> Result<u64, MoneyError> {
    let not_decimal = || MoneyError::NotDecimal(text.to_owned());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(not_decimal());
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > places as usize {
        let text = text.to_owned();
        return Err(MoneyError::TooPrecise { text, places });
    }
    let all = format!("{whole}{fraction:0<width$}", width = places as usize);
    all.parse()
        .map_err(|_| MoneyError::TooLarge(text.to_owned()))
}

/// Writes `value` × 10^-`places` with at least `least` decimal places; at most 19 are known.
///
/// Every request's cost is written, so this does not allocate.
fn decimal(f: &mut fmt::Formatter<'_>, value: u64, places: u32, least: usize) -> fmt::Result {
    let unit = 10_u64.pow(places);
    let (whole, mut fraction) = (value / unit, value % unit);
    let mut digits = [b'0'; 19];
    let places = digits.len().min(places as usize);
    for digit in digits[..places].iter_mut().rev() {
        *digit += (fraction % 10) as u8;
        fraction /= 10;
    }
    let significant = digits[..places].iter().rposition(|digit| *digit != b'0');
    let kept = significant
        .map_or(0, |last| last + 1)
        .max(least)
        .min(places);
    write!(f, "{whole}")?;
    if kept > 0 {
        f.write_str(".")?;
        f.write_str(str::from_utf8(&digits[..kept]).unwrap_or_default())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_parsed_exactly_or_refused() {
        let rate = |text| Rate::per_million(text).map(Rate::picodollars);
        assert_eq!(rate("0.27"), Ok(270_000));
        assert_eq!(rate("15"), Ok(15_000_000));
        assert_eq!(rate("0.000001"), Ok(1));
        assert_eq!(rate("1.500000000"), Ok(1_500_000));
        for text in ["", "-1", "1e3", ".5", "0,27", "1.2.3", " 1", "NaN", "1_000"] {
            assert!(
                matches!(rate(text), Err(MoneyError::NotDecimal(_))),
                "{text}"
            );
        }
        assert!(matches!(
            rate("0.0000001"),
            Err(MoneyError::TooPrecise { .. })
        ));
        assert!(matches!(
            rate("99999999999999999999"),
            Err(MoneyError::TooLarge(_))
        ));
    }

    #[test]
    fn a_cost_is_rounded_half_up_to_nanodollars() {
        let nano = |pico| Cost::from_picodollars(pico).nanodollars();
        assert_eq!(
            [nano(499), nano(500), nano(1_499), nano(1_500)],
            [0, 1, 1, 2]
        );
        assert_eq!(nano(u128::MAX), i64::MAX);
    }

    #[test]
    fn a_cost_reported_as_a_json_number_is_read_without_floating_point() {
        let nano = |text| Cost::from_json_number(text).map(Cost::nanodollars);
        assert_eq!(nano("0.00014"), Some(140_000));
        assert_eq!(nano("1.4e-4"), Some(140_000));
        assert_eq!(nano("3E-10"), Some(0));
        assert_eq!(nano("5e-10"), Some(1));
        assert_eq!(nano("2"), Some(2_000_000_000));
        assert_eq!(nano("1e-99"), Some(0));
        for text in ["-1", "", "e5", "1e99", "null", "0x1"] {
            assert_eq!(nano(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_are_printed_with_the_places_they_need() {
        let cost = |nano| Cost::from_nanodollars(nano).to_string();
        assert_eq!(cost(0), "0.00");
        assert_eq!(cost(1_234_000), "0.001234");
        assert_eq!(cost(-5_000_000_000), "-5.00");
        assert_eq!(cost(1), "0.000000001");
        assert_eq!(Rate::from_picodollars(3_000_000).to_string(), "3");
    }
}
