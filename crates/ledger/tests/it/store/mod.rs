//! What every store does. `store_tests!` runs all of it against one kind of store.

use std::sync::Arc;

use majordomo_ledger::{
    Cost, Day, FinishedRow, GroupBy, Lease, LeaseRequest, LedgerEntry, Opening, Payer, RequestId,
    RequestQuery, SettleClass, Store, UsageQuery, UsageSums,
};

use crate::rows::{NOON, SIMPLE_COST, all, attempt, card, finished, opened, simple};

/// Opens the same store again, as another process would.
pub(crate) trait Place {
    fn open(&self) -> Box<dyn Store>;

    /// Closes a store as the end of its process would.
    fn close(&self, store: Box<dyn Store>) {
        drop(store);
    }
}

pub(crate) fn total(store: &mut dyn Store) -> UsageSums {
    store.usage(&all()).unwrap()[0].sums
}

fn by(group: GroupBy) -> UsageQuery {
    UsageQuery {
        by: vec![group],
        ..all()
    }
}

pub(crate) fn an_attempt_is_written_once_however_often_it_is_delivered(place: &dyn Place) {
    let mut store = place.open();
    let entries = [simple(0, 1, "laptop"), simple(5, 2, "laptop")];
    for _ in 0..3 {
        store.write(&entries).unwrap();
    }
    drop(store);
    let mut store = place.open();
    store.write(&entries).unwrap();
    let sums = total(&mut *store);
    assert_eq!((sums.requests, sums.attempts), (2, 2));
    assert_eq!(sums.cost, SIMPLE_COST + SIMPLE_COST);
    assert_eq!(store.verify().unwrap().problems, [] as [&str; 0]);
}

pub(crate) fn a_duplicate_settle_keeps_the_first_row(place: &dyn Place) {
    let mut store = place.open();
    let id = RequestId::new(NOON, 1);
    let row = |input| {
        let attempts = vec![attempt(1, "up/m", input, 0)];
        LedgerEntry::Finished(finished(id, "laptop", attempts))
    };
    store.write(&[row(100)]).unwrap();
    store.write(&[row(999), row(5)]).unwrap();
    assert_eq!(total(&mut *store).input, 100);
}

pub(crate) fn what_was_written_is_read_back_field_by_field(place: &dyn Place) {
    let mut store = place.open();
    let id = RequestId::new(NOON, 7);
    let mut failed = attempt(1, "a/m", 12, 0);
    failed.settle = SettleClass::Free;
    failed.failure = Some("rate_limited".into());
    failed.price = None;
    failed.cost = Some(Cost::ZERO);
    let mut served = attempt(2, "b/m", 1_000, 50);
    served.used.cache_read = 200;
    served.used.cache_write_5m = 300;
    served.used.cache_write_1h = 400;
    served.used.reasoning = 20;
    served.used.images = 2;
    served.used.image_input = 50;
    served.reported_cost = Some(Cost::from_nanodollars(123));
    let mut row = finished(id, "laptop", vec![failed, served]);
    row.request.user = Some("ada@example.com".into());
    row.request.tags = vec!["project=x".into(), "env=ci".into()];
    row.request.rule = Some("images".into());
    store.write(&[LedgerEntry::Finished(row.clone())]).unwrap();
    let found = store
        .requests(&RequestQuery {
            limit: 10,
            ..RequestQuery::default()
        })
        .unwrap();
    assert_eq!(found.len(), 1);
    let stored = FinishedRow {
        request: found[0].request.clone(),
        attempts: found[0].attempts.clone(),
    };
    assert_eq!(stored, row);
    // The cost reported by the upstream counts.
    assert_eq!(total(&mut *store).cost, Cost::from_nanodollars(123));
}

