//! control.md §7, cases 23 to 30.

use majordomo_ledger::{
    Cost, Day, PriceBook, PriceCard, PriceOverride, PriceQuery, Quantities, TierOverride, Vendor,
};
use majordomo_llm::Usage;

/// 17 November 2026, 14:00 UTC.
const NOW: i64 = 1_794_924_000_000;

fn card(input: &str, output: &str) -> PriceOverride {
    PriceOverride {
        input: Some(input.to_owned()),
        output: Some(output.to_owned()),
        ..PriceOverride::default()
    }
}

fn query<'a>(vendor: &'a Vendor, target: &'a str) -> PriceQuery<'a> {
    PriceQuery {
        vendor,
        target,
        service_tier: None,
        at_millis: NOW,
    }
}

fn nano(card: &PriceCard, usage: &Usage) -> i64 {
    let cost = card.cost(&Quantities::from(usage));
    cost.expect("a known price").nanodollars()
}

#[test]
fn anthropic_cache_reads_writes_and_fresh_input_are_each_charged_at_their_own_rate() {
    let book = PriceBook::default();
    let vendor = Vendor::Listed("anthropic");
    let card = book.price(query(&vendor, "anthropic/claude-haiku-4-5-20251001"));
    let usage = Usage::new(1_000, 0)
        .with_cache_read(200)
        .with_cache_write(700);
    // $1 fresh, $0.10 read, $1.25 write per million: 100 + 20 + 875 millionths of it.
    assert_eq!(
        nano(&card.unwrap(), &usage),
        100 * 1_000 + 200 * 100 + 700 * 1_250
    );
}

#[test]
fn openai_cached_tokens_inside_the_prompt_are_not_charged_twice() {
    let book = PriceBook::default();
    let vendor = Vendor::Listed("openai");
    let card = book.price(query(&vendor, "openai/gpt-4.1")).unwrap();
    let usage = Usage::new(1_000, 10).with_cache_read(800);
    assert_eq!(nano(&card, &usage), 200 * 2_000 + 800 * 500 + 10 * 8_000);
}

#[test]
fn gemini_above_two_hundred_thousand_charges_the_tier_for_the_whole_request() {
    let book = PriceBook::default();
    let vendor = Vendor::Listed("google");
    let card = book.price(query(&vendor, "google/gemini-2.5-pro")).unwrap();
    let below = nano(&card, &Usage::new(200_000, 100));
    let above = nano(&card, &Usage::new(200_001, 100));
    assert_eq!(below, 200_000 * 1_250 + 100 * 10_000);
    assert_eq!(above, 200_001 * 2_500 + 100 * 15_000);
}

#[test]
fn a_one_hour_cache_write_costs_more_than_a_five_minute_one() {
    let book = PriceBook::default();
    let vendor = Vendor::Listed("anthropic");
    let card = book.price(query(&vendor, "anthropic/claude-haiku-4-5"));
    let usage = Usage::new(700, 0).with_cache_writes(300, 400);
    assert_eq!(nano(&card.unwrap(), &usage), 300 * 1_250 + 400 * 2_000);
}

#[test]
fn reasoning_is_part_of_the_output_and_not_charged_twice() {
    let mut rates = card("1", "10");
    let usage = Usage::new(0, 500).with_reasoning(400);
    assert_eq!(nano(&rates.card().unwrap(), &usage), 500 * 10_000);
    rates.reasoning = Some("3".to_owned());
    let separate = nano(&rates.card().unwrap(), &usage);
    assert_eq!(separate, 100 * 10_000 + 400 * 3_000);
    // A provider whose reasoning exceeds its output is not charged more than it reports.
    let odd = Usage::new(0, 5).with_reasoning(400);
    assert_eq!(nano(&rates.card().unwrap(), &odd), 5 * 3_000);
}

#[test]
fn a_price_that_changes_during_a_stream_is_the_one_of_its_start() {
    let vendor = Vendor::Listed("anthropic");
    let table = "date\t2026-11-01\nprovider\tanthropic\nm\tm\ti1 o1\t@2026-11-18 i9 o9\n";
    let book = PriceBook::from_table(table.to_owned()).unwrap();
    let at = |at_millis| PriceQuery {
        at_millis,
        ..query(&vendor, "anthropic/m")
    };
    let midnight = "2026-11-18".parse::<Day>().unwrap().start_millis();
    let started = book.price(at(midnight - 1)).unwrap();
    let later = book.price(at(midnight)).unwrap();
    let usage = Usage::new(1_000, 0);
    assert_eq!(nano(&started, &usage), 1_000_000);
    assert_eq!(nano(&later, &usage), 9_000_000);
    assert_ne!(started.id(), later.id());
}

#[test]
fn an_unknown_model_has_no_price_and_not_the_price_zero() {
    let book = PriceBook::default();
    let vendor = Vendor::Listed("anthropic");
    assert!(
        book.price(query(&vendor, "anthropic/claude-9000"))
            .is_none()
    );
    assert!(book.price(query(&Vendor::Unlisted, "mine/m")).is_none());
    // A model whose output has no known rate is unknown once it has output.
    let only_input = PriceOverride {
        output: None,
        ..card("1", "1")
    };
    let only_input = only_input.card().unwrap();
    let cost = |usage| only_input.cost(&Quantities::from(&usage));
    assert_eq!(cost(Usage::new(1, 0)), Some(Cost::from_nanodollars(1_000)));
    assert_eq!(cost(Usage::new(1, 1)), None);
}

