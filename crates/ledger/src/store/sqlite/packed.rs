//! The form of requests in a day's file: numbers, packed into batches.
//!
//! A commit writes one batch, whatever the number of its requests, so a request costs its
//! encoding and a share of a page instead of rows in several trees. Names and prices are
//! numbers of the same file.

use rusqlite::types::Type;
use serde::{Deserialize, Serialize};

use crate::money::Cost;
use crate::quantities::Quantities;
use crate::report::UsageSums;
use crate::request_id::RequestId;
use crate::rows::SettleClass;

/// A request with its attempts. The order of the fields is the format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PackedRequest {
    pub(super) id: [u8; 16],
    pub(super) key: i64,
    pub(super) team: i64,
    pub(super) user: i64,
    pub(super) tags: i64,
    pub(super) dialect: i64,
    pub(super) route: i64,
    pub(super) rule: i64,
    pub(super) model: i64,
    pub(super) outcome: i64,
    pub(super) status: u16,
    pub(super) duration_ms: u64,
    pub(super) first_token_ms: Option<u64>,
    pub(super) attempts: Vec<PackedAttempt>,
}

/// One attempt. The order of the fields is the format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PackedAttempt {
    pub(super) number: u16,
    /// As [`crate::AttemptKind::number`].
    pub(super) kind: i64,
    pub(super) target: i64,
    pub(super) price: Option<i64>,
    pub(super) used: Quantities,
    /// In nanodollars.
    pub(super) cost: Option<i64>,
    pub(super) reported_cost: Option<i64>,
    /// As [`SettleClass::number`].
    pub(super) settle: i64,
    pub(super) failure: i64,
}

impl PackedRequest {
    pub(super) fn id(&self) -> RequestId {
        RequestId::from_bytes(self.id)
    }

    /// Whether one of its names, the user's excepted, has this number.
    pub(super) fn uses_name(&self, name: i64) -> bool {
        let own = [
            self.key,
            self.team,
            self.tags,
            self.dialect,
            self.route,
            self.rule,
            self.model,
            self.outcome,
        ];
        own.contains(&name)
            || self
                .attempts
                .iter()
                .any(|attempt| attempt.target == name || attempt.failure == name)
    }

    /// Appends the request to a batch.
    pub(super) fn append_to(&self, batch: &mut Vec<u8>) -> rusqlite::Result<()> {
        let packed = postcard::to_extend(self, std::mem::take(batch));
        *batch = packed.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(())
    }
}

impl PackedAttempt {
    /// Whether the process died with it open.
    pub(super) fn is_lost(&self) -> bool {
        self.settle == SettleClass::Lost.number()
    }

    /// Whether some of its amounts are our own count or guess.
    pub(super) fn is_estimate(&self) -> bool {
        SettleClass::from_number(self.settle).is_some_and(SettleClass::is_estimate)
    }

    /// What it adds to sums.
    pub(super) fn sums(&self) -> UsageSums {
        let used = &self.used;
        let charged = self.reported_cost.or(self.cost);
        let settle = SettleClass::from_number(self.settle);
        let estimated = matches!(settle, Some(SettleClass::Partial | SettleClass::Estimated));
        let cost = Cost::from_nanodollars(charged.unwrap_or_default());
        UsageSums {
            requests: u64::from(self.number == 1),
            attempts: 1,
            input: used.input,
            cache_read: used.cache_read,
            cache_write_5m: used.cache_write_5m,
            cache_write_1h: used.cache_write_1h,
            output: used.output,
            reasoning: used.reasoning,
            images: used.images,
            cost,
            estimated_cost: match self.is_estimate() {
                true => cost,
                false => Cost::ZERO,
            },
            unpriced: u64::from(charged.is_none()),
            estimated: u64::from(estimated),
            lost: u64::from(self.is_lost()),
        }
    }
}

/// The requests of a batch, in order.
pub(super) fn unpack(mut batch: &[u8]) -> impl Iterator<Item = rusqlite::Result<PackedRequest>> {
    std::iter::from_fn(move || {
        if batch.is_empty() {
            return None;
        }
        Some(match postcard::take_from_bytes(batch) {
            Ok((request, rest)) => {
                batch = rest;
                Ok(request)
            }
            Err(error) => {
                // Requests after a damaged one cannot be found.
                batch = &[];
                let error = Box::new(error);
                Err(rusqlite::Error::FromSqlConversionFailure(
                    0,
                    Type::Blob,
                    error,
                ))
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(numbers: [i64; 4], counts: [u64; 3], attempts: u16) -> PackedRequest {
        let attempt = |number| PackedAttempt {
            number,
            kind: 1,
            target: numbers[0],
            price: Some(numbers[1]),
            used: Quantities {
                input: counts[0],
                output: counts[1],
                ..Quantities::default()
            },
            cost: Some(numbers[2]),
            reported_cost: None,
            settle: 2,
            failure: numbers[3],
        };
        PackedRequest {
            id: RequestId::new(numbers[2], 7).bytes(),
            key: numbers[1],
            duration_ms: counts[2],
            attempts: (0..attempts).map(attempt).collect(),
            ..PackedRequest::default()
        }
    }

    proptest! {
        #[test]
        fn a_batch_is_unpacked_as_it_was_packed(
            rows in prop::collection::vec((any::<[i64; 4]>(), any::<[u64; 3]>(), 0_u16..4), 0..6)
        ) {
            let rows: Vec<_> = rows.into_iter().map(|(n, c, a)| request(n, c, a)).collect();
            let mut batch = Vec::new();
            for row in &rows {
                row.append_to(&mut batch).unwrap();
            }
            let unpacked: Vec<_> = unpack(&batch).map(Result::unwrap).collect();
            prop_assert_eq!(unpacked, rows);
        }

        #[test]
        fn damaged_bytes_end_in_an_error_and_never_in_a_panic(bytes in any::<Vec<u8>>()) {
            let rows: Vec<_> = unpack(&bytes).collect();
            prop_assert!(rows.iter().rev().skip(1).all(Result::is_ok));
        }
    }
}
