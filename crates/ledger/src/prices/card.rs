//! Rates of one model, and the cost of quantities at these rates.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::money::{Cost, MoneyError, Rate};
use crate::quantities::Quantities;

/// The rates of one tier. A missing rate is unknown, unless the field states which other rate
/// applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Per input token.
    pub input: Option<Rate>,
    /// Per output token.
    pub output: Option<Rate>,
    /// Per input token read from the cache; otherwise `input`.
    pub cache_read: Option<Rate>,
    /// Per input token written to the cache for five minutes; otherwise `input`.
    pub cache_write_5m: Option<Rate>,
    /// Per input token written to the cache for one hour; otherwise `cache_write_5m`.
    pub cache_write_1h: Option<Rate>,
    /// Per image token; otherwise `input`.
    pub image_input: Option<Rate>,
    /// Per reasoning token; otherwise `output`.
    pub reasoning: Option<Rate>,
    /// Per generated image; otherwise nothing if the image was reported as output tokens.
    pub image: Option<Rate>,
    /// Per request; otherwise nothing.
    pub request: Option<Rate>,
}

/// Letters of the rates in the table and in stored price texts.
const LETTERS: [char; 9] = ['i', 'o', 'r', 'w', 'h', 'm', 'x', 'p', 'q'];

impl Rates {
    /// Everything at zero: a provider that costs nothing.
    pub const FREE: Self = Self {
        input: Some(Rate::ZERO),
        output: Some(Rate::ZERO),
        cache_read: None,
        cache_write_5m: None,
        cache_write_1h: None,
        image_input: None,
        reasoning: None,
        image: None,
        request: None,
    };

    fn fields(&self) -> [Option<Rate>; 9] {
        [
            self.input,
            self.output,
            self.cache_read,
            self.cache_write_5m,
            self.cache_write_1h,
            self.image_input,
            self.reasoning,
            self.image,
            self.request,
        ]
    }

    fn field_mut(&mut self, letter: char) -> Option<&mut Option<Rate>> {
        Some(match letter {
            'i' => &mut self.input,
            'o' => &mut self.output,
            'r' => &mut self.cache_read,
            'w' => &mut self.cache_write_5m,
            'h' => &mut self.cache_write_1h,
            'm' => &mut self.image_input,
            'x' => &mut self.reasoning,
            'p' => &mut self.image,
            'q' => &mut self.request,
            _ => return None,
        })
    }

    /// These rates, completed from `under`.
    pub(crate) fn or(self, under: Self) -> Self {
        Self {
            input: self.input.or(under.input),
            output: self.output.or(under.output),
            cache_read: self.cache_read.or(under.cache_read),
            cache_write_5m: self.cache_write_5m.or(under.cache_write_5m),
            cache_write_1h: self.cache_write_1h.or(under.cache_write_1h),
            image_input: self.image_input.or(under.image_input),
            reasoning: self.reasoning.or(under.reasoning),
            image: self.image.or(under.image),
            request: self.request.or(under.request),
        }
    }

    /// The cost, or `None` if the rate of a used unit is unknown.
    fn cost(&self, used: &Quantities) -> Option<Cost> {
        let write = self.cache_write_5m.or(self.input);
        // Generated images are output tokens, or have a price of their own.
        let counted = used.output > 0 || self.output == Some(Rate::ZERO);
        let tokens = counted.then_some(Rate::ZERO);
        let portions = [
            (used.fresh_input(), self.input),
            (used.cache_read, self.cache_read.or(self.input)),
            (used.cache_write_5m, write),
            (used.cache_write_1h, self.cache_write_1h.or(write)),
            (used.image_input, self.image_input.or(self.input)),
            (used.visible_output(), self.output),
            (
                used.reasoning.min(used.output),
                self.reasoning.or(self.output),
            ),
            (used.images, self.image.or(tokens)),
            (1, self.request.or(Some(Rate::ZERO))),
        ];
        let mut sum = 0_u128;
        for (count, rate) in portions {
            if count > 0 {
                sum = sum.saturating_add(rate?.times(count));
            }
        }
        Some(Cost::from_picodollars(sum))
    }