pub(crate) fn usage_is_grouped_and_an_unknown_price_is_counted_apart(place: &dyn Place) {
    let mut store = place.open();
    let mut unknown = attempt(1, "mine/m", 100, 10);
    (unknown.price, unknown.cost) = (None, None);
    let unknown = finished(RequestId::new(NOON, 3), "phone", vec![unknown]);
    store
        .write(&[
            simple(0, 1, "laptop"),
            simple(1, 2, "laptop"),
            LedgerEntry::Finished(unknown),
        ])
        .unwrap();
    let rows = store.usage(&by(GroupBy::Key)).unwrap();
    let mut keys: Vec<_> = rows
        .iter()
        .map(|row| (row.group[0].as_str(), row.sums.cost, row.sums.unpriced))
        .collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            ("laptop", SIMPLE_COST + SIMPLE_COST, 0),
            ("phone", Cost::ZERO, 1)
        ]
    );
    let by_two = UsageQuery {
        by: vec![GroupBy::Target, GroupBy::Day],
        ..all()
    };
    let rows = store.usage(&by_two).unwrap();
    assert!(rows.iter().all(|row| row.group[1] == "2026-11-17"));
    assert_eq!(rows.len(), 2);
}

pub(crate) fn the_dearest_group_is_first_and_equals_are_in_the_order_of_their_names(
    place: &dyn Place,
) {
    let mut store = place.open();
    let day = 86_400_000;
    store
        .write(&[
            simple(0, 1, "b"),
            simple(0, 2, "a"),
            simple(0, 3, "dear"),
            simple(1, 4, "dear"),
            simple(-day, 5, "b"),
        ])
        .unwrap();
    let mut groups = |by: &[GroupBy]| -> Vec<String> {
        let query = UsageQuery {
            by: by.to_vec(),
            since_millis: NOON - 2 * day,
            ..all()
        };
        let rows = store.usage(&query).unwrap();
        rows.iter().map(|row| row.group.join(" ")).collect()
    };
    assert_eq!(groups(&[GroupBy::Key]), ["b", "dear", "a"]);
    assert_eq!(
        groups(&[GroupBy::Key, GroupBy::Day]),
        [
            "b 2026-11-16",
            "dear 2026-11-17",
            "a 2026-11-17",
            "b 2026-11-17"
        ]
    );
}

pub(crate) fn tags_are_summed_apart_and_never_into_totals(place: &dyn Place) {
    let mut store = place.open();
    let mut row = finished(
        RequestId::new(NOON, 1),
        "laptop",
        vec![attempt(1, "up/m", 100, 10)],
    );
    row.request.tags = vec!["project=x".into(), "env=ci".into()];
    store.write(&[LedgerEntry::Finished(row)]).unwrap();
    let rows = store.usage(&by(GroupBy::Tag)).unwrap();
    let mut tags: Vec<_> = rows.iter().map(|row| row.group[0].clone()).collect();
    tags.sort_unstable();
    assert_eq!(tags, ["env=ci", "project=x"]);
    assert!(rows.iter().all(|row| row.sums.cost == SIMPLE_COST));
    assert_eq!(total(&mut *store).cost, SIMPLE_COST);
}

pub(crate) fn a_zone_with_a_half_hour_offset_has_its_own_days(place: &dyn Place) {
    let mut store = place.open();
    // 18:30 UTC is midnight in India.
    let midnight = Day::of_millis(NOON).start_millis() + (18 * 60 + 30) * 60_000 - NOON;
    store
        .write(&[simple(midnight - 1, 1, "k"), simple(midnight, 2, "k")])
        .unwrap();
    let query = UsageQuery {
        utc_offset_minutes: 330,
        ..by(GroupBy::Day)
    };
    let rows = store.usage(&query).unwrap();
    let days: Vec<_> = rows.iter().map(|row| row.group[0].as_str()).collect();
    assert_eq!(days, ["2026-11-17", "2026-11-18"]);
}

pub(crate) fn requests_are_listed_newest_first_and_paged_across_days(place: &dyn Place) {
    let mut store = place.open();
    let day = 86_400_000;
    let entries: Vec<_> = (0..10)
        .map(|n| simple(-day * (n / 2), n as u128, if n < 5 { "a" } else { "b" }))
        .collect();
    store.write(&entries).unwrap();
    let mut query = RequestQuery {
        limit: 3,
        ..RequestQuery::default()
    };
    let mut seen = Vec::new();
    loop {
        let page = store.requests(&query).unwrap();
        let Some(last) = page.last() else { break };
        query.before = Some(last.request.id);
        seen.extend(page.into_iter().map(|found| found.request.id));
    }
    assert_eq!(seen.len(), 10);
    assert!(seen.windows(2).all(|pair| pair[0] > pair[1]), "{seen:?}");
    let only_b = RequestQuery {
        key: Some("b".to_owned()),
        limit: 100,
        ..RequestQuery::default()
    };
    assert_eq!(store.requests(&only_b).unwrap().len(), 5);
}

