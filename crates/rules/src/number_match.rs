//! Number matchers, shared by all positions that read a number.

use serde_json::Value;

use super::error::InvalidValue;
use super::value;

/// Compares a number with a configured one.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberMatch {
    compare: Compare,
    with: u64,
}

/// The comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    /// `ge`: at least.
    AtLeast,
    /// `gt`: more than.
    MoreThan,
    /// `le`: at most.
    AtMost,
    /// `lt`: less than.
    LessThan,
    /// `eq`: exactly.
    Exactly,
}

impl NumberMatch {
    /// Compiles the condition's value.
    pub(super) fn compile(value: Option<&Value>, compare: Compare) -> Result<Self, InvalidValue> {
        let with = value::number(value)?;
        Ok(Self { compare, with })
    }

    /// Whether the number satisfies the comparison.
    pub(super) fn holds(self, number: u64) -> bool {
        match self.compare {
            Compare::AtLeast => number >= self.with,
            Compare::MoreThan => number > self.with,
            Compare::AtMost => number <= self.with,
            Compare::LessThan => number < self.with,
            Compare::Exactly => number == self.with,
        }
    }

    /// [`holds`](Self::holds) for measured values.
    pub(super) fn holds_measured(self, number: f64) -> bool {
        let with = self.with as f64;
        match self.compare {
            Compare::AtLeast => number >= with,
            Compare::MoreThan => number > with,
            Compare::AtMost => number <= with,
            Compare::LessThan => number < with,
            Compare::Exactly => number == with,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comparisons_behave_as_named() {
        for (compare, below, same, above) in [
            (Compare::AtLeast, false, true, true),
            (Compare::MoreThan, false, false, true),
            (Compare::AtMost, true, true, false),
            (Compare::LessThan, true, false, false),
            (Compare::Exactly, false, true, false),
        ] {
            let ten = NumberMatch::compile(Some(&json!(10)), compare).unwrap();
            let held = [9, 10, 11].map(|number| ten.holds(number));
            assert_eq!(held, [below, same, above], "{compare:?}");
            let held = [9.9, 10.0, 10.1].map(|number| ten.holds_measured(number));
            assert_eq!(held, [below, same, above], "{compare:?}");
        }
    }
}
