//! Reservations under random outcomes, of which none outlives its attempt, and the calls that
//! are charged.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;

use majordomo::fake::{Beat, Fake, Step};
use majordomo::llm::{Accept, Event, Part, Rejection};
use majordomo::{Error, ErrorKind, Message, Registry, Request, Response};
use majordomo_limits::Flow;

use super::*;
use crate::clock::wall_clock;
use crate::config::Config;
use crate::quota::{CallerLimits, LimitTerms, Quotas};

const OUTCOMES: u64 = 10_000;

/// Numbers that look random and are the same in every run.
fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |most| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % most
    }
}

/// A call that responds, fails before or after some output, hangs or never begins.
fn step(number: u64) -> Step {
    let usage = Usage::new(50, 20);
    let answer = Response::new(vec![Part::text("some words")]).with_usage(usage);
    let error = |status| Error::new(ErrorKind::Provider, "no").with_status(status);
    let pause = Duration::from_millis(number % 40);
    match number % 7 {
        0 | 1 => Step::respond(answer).after(pause),
        2 => Step::fail(error(500)).after(pause),
        3 => Step::fail(error(429)),
        4 => Step::events([Event::Text("some".to_owned())])
            .then(Beat::Wait(pause))
            .then(Beat::Fail(error(502))),
        5 => Step::hang(),
        _ => Step::events([Event::Text("some".to_owned())]).then(Beat::Hang),
    }
}

/// A request that arrives now, at these prices.
fn request_at(pricing: &Arc<Pricing>) -> JournalRequest {
    JournalRequest {
        id: "id".into(),
        began: tokio::time::Instant::now().into_std(),
        arrived: wall_clock(),
        caller: CallerIdentity::default(),
        model: "m".into(),
        pricing: Arc::clone(pricing),
    }
}