pub(crate) fn retention_drops_rows_and_keeps_rollups(place: &dyn Place) {
    let mut store = place.open();
    let day = 86_400_000;
    let entries = [0, 1, 2, 3].map(|n| simple(-day * n, n as u128, "laptop"));
    store.write(&entries).unwrap();
    let today = Day::of_millis(NOON);
    let dropped = store.drop_before(today.minus(1)).unwrap();
    assert_eq!(dropped, [today.minus(3), today.minus(2)]);
    let listed = store.requests(&RequestQuery {
        limit: 100,
        ..RequestQuery::default()
    });
    assert_eq!(listed.unwrap().len(), 2);
    assert_eq!(total(&mut *store).requests, 4);
    // A row that arrives late for a dropped day is counted, too.
    store.write(&[simple(-day * 3, 99, "laptop")]).unwrap();
    assert_eq!(total(&mut *store).requests, 5);
    assert_eq!(store.verify().unwrap().problems, [] as [&str; 0]);
}

pub(crate) fn a_forgotten_user_is_nowhere_and_the_requests_stay(place: &dyn Place) {
    let mut store = place.open();
    let entry = |at, random, user: &str| {
        let id = RequestId::new(NOON + at, random);
        let mut row = finished(id, "laptop", vec![attempt(1, "up/m", 100, 10)]);
        row.request.user = Some(user.into());
        LedgerEntry::Finished(row)
    };
    let day = 86_400_000;
    store
        .write(&[
            entry(0, 1, "ada"),
            entry(-day, 2, "ada"),
            entry(0, 3, "bob"),
        ])
        .unwrap();
    assert_eq!(store.forget_user("ada").unwrap(), 2);
    assert_eq!(store.forget_user("ada").unwrap(), 0);
    let found = store.requests(&RequestQuery {
        limit: 100,
        ..RequestQuery::default()
    });
    let found = found.unwrap();
    let mut users: Vec<_> = found
        .iter()
        .map(|row| row.request.user.as_deref())
        .collect();
    users.sort_unstable();
    assert_eq!(users, [None, None, Some("bob")]);
    assert_eq!(total(&mut *store).requests, 3);
}

pub(crate) fn an_open_attempt_of_a_dead_process_becomes_lost_once(place: &dyn Place) {
    let mut store = place.open();
    let id = RequestId::new(NOON, 1);
    store.write(&[opened(id, 1)]).unwrap();
    // While its process lives, another one leaves it alone.
    let mut other = place.open();
    assert_eq!(other.recover().unwrap(), 0);
    place.close(store);
    assert_eq!(other.recover().unwrap(), 1);
    assert_eq!(other.recover().unwrap(), 0);
    let sums = total(&mut *other);
    assert_eq!((sums.lost, sums.input), (1, 500));
    assert_eq!(sums.cost, Cost::from_nanodollars(500_000));
}

pub(crate) fn an_attempt_that_was_settled_is_not_lost(place: &dyn Place) {
    let mut store = place.open();
    let LedgerEntry::Finished(row) = simple(0, 1, "laptop") else {
        unreachable!()
    };
    store.write(&[opened(row.request.id, 1)]).unwrap();
    store.write(&[LedgerEntry::Finished(row)]).unwrap();
    place.close(store);
    let mut store = place.open();
    assert_eq!(store.recover().unwrap(), 0);
    let sums = total(&mut *store);
    assert_eq!((sums.attempts, sums.lost), (1, 0));
}

