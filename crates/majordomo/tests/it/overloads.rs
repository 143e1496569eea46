//! The error of a chain that is exhausted by overloads, and when the chain itself waits.

use majordomo::chain::{AllBenched, ChainConfig};
use majordomo::fake::Step;
use majordomo::{Error, ErrorKind};

use crate::support::{Fixture, coded, kind, lines, pass, secs, status, status_after};

fn waiting() -> Fixture {
    Fixture::chained(ChainConfig::default().with_max_retry_after(secs(5)))
}

#[tokio::test(start_paused = true)]
async fn the_error_has_the_status_on_which_all_targets_agree() {
    type Row<'a> = (&'a [Step], &'a [Step], Option<u16>);
    let rows: [Row<'_>; 5] = [
        (&[status(529)], &[status(529)], Some(529)),
        (&[status(529)], &[status(503)], None),
        (&[status(529)], &[kind(ErrorKind::Connect)], None),
        // A target's last outcome counts.
        (
            &[status(500), status(503)],
            &[status(529), status(503)],
            Some(503),
        ),
        (&[coded(400, "unsupported_value")], &[status(529)], None),
    ];
    for (head, tail, expected) in rows {
        let fixture = Fixture::new();
        let repeated = |steps: &[Step]| [steps.to_vec(), steps.to_vec()].concat();
        fixture.fp.enqueue("a", repeated(head));
        fixture.tail.enqueue("x", repeated(tail));
        let error = fixture.refused("fp/a,tail/x").await;
        assert_eq!(error.kind(), ErrorKind::Exhausted);
        assert_eq!(error.status(), expected, "{error}");
        assert!(error.is_retryable(), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn repeating_is_pointless_if_every_target_failed_permanently() {
    let rows = [
        (status(404), false),
        (status(401), false),
        (status(402), false),
        (coded(400, "context_length_exceeded"), false),
        (status(500), true),
        (status_after(429, 60), true),
        (kind(ErrorKind::ConnectionLost), true),
    ];
    for (step, retryable) in rows {
        let fixture = Fixture::new();
        fixture.script("a", [step.clone(), step.clone()]);
        let error = fixture.refused("fp/a").await;
        assert_eq!(error.is_retryable(), retryable, "{error}");
        // One target that failed temporarily is enough.
        let fixture = Fixture::new();
        fixture.script("a", [step.clone(), step]);
        fixture.tail.enqueue("x", [status(500), status(500)]);
        assert!(fixture.refused("fp/a,tail/x").await.is_retryable());
    }
}

#[tokio::test(start_paused = true)]
async fn a_bench_that_a_forced_attempt_ignores_is_no_retry_after() {
    for (all_benched, retry_after) in [
        (AllBenched::LeastBad, None),
        (AllBenched::Fail, Some(secs(5))),
    ] {
        let fixture = Fixture::chained(ChainConfig::default().with_all_benched(all_benched));
        fixture.script("a", [status(529), status(529), status(529), status(529)]);
        assert_eq!(fixture.refused("fp/a").await.retry_after(), None);
        let error = fixture.refused("fp/a").await;
        assert_eq!(error.retry_after(), retry_after, "{all_benched:?}");
        assert!(error.is_retryable());
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_that_is_called_at_once_makes_a_retry_after_void() {
    let fixture = Fixture::new();
    fixture.script("a", [status_after(429, 30)]);
    fixture.tail.enqueue("x", [status(500), status(500)]);
    let error = fixture.refused("fp/a,tail/x").await;
    assert_eq!(error.retry_after(), None);
    fixture.script("b", [status_after(429, 40)]);
    let error = fixture.refused("fp/a,fp/b").await;
    assert_eq!(error.retry_after(), Some(secs(30)));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_key_names_its_bench_and_is_not_worth_repeating() {
    let fixture = Fixture::new();
    fixture.script("a", [status(401)]);
    fixture.refused("fp/a").await;
    let error = fixture.refused("fp/a").await;
    assert_eq!(error.retry_after(), Some(secs(60)));
    assert!(!error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn a_short_pause_that_every_target_demands_is_waited_out_once() {
    let fixture = waiting();
    fixture.script("a", [status_after(429, 2)]);
    let began = tokio::time::Instant::now();
    assert_eq!(fixture.served_by("fp/a").await, "fp/a");
    assert_eq!(began.elapsed(), secs(2));

    let fixture = waiting();
    fixture.script("a", [status_after(429, 2), status_after(429, 3)]);
    let error = fixture.refused("fp/a").await;
    assert_eq!(error.retry_after(), Some(secs(3)));
    assert_eq!(error.attempt_log().calls(), 2);

    let fixture = waiting();
    fixture.script("a", [status_after(503, 4)]);
    fixture.tail.enqueue("x", [status_after(429, 1)]);
    assert_eq!(fixture.served_by("fp/a,tail/x").await, "tail/x");
}

#[tokio::test(start_paused = true)]
async fn requests_during_a_pause_wait_for_its_rest() {
    let fixture = waiting();
    fixture.script("a", [status_after(429, 30)]);
    fixture.refused("fp/a").await;
    pass(26).await;
    let chain = fixture.chain("fp/a");
    let both = [chain.clone(), chain].map(|chain| async move {
        let served = chain.generate(majordomo::Request::user("hi")).await;
        lines(&served.unwrap().attempt_log)
    });
    let [first, second] = both;
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first, ["fp/a skipped", "fp/a served"]);
    // The second request finds the first one's probe in flight.
    assert_eq!(second.last().unwrap(), "fp/a served");
}

#[tokio::test(start_paused = true)]
async fn a_long_pause_one_of_two_and_one_beyond_the_deadline_are_not_waited_out() {
    let unwaited = |fixture: Fixture, spec: &'static str| async move {
        let began = tokio::time::Instant::now();
        let error: Error = fixture.refused(spec).await;
        assert_eq!(began.elapsed(), secs(0), "{error}");
    };
    let fixture = waiting();
    fixture.script("a", [status_after(429, 6)]);
    unwaited(fixture, "fp/a").await;

    let fixture = waiting();
    fixture.script("a", [status_after(429, 1)]);
    fixture.tail.enqueue("x", [status(500), status(500)]);
    unwaited(fixture, "fp/a,tail/x").await;

    let config = ChainConfig::default().with_max_retry_after(secs(5));
    let fixture = Fixture::chained(config.with_deadline(secs(2)));
    fixture.script("a", [status_after(429, 2)]);
    unwaited(fixture, "fp/a").await;
}