/// Polls at most so often, then drops the future.
async fn at_most<F: Future>(polls: u64, future: F) -> Option<F::Output> {
    let mut future = Box::pin(future);
    let mut left = polls;
    poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(cx).map(Some)
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn no_reservation_outlives_its_attempt_over_ten_thousand_outcomes() {
    let text = "[limits]\nbudget = { day = \"1000 USD\", total = \"9000 USD\" }\n\
                tokens_per_minute = 4000000000\n\
                [prices.\"fp/*\"]\ninput = \"1\"\noutput = \"10\"\n";
    let config = Config::parse("f", text, &BTreeMap::new()).unwrap();
    let registry = Registry::empty();
    let fake = Fake::new("fp");
    let mut calls = 0;
    let numbers = std::sync::Mutex::new(dice(7));
    fake.otherwise(move |_| {
        let mut roll = numbers.lock().unwrap();
        step(roll(1_000_000))
    });
    registry.register(fake);
    let pricing = Arc::new(Pricing::new(&config, &registry).unwrap());
    let quotas = Quotas::new(None, None);
    let terms = LimitTerms::new(&config.limits, None);
    let caller = CallerIdentity::default();
    let mut roll = dice(1);
    for round in 0..OUTCOMES {
        let caller = CallerLimits::of(&quotas, &terms, None, &caller, Flow::named("k")).unwrap();
        let limits = AttemptLimits::new(caller, Arc::clone(&pricing));
        let sinks = Arc::new(Sinks::new([]));
        let journal = CallJournal::new(request_at(&pricing), sinks, Some(limits));
        let chain = registry.model(&format!("fp/a{round},fp/b{round}")).unwrap();
        let chain = chain.gated_by(Arc::clone(&journal) as _);
        let mut request = Request::user("a question");
        request.edit().max_tokens = Some(1 + roll(500));
        let polls = 1 + roll(12);
        let within = Duration::from_millis(1 + roll(50));
        if roll(2) == 0 {
            let work = tokio::time::timeout(within, chain.generate(request));
            let _ = at_most(polls, work).await;
        } else {
            let reading = async {
                let mut open = chain.open(request).await?;
                while let Some(event) = futures_util::StreamExt::next(&mut open.events).await {
                    event?;
                }
                majordomo::Result::<()>::Ok(())
            };
            let _ = at_most(polls, tokio::time::timeout(within, reading)).await;
        }
        calls += journal.close(Duration::ZERO).len();
        let (open, _) = quotas.open_reservations();
        assert_eq!(open, 0, "after outcome {round}");
    }
    println!("{OUTCOMES} outcomes, {calls} calls");
    assert!(calls as u64 > OUTCOMES / 2, "only {calls} calls");
}

/// Accepts only `yes`.
struct OnlyYes;

impl Accept for OnlyYes {
    fn accept(&self, response: &Response) -> Result<(), Rejection> {
        match response.text().as_str() {
            "yes" => Ok(()),
            text => Err(Rejection {
                reason: format!("the text was {text}"),
                repair: vec![Message::user("say yes")],
            }),
        }
    }
}

fn replying(text: &str, input: u64, output: u64) -> Step {
    Step::respond(Response::new(vec![Part::text(text)]).with_usage(Usage::new(input, output)))
}

#[tokio::test(start_paused = true)]
async fn both_rounds_of_a_repair_are_charged() {
    let registry = Registry::empty();
    let fake = Fake::new("up");
    fake.enqueue("m", [replying("maybe", 10, 1), replying("yes", 25, 2)]);
    registry.register(fake);
    let prices = "[prices.\"up/m\"]\ninput = \"1\"\noutput = \"10\"\n";
    let config = Config::parse("majordomo.toml", prices, &BTreeMap::new()).unwrap();
    let pricing = Arc::new(Pricing::new(&config, &registry).unwrap());
    let journal = CallJournal::new(request_at(&pricing), Arc::new(Sinks::new([])), None);
    let chain = registry.model("up/m").unwrap();
    let chain = chain.gated_by(Arc::clone(&journal) as _);
    let asked = Request::user("agree?").accept(Arc::new(OnlyYes));
    chain.generate(asked).await.unwrap();
    let mut record = crate::record::FinishedRequest {
        calls: journal.close(Duration::ZERO),
        ..Default::default()
    };
    crate::record::charge(&mut record.calls);
    let costs: Vec<_> = record.calls.iter().map(|call| call.cost.unwrap()).collect();
    let costs: Vec<i64> = costs.into_iter().map(|cost| cost.nanodollars()).collect();
    assert_eq!(costs, [10 * 1_000 + 10_000, 25 * 1_000 + 2 * 10_000]);
}

/// The provider may charge for its input, even if its response never came.
#[tokio::test(start_paused = true)]
async fn an_attempt_of_unknown_outcome_is_charged_its_input() {
    use majordomo::llm::Timer;
    let provider = |status| Error::http(status, "no");
    let failing = |kind| Error::new(kind, "failed");
    let cases = [
        (failing(ErrorKind::Timeout(Timer::FirstByte)), true),
        (failing(ErrorKind::Timeout(Timer::Total)), true),
        (failing(ErrorKind::ConnectionLost), true),
        (failing(ErrorKind::Truncated), true),
        (failing(ErrorKind::Timeout(Timer::Connect)), false),
        (failing(ErrorKind::Timeout(Timer::Write)), false),
        (failing(ErrorKind::Connect), false),
        (failing(ErrorKind::NeverSent), false),
        (provider(401), false),
        (provider(404), false),
        (provider(429), false),
        (provider(500), false),
        (provider(529), false),
    ];
    let config = Config::parse("majordomo.toml", "", &BTreeMap::new()).unwrap();
    let pricing = Arc::new(Pricing::new(&config, &Registry::empty()).unwrap());
    for (error, charged) in cases {
        let registry = Registry::empty();
        let fake = Fake::new("fp");
        let failure = error.clone();
        fake.otherwise(move |_| Step::fail(failure.clone()));
        registry.register(fake);
        let journal = CallJournal::new(request_at(&pricing), Arc::new(Sinks::new([])), None);
        let chain = registry.model("fp/a").unwrap();
        let chain = chain.gated_by(Arc::clone(&journal) as _);
        let request = Request::user("a question of some length");
        assert!(chain.generate(request).await.is_err());
        let calls = journal.close(Duration::ZERO);
        assert!(!calls.is_empty(), "{error}");
        for call in calls {
            let expected = match charged {
                true => UsageSource::Estimated,
                false => UsageSource::Unknown,
            };
            assert_eq!(call.usage_source, expected, "{error}");
            assert_eq!(call.usage.input > 0 && charged, charged, "{error}");
        }
    }
}