pub(crate) fn rows_that_arrive_after_all_replace_what_was_called_lost(place: &dyn Place) {
    let mut store = place.open();
    let LedgerEntry::Finished(mut row) = simple(0, 1, "laptop") else {
        unreachable!()
    };
    row.request.team = None;
    let id = row.request.id;
    store
        .write(&[opened(id, 1), opened(id, 2), simple(1, 2, "laptop")])
        .unwrap();
    place.close(store);
    // Another process calls them lost, while theirs is only cut off from the store.
    let mut store = place.open();
    assert_eq!(store.recover().unwrap(), 2);
    assert_eq!(
        (total(&mut *store).lost, total(&mut *store).requests),
        (2, 2)
    );
    store.write(&[LedgerEntry::Finished(row.clone())]).unwrap();
    let sums = total(&mut *store);
    assert_eq!((sums.lost, sums.requests, sums.attempts), (0, 2, 2));
    assert_eq!(sums.cost, SIMPLE_COST + SIMPLE_COST);
    assert_eq!(store.verify().unwrap().problems, [] as [&str; 0]);
    let found = store.requests(&RequestQuery {
        limit: 10,
        ..RequestQuery::default()
    });
    assert_eq!(found.unwrap()[1].request, row.request);
    // Delivered once more, and looked for once more: nothing changes.
    store.write(&[LedgerEntry::Finished(row)]).unwrap();
    assert_eq!(store.recover().unwrap(), 0);
    assert_eq!(total(&mut *store), sums);
}

pub(crate) fn repricing_writes_compensating_rows_and_the_old_report_stays(place: &dyn Place) {
    let mut store = place.open();
    let mut unknown = attempt(1, "mine/m", 100, 10);
    (unknown.price, unknown.cost) = (None, None);
    let unknown = finished(RequestId::new(NOON, 3), "phone", vec![unknown]);
    store
        .write(&[simple(0, 1, "laptop"), LedgerEntry::Finished(unknown)])
        .unwrap();
    let before = store.usage(&by(GroupBy::Key)).unwrap();
    let doubled = Arc::new(card("2", "20"));
    let range = (all().since_millis, all().until_millis);
    let mut reprice = |made| {
        let price = Arc::clone(&doubled);
        let report = store.reprice(range.0, range.1, made, &mut |_| Some(Arc::clone(&price)));
        report.unwrap()
    };
    let report = reprice(NOON + 1);
    assert_eq!((report.attempts, report.corrected), (2, 2));
    // The same prices again: there is nothing to correct.
    assert_eq!(reprice(NOON + 2).corrected, 0);
    let double = SIMPLE_COST + SIMPLE_COST;
    let sums = total(&mut *store);
    assert_eq!((sums.cost, sums.unpriced), (double + double, 0));
    let recorded = UsageQuery {
        as_recorded: true,
        ..by(GroupBy::Key)
    };
    assert_eq!(store.usage(&recorded).unwrap(), before);
    assert_eq!(store.verify().unwrap().problems, [] as [&str; 0]);
}

pub(crate) fn the_cost_of_estimates_is_apart_before_and_after_a_correction(place: &dyn Place) {
    let mut store = place.open();
    for (random, settle) in [
        (1, SettleClass::Reported),
        (2, SettleClass::Partial),
        (3, SettleClass::Estimated),
        (4, SettleClass::Free),
    ] {
        let mut row = attempt(1, "up/m", 100, 10);
        row.settle = settle;
        let mut row = finished(RequestId::new(NOON, random), "laptop", vec![row]);
        row.request.tags = vec!["project=x".into()];
        store.write(&[LedgerEntry::Finished(row)]).unwrap();
    }
    // One was open when its process died, and its row arrives after all.
    let late = RequestId::new(NOON, 5);
    store.write(&[opened(late, 1)]).unwrap();
    place.close(store);
    let mut store = place.open();
    store.recover().unwrap();
    let guess = Cost::from_nanodollars(500_000);
    let sums = total(&mut *store);
    assert_eq!(sums.estimated_cost, SIMPLE_COST + SIMPLE_COST + guess);
    let row = finished(late, "laptop", vec![attempt(1, "up/m", 100, 10)]);
    store.write(&[LedgerEntry::Finished(row)]).unwrap();
    let sums = total(&mut *store);
    assert_eq!(sums.estimated_cost, SIMPLE_COST + SIMPLE_COST);
    assert_eq!((sums.estimated, sums.lost), (2, 0));
    let tagged = store.usage(&by(GroupBy::Tag)).unwrap();
    assert_eq!(tagged[0].sums.estimated_cost, SIMPLE_COST + SIMPLE_COST);

    let double = Arc::new(card("2", "20"));
    let (since, until) = (all().since_millis, all().until_millis);
    let mut price = |_: &majordomo_ledger::RepriceSubject| Some(Arc::clone(&double));
    store.reprice(since, until, NOON + 1, &mut price).unwrap();
    let twice = |cost: Cost| cost + cost;
    let sums = total(&mut *store);
    assert_eq!(sums.estimated_cost, twice(SIMPLE_COST + SIMPLE_COST));
    let recorded = UsageQuery {
        as_recorded: true,
        ..all()
    };
    let recorded = store.usage(&recorded).unwrap()[0].sums;
    assert_eq!(recorded.estimated_cost, SIMPLE_COST + SIMPLE_COST);
}

