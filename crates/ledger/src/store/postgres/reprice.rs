//! Reprices past attempts, with compensating rows.

use tokio_postgres::{Client, Error, Row};

use crate::civil::Day;
use crate::money::Cost;
use crate::report::{RepriceReport, RepriceSubject};
use crate::request_id::RequestId;
use crate::rows::SettleClass;
use crate::store::RepriceFn;

use super::insert::Known;
use super::partitions;
use super::reports::quantities;
use super::rollup::{self, Group, RollupChanges};

/// Corrects the rows of the range, in one transaction per day.
pub(super) async fn reprice(
    client: &mut Client,
    known: &mut Known,
    [since, until]: [i64; 2],
    made: i64,
    price: &mut RepriceFn<'_>,
) -> Result<RepriceReport, Error> {
    let mut report = RepriceReport::default();
    for day in partitions::days(client).await? {
        if day < Day::of_millis(since) || day.start_millis() >= until {
            continue;
        }
        let [first, end] = partitions::id_range(day);
        let from = RequestId::first_at(since).max(first);
        let to = RequestId::first_at(until).min(end);
        reprice_day(client, known, [from, to], made, price, &mut report).await?;
    }
    Ok(report)
}

/// Attempts with our own price: not free ones, ones paid by the client, or ones with a cost
/// reported by the upstream.
const PAST: &str = "
    SELECT a.request, a.number, t.text, a.cost,
        (SELECT sum(c.difference)::bigint FROM correction c
         WHERE c.request = a.request AND c.number = a.number),
        r.key, r.team, r.model, a.target, r.tags,
        a.input, a.cache_read, a.cache_write_5m, a.cache_write_1h, a.image_input, a.output,
        a.reasoning, a.images, a.settle
    FROM attempt a JOIN request r ON r.id = a.request JOIN name t ON t.id = a.target
    WHERE a.request >= $1 AND a.request < $2 AND a.reported_cost IS NULL AND a.settle <> ALL($3)";

async fn reprice_day(
    client: &mut Client,
    known: &mut Known,
    [from, to]: [RequestId; 2],
    made: i64,
    price: &mut RepriceFn<'_>,
    report: &mut RepriceReport,
) -> Result<(), Error> {
    let unpriced = [SettleClass::Free, SettleClass::ClientPaid];
    let unpriced = unpriced.map(|settle| settle.number() as i16).to_vec();
    let past = client.query(PAST, &[&from, &to, &unpriced]).await?;
    let tags: Vec<Option<String>> = past
        .iter()
        .map(|row| row.try_get(9))
        .collect::<Result<_, _>>()?;
    let names = tags
        .iter()
        .flatten()
        .flat_map(|tags| tags.split(','))
        .collect();
    known.names.learn(client, &names).await?;
    let transaction = client.transaction().await?;
    let mut rollup = RollupChanges::default();
    for (row, tags) in past.iter().zip(&tags) {
        report.attempts += 1;
        let request: RequestId = row.try_get(0)?;
        let charged = charged(row)?;
        let subject = RepriceSubject {
            target: row.try_get::<_, String>(2)?.into(),
            at_millis: request.millis(),
        };
        let used = quantities(row, 10)?;
        let priced = price(&subject).and_then(|card| Some((card.cost(&used)?, card)));
        let Some((cost, card)) = priced else {
            report.unpriced += u64::from(charged.is_none());
            continue;
        };
        let difference = cost - charged.unwrap_or_default();
        if difference == Cost::ZERO && charged.is_some() {
            continue;
        }
        let hash = card.id().get();
        transaction
            .execute(
                "INSERT INTO price VALUES ($1, $2) ON CONFLICT DO NOTHING",
                &[&hash, &&*card.text()],
            )
            .await?;
        let number: i32 = row.try_get(1)?;
        let inserted = transaction
            .execute(
                "INSERT INTO correction VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
                &[
                    &request,
                    &number,
                    &made,
                    &hash,
                    &difference.nanodollars(),
                    &charged.is_none(),
                ],
            )
            .await?;
        if inserted == 0 {
            continue;
        }
        let tags = tags.iter().flat_map(|tags| tags.split(','));
        let group = Group {
            key: row.try_get(5)?,
            team: row.try_get(6)?,
            model: row.try_get(7)?,
            target: row.try_get(8)?,
            tags: tags.map(|tag| known.names.id(Some(tag))).collect(),
        };
        let settle: i16 = row.try_get(18)?;
        let settle = SettleClass::from_number(settle.into());
        let estimate = settle.is_some_and(SettleClass::is_estimate);
        let amounts = rollup::of_correction(difference, charged.is_none(), estimate);
        rollup.add(request, &group, &amounts);
        report.corrected += 1;
        report.difference += difference;
    }
    rollup.apply(&transaction).await?;
    transaction.commit().await
}

/// The present cost of an attempt.
fn charged(row: &Row) -> Result<Option<Cost>, Error> {
    let (cost, corrected): (Option<i64>, Option<i64>) = (row.try_get(3)?, row.try_get(4)?);
    let charged = match (cost, corrected) {
        (None, None) => None,
        (cost, corrected) => Some(cost.unwrap_or(0).saturating_add(corrected.unwrap_or(0))),
    };
    Ok(charged.map(Cost::from_nanodollars))
}