#[test]
fn a_million_rows_of_one_token_sum_exactly() {
    let card = card("0.27", "1.10").card().unwrap();
    let row = card.cost(&Quantities::from(&Usage::new(1, 0))).unwrap();
    let sum: Cost = std::iter::repeat_n(row, 1_000_000).sum();
    assert_eq!(sum, Cost::parse_usd("0.27").unwrap());
}

#[test]
fn local_providers_cost_zero_explicitly() {
    let book = PriceBook::default();
    for kind in [
        "ollama",
        "foreman",
        "llama-swap",
        "llamacpp",
        "vllm",
        "lmstudio",
        "demo",
    ] {
        let vendor = Vendor::of(kind, Some("localhost"));
        let target = format!("{kind}/anything");
        let price = book.price(query(&vendor, &target)).unwrap();
        assert_eq!(nano(&price, &Usage::new(1_000_000, 1_000_000)), 0, "{kind}");
    }
    let cloud = Vendor::of("ollama", Some("ollama.com"));
    assert!(book.price(query(&cloud, "cloud/kimi")).is_none());
}

#[test]
fn an_override_wins_over_the_table_and_an_exact_one_over_a_pattern() {
    let vendor = Vendor::Listed("openai");
    let book = PriceBook::default()
        .with_override("openai/*", card("2", "2").card().unwrap())
        .with_override("openai/gpt-4.1", card("1", "1").card().unwrap());
    let usage = Usage::new(1, 0);
    let price = |target| nano(&book.price(query(&vendor, target)).unwrap(), &usage);
    assert_eq!(price("openai/gpt-4.1"), 1_000);
    assert_eq!(price("openai/GPT-4.1"), 1_000);
    assert_eq!(price("openai/gpt-4.1-mini"), 2_000);
}

#[test]
fn tiers_images_and_requests_can_be_overridden() {
    let override_ = PriceOverride {
        image: Some("0.001".to_owned()),
        request: Some("0.005".to_owned()),
        tiers: vec![TierOverride {
            above: 10,
            rates: PriceOverride {
                input: Some("3".to_owned()),
                ..PriceOverride::default()
            },
        }],
        ..card("1", "2")
    };
    let card = override_.card().unwrap();
    let used = |input| Quantities {
        input,
        output: 1,
        images: 2,
        ..Quantities::default()
    };
    let fixed = 2 * 1_000_000 + 5_000_000;
    let cost = |input| card.cost(&used(input)).unwrap().nanodollars();
    assert_eq!(cost(10), 10 * 1_000 + 2_000 + fixed);
    // The tier keeps the rates that it does not change.
    assert_eq!(cost(11), 11 * 3_000 + 2_000 + fixed);
}

#[test]
fn generated_images_cost_their_tokens_or_their_own_price_and_are_otherwise_unknown() {
    let by_tokens = card("1", "2").card().unwrap();
    let by_image = PriceOverride {
        image: Some("0.04".to_owned()),
        ..PriceOverride::default()
    };
    let by_image = by_image.card().unwrap();
    let drawn = |output| Quantities {
        output,
        images: 2,
        ..Quantities::default()
    };
    let nano = |cost: Option<Cost>| cost.map(|cost| cost.nanodollars());
    for (card, used, expected) in [
        (&by_tokens, drawn(1_000), Some(2_000_000)),
        (&by_tokens, drawn(0), None),
        (&by_image, drawn(0), Some(80_000_000)),
        (&PriceCard::free(), drawn(0), Some(0)),
    ] {
        assert_eq!(nano(card.cost(&used)), expected, "{card} {used:?}");
    }
}

#[test]
fn a_service_tier_has_its_own_price_where_one_is_listed() {
    let book = PriceBook::default();
    let vendor = Vendor::Listed("openai");
    let tier = |service_tier| PriceQuery {
        service_tier,
        ..query(&vendor, "openai/gpt-4.1")
    };
    let usage = Usage::new(1_000, 0);
    let price = |tier| nano(&book.price(tier).unwrap(), &usage);
    assert_eq!(price(tier(None)), 2_000_000);
    assert_eq!(price(tier(Some("priority"))), 3_500_000);
    assert_eq!(price(tier(Some("no-such-tier"))), 2_000_000);
}

#[test]
fn prices_by_hour_hold_within_their_hours() {
    let table = "date\t2026-11-01\nprovider\tdeepseek\nm\tm\ti1 o1\t@22:00-02:00 i2 o2\n";
    let book = PriceBook::from_table(table.to_owned()).unwrap();
    let vendor = Vendor::Listed("deepseek");
    let midnight = "2026-11-18".parse::<Day>().unwrap().start_millis();
    let price = |minutes: i64| {
        let price = book.price(PriceQuery {
            at_millis: midnight + minutes * 60_000,
            ..query(&vendor, "deepseek/m")
        });
        nano(&price.unwrap(), &Usage::new(1, 0)) / 1_000
    };
    assert_eq!(
        [-121, -120, 0, 119, 120].map(price),
        [1, 2, 2, 2, 1],
        "minutes from midnight"
    );
}

#[test]
fn a_snapshot_older_than_sixty_days_is_old() {
    let book = PriceBook::default();
    let date = book.date().unwrap();
    assert!(!book.is_old(Day::from_number(date.number() + 60)));
    assert!(book.is_old(Day::from_number(date.number() + 61)));
}

#[test]
fn no_usage_overflows_or_panics() {
    let rates = card("18446744073709", "18446744073709").card().unwrap();
    let usage = Usage::new(u64::MAX, u64::MAX)
        .with_cache_read(u64::MAX)
        .with_cache_writes(u64::MAX, u64::MAX)
        .with_reasoning(u64::MAX);
    assert_eq!(nano(&rates, &usage), i64::MAX);
}