fn cents(n: i64) -> Cost {
    Cost::from_nanodollars(n * 10_000_000)
}

/// Asks for a slice of a dollar a day.
fn ask(amount: Cost) -> LeaseRequest {
    LeaseRequest {
        budget: "key/laptop/day".into(),
        window: 20_409,
        limit: cents(100),
        amount,
        least: Cost::from_nanodollars(1),
        opening: None,
    }
}

fn lease(store: &mut dyn Store, ask: &LeaseRequest) -> Option<Lease> {
    store.grant_lease(ask).unwrap().lease
}

pub(crate) fn settled_and_leased_never_exceed_the_limit(place: &dyn Place) {
    let mut nodes = [place.open(), place.open(), place.open()];
    let a = lease(&mut *nodes[0], &ask(cents(40))).unwrap();
    let b = lease(&mut *nodes[1], &ask(cents(40))).unwrap();
    let c = lease(&mut *nodes[2], &ask(cents(40))).unwrap();
    assert_eq!([a.amount, b.amount, c.amount], [40, 40, 20].map(cents));
    let refused = nodes[0].grant_lease(&ask(cents(1))).unwrap();
    assert_eq!((refused.lease, refused.taken), (None, cents(100)));
    // The unspent part returns; a second close changes nothing.
    nodes[0].close_lease(&a, cents(10)).unwrap();
    nodes[1].close_lease(&a, cents(10)).unwrap();
    let again = lease(&mut *nodes[0], &ask(cents(99))).unwrap();
    assert_eq!(again.amount, cents(30));
    // Another window and another budget have their own money.
    let next = LeaseRequest {
        window: 20_410,
        ..ask(cents(100))
    };
    assert_eq!(lease(&mut *nodes[2], &next).unwrap().amount, cents(100));
}

pub(crate) fn a_slice_that_is_too_small_to_be_of_use_is_not_leased(place: &dyn Place) {
    let mut store = place.open();
    let needing = |amount, least| LeaseRequest {
        least,
        ..ask(amount)
    };
    assert!(lease(&mut *store, &needing(cents(500), cents(101))).is_none());
    let most = lease(&mut *store, &needing(cents(500), cents(100))).unwrap();
    assert_eq!(most.amount, cents(100));
    store.close_lease(&most, cents(30)).unwrap();
    assert!(lease(&mut *store, &needing(cents(90), cents(71))).is_none());
    let rest = lease(&mut *store, &needing(cents(90), cents(70))).unwrap();
    assert_eq!(rest.amount, cents(70));
}

pub(crate) fn leases_of_a_dead_process_are_spent_and_those_of_a_live_one_stay(place: &dyn Place) {
    let (mut dead, mut live) = (place.open(), place.open());
    let lost = lease(&mut *dead, &ask(cents(40))).unwrap();
    let kept = lease(&mut *live, &ask(cents(40))).unwrap();
    // Two gateways on one store: the second does not touch the leases of the first.
    let mut next = place.open();
    assert_eq!(next.close_abandoned_leases().unwrap(), 0);
    place.close(dead);
    assert_eq!(next.close_abandoned_leases().unwrap(), 1);
    assert_eq!(next.close_abandoned_leases().unwrap(), 0);
    // Its own late report changes nothing.
    next.close_lease(&lost, Cost::ZERO).unwrap();
    live.close_lease(&kept, cents(10)).unwrap();
    let rest = next.grant_lease(&ask(cents(100))).unwrap();
    assert_eq!(
        (rest.taken, rest.lease.unwrap().amount),
        (cents(50), cents(50))
    );
}

