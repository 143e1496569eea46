use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::super::*;

const ALICE: &str = "alice";
const BOB: &str = "bob";
const SOON: Duration = Duration::from_secs(20);

fn thread_name() -> Option<String> {
    thread::current().name().map(str::to_owned)
}

#[tokio::test]
async fn work_runs_on_the_lane_and_its_timers_and_tasks_on_the_main_runtime() {
    let lane = HeavyLane::with_turns(1);
    let job = lane.spawn(Flow::named(ALICE), 0, async {
        // The lane has no timers.
        sleep(Duration::from_millis(1)).await;
        let spawned = tokio::spawn(async { thread_name() });
        (thread_name(), spawned.await.unwrap())
    });
    let (here, spawned) = timeout(SOON, job).await.unwrap();
    assert_eq!(here.as_deref(), Some("heavy"));
    assert_ne!(spawned.as_deref(), Some("heavy"));
}

#[tokio::test]
async fn eight_jobs_of_one_client_delay_another_client_by_one_turn() {
    let lane = HeavyLane::with_turns(1);
    let (open, gate) = mpsc::channel::<()>();
    let (done, order) = mpsc::channel();
    let mut jobs = vec![lane.spawn(Flow::named(ALICE), 0, async move {
        gate.recv().unwrap();
    })];
    for client in [ALICE; 8].into_iter().chain([BOB]) {
        let done = done.clone();
        jobs.push(lane.spawn(Flow::named(client), 0, async move {
            done.send(client).unwrap();
        }));
    }
    let queued = async {
        while lane.turns.waiting() < 9 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(SOON, queued).await.unwrap();
    open.send(()).unwrap();
    for job in jobs {
        timeout(SOON, job).await.unwrap();
    }
    let order: Vec<&str> = order.try_iter().collect();
    let bob = order.iter().position(|client| *client == BOB);
    assert!(bob.is_some_and(|at| at <= 1), "{order:?}");
}

#[tokio::test]
async fn an_image_does_not_wait_for_the_turn_of_a_bulky_body() {
    let lane = HeavyLane::with_turns(1);
    let (open, gate) = mpsc::channel::<()>();
    let bulky = lane.spawn(Flow::named(ALICE), 32 << 20, async move {
        gate.recv().unwrap();
    });
    let image = lane.spawn(Flow::named(BOB), 1 << 20, async { 1 });
    assert_eq!(timeout(SOON, image).await.unwrap(), 1);
    open.send(()).unwrap();
    timeout(SOON, bulky).await.unwrap();
}

#[tokio::test]
async fn cancelled_work_is_dropped_on_the_lane() {
    struct DropReporter(mpsc::Sender<Option<String>>);
    impl Drop for DropReporter {
        fn drop(&mut self) {
            self.0.send(thread_name()).unwrap();
        }
    }
    let lane = HeavyLane::with_turns(1);
    let (sender, receiver) = mpsc::channel();
    let (begin, begun) = tokio::sync::oneshot::channel();
    let reporter = DropReporter(sender);
    let job = lane.spawn(Flow::named(ALICE), 0, async move {
        let _reporter = reporter;
        begin.send(()).unwrap();
        std::future::pending::<()>().await;
    });
    begun.await.unwrap();
    drop(job);
    let dropped = receiver.recv_timeout(SOON).unwrap();
    assert_eq!(dropped.as_deref(), Some("heavy"));
}

#[tokio::test]
async fn a_panic_on_the_lane_reaches_its_owner() {
    let lane = Arc::new(HeavyLane::with_turns(1));
    let owner = Arc::clone(&lane);
    let waiting = tokio::spawn(async move {
        let job = owner.spawn(Flow::named(ALICE), 0, async { panic!("a bug") });
        job.await
    });
    assert!(waiting.await.unwrap_err().is_panic());
    // The turn was released.
    let next = lane.spawn(Flow::named(ALICE), 0, async { 1 });
    assert_eq!(timeout(SOON, next).await.unwrap(), 1);
}

#[tokio::test]
async fn an_unused_lane_has_no_threads() {
    let lane = HeavyLane::new();
    assert!(lane.threads().is_none());
    lane.spawn(Flow::named(ALICE), 0, async {}).await;
    assert!(lane.threads().is_some());
}

#[test]
fn prose_is_light_while_images_values_escapes_and_larger_bodies_are_not() {
    let body = |item: &str, size: usize| {
        let text = item.repeat(size / item.len());
        format!(r#"{{"model":"m","input":["{text}"]}}"#).into_bytes()
    };
    let twice = 2 * THRESHOLD;
    for (item, size, light) in [
        ("the tool reads a file and returns its lines ", twice, true),
        (
            r"the tool reads a file and returns its lines\n",
            twice,
            true,
        ),
        (r"\n", twice, false),
        (r#"",""#, twice, false),
        ("{", twice, false),
        ("word ", 5 * THRESHOLD, false),
        ("QUJD", twice, false),
        (r"\n\n\n a ", twice, false),
    ] {
        let body = body(item, size);
        assert!(body.len() > THRESHOLD);
        assert_eq!(is_light(&body, THRESHOLD), light, "{item}");
    }
}