    /// The highest rate for input, for reservations.
    pub fn highest_input(&self) -> Option<Rate> {
        let input = [
            self.input,
            self.cache_read,
            self.cache_write_5m,
            self.cache_write_1h,
            self.image_input,
        ];
        self.input?;
        input.into_iter().flatten().max()
    }
}

/// Identifies the rates of a card: equal rates have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceId(i64);

impl PriceId {
    /// The id as stored.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// An id read from a store.
    pub(crate) const fn from_stored(id: i64) -> Self {
        Self(id)
    }
}

impl fmt::Display for PriceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The price of one model: rates, and other rates for requests above a threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceCard {
    id: PriceId,
    /// The rates as `Display` writes them.
    text: Arc<str>,
    base: Rates,
    /// Thresholds of input tokens in ascending order, with complete rates.
    tiers: Vec<(u64, Rates)>,
}

impl PriceCard {
    /// A card with tiers: the last tier whose threshold the input exceeds applies to the
    /// whole request.
    pub fn new(base: Rates, tiers: impl IntoIterator<Item = (u64, Rates)>) -> Self {
        let mut tiers: Vec<_> = tiers.into_iter().collect();
        tiers.sort_by_key(|(above, _)| *above);
        let mut under = base;
        for (_, rates) in &mut tiers {
            *rates = rates.or(under);
            under = *rates;
        }
        let mut card = Self {
            id: PriceId(0),
            text: Arc::default(),
            base,
            tiers,
        };
        card.text = card.to_string().into();
        let hash = blake3::hash(card.text.as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        card.id = PriceId(i64::from_le_bytes(first) & i64::MAX);
        card
    }

    /// The card of a provider that costs nothing.
    pub fn free() -> Self {
        Self::new(Rates::FREE, [])
    }

    /// The id of these rates.
    pub fn id(&self) -> PriceId {
        self.id
    }

    /// The rates as text, as stores keep them.
    pub(crate) fn text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The rates for a request with this much input.
    pub fn rates(&self, input: u64) -> &Rates {
        let tiers = self.tiers.iter().rev();
        let tier = tiers.clone().find(|(above, _)| input > *above);
        tier.map_or(&self.base, |(_, rates)| rates)
    }

    /// The thresholds and their rates.
    pub fn tiers(&self) -> &[(u64, Rates)] {
        &self.tiers
    }

    /// The cost of an attempt, or `None` if the rate of a used unit is unknown.
    pub fn cost(&self, used: &Quantities) -> Option<Cost> {
        self.rates(used.input).cost(used)
    }
}

/// The rates as in the table, such as `i0.27 o1.1 r0.07`, tiers after `>threshold`.
impl fmt::Display for PriceCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rates_text(&self.base))?;
        for (above, rates) in &self.tiers {
            write!(f, " >{above} {}", rates_text(rates))?;
        }
        Ok(())
    }
}

fn rates_text(rates: &Rates) -> String {
    let mut text = String::new();
    for (letter, rate) in LETTERS.into_iter().zip(rates.fields()) {
        if let Some(rate) = rate {
            let space = if text.is_empty() { "" } else { " " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{space}{letter}{rate}");
        }
    }
    text
}

/// Reads what [`PriceCard`]'s `Display` writes.
pub(crate) fn parse_rates(text: &str) -> Result<PriceCard, MoneyError> {
    let mut base = Rates::default();
    let mut tiers: Vec<(u64, Rates)> = Vec::new();
    for word in text.split_ascii_whitespace() {
        let not_decimal = || MoneyError::NotDecimal(word.to_owned());
        let mut letters = word.chars();
        let letter = letters.next().ok_or_else(not_decimal)?;
        if letter == '>' {
            let above = letters.as_str().parse().map_err(|_| not_decimal())?;
            tiers.push((above, Rates::default()));
            continue;
        }
        let rates = tiers.last_mut().map_or(&mut base, |(_, rates)| rates);
        let field = rates.field_mut(letter).ok_or_else(not_decimal)?;
        *field = Some(Rate::per_million(letters.as_str())?);
    }
    Ok(PriceCard::new(base, tiers))
}