pub(crate) fn a_new_budget_begins_with_what_its_window_has_cost(place: &dyn Place) {
    let mut store = place.open();
    store
        .write(&[simple(0, 1, "laptop"), simple(1, 2, "other")])
        .unwrap();
    let all = store.usage(&by(GroupBy::Key)).unwrap();
    let of = |key: &str| {
        all.iter()
            .find(|row| row.group[0] == key)
            .unwrap()
            .sums
            .cost
    };
    let total = of("laptop") + of("other");
    assert!(of("laptop") > Cost::ZERO);
    let opening = |payer, since_millis| {
        Some(Opening {
            payer,
            since_millis,
        })
    };
    let day = Day::of_millis(NOON).start_millis();
    let laptop = || Payer::Key("laptop".into());
    let cases = [
        ("a", opening(laptop(), day), of("laptop")),
        ("b", opening(Payer::Everyone, day), total),
        ("c", opening(Payer::Key("unknown".into()), day), Cost::ZERO),
        ("d", opening(Payer::Team("unknown".into()), day), Cost::ZERO),
        ("e", opening(laptop(), NOON + 86_400_000), Cost::ZERO),
        ("f", None, Cost::ZERO),
    ];
    for (budget, opening, expected) in cases {
        let first = LeaseRequest {
            budget: budget.into(),
            opening,
            ..ask(cents(10))
        };
        let granted = store.grant_lease(&first).unwrap();
        assert_eq!(granted.taken, expected, "{first:?}");
        store
            .close_lease(&granted.lease.unwrap(), Cost::ZERO)
            .unwrap();
        // Only once: a known window, and the next one, begin with their own amounts.
        let again = store.grant_lease(&first).unwrap();
        assert_eq!(again.taken, expected, "again: {first:?}");
        let tomorrow = LeaseRequest {
            window: first.window + 1,
            ..first
        };
        let next = store.grant_lease(&tomorrow).unwrap();
        assert_eq!(next.taken, Cost::ZERO, "the next window: {tomorrow:?}");
    }
}

pub(crate) fn rows_around_midnight_are_in_their_own_days(place: &dyn Place) {
    let mut store = place.open();
    let midnight = Day::of_millis(NOON).minus(-1).start_millis() - NOON;
    // The later one is delivered first.
    store.write(&[simple(midnight, 2, "k")]).unwrap();
    store.write(&[simple(midnight - 1, 1, "k")]).unwrap();
    let rows = store.usage(&by(GroupBy::Day)).unwrap();
    let days: Vec<_> = rows.iter().map(|row| row.group[0].as_str()).collect();
    assert_eq!(days, ["2026-11-17", "2026-11-18"]);
    assert_eq!(store.verify().unwrap().days, 2);
}

/// Runs every behaviour against the stores of one place.
#[macro_export]
macro_rules! store_tests {
    ($place:expr) => {
        store_tests! { $place =>
            an_attempt_is_written_once_however_often_it_is_delivered
            a_duplicate_settle_keeps_the_first_row
            what_was_written_is_read_back_field_by_field
            usage_is_grouped_and_an_unknown_price_is_counted_apart
            the_dearest_group_is_first_and_equals_are_in_the_order_of_their_names
            tags_are_summed_apart_and_never_into_totals
            a_zone_with_a_half_hour_offset_has_its_own_days
            requests_are_listed_newest_first_and_paged_across_days
            retention_drops_rows_and_keeps_rollups
            a_forgotten_user_is_nowhere_and_the_requests_stay
            an_open_attempt_of_a_dead_process_becomes_lost_once
            an_attempt_that_was_settled_is_not_lost
            rows_that_arrive_after_all_replace_what_was_called_lost
            repricing_writes_compensating_rows_and_the_old_report_stays
            the_cost_of_estimates_is_apart_before_and_after_a_correction
            settled_and_leased_never_exceed_the_limit
            a_slice_that_is_too_small_to_be_of_use_is_not_leased
            leases_of_a_dead_process_are_spent_and_those_of_a_live_one_stay
            a_new_budget_begins_with_what_its_window_has_cost
            rows_around_midnight_are_in_their_own_days
        }
    };
    ($place:expr => $($name:ident)+) => {
        $(#[test]
        fn $name() {
            if let Some(place) = $place {
                $crate::store::$name(&place);
            }
        })+
    };
}
