//! Sharing, admission and cancellation.

use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use majordomo_codecs::{Encoding, Layout, encode};
use majordomo_llm::{Part, Request};

use super::*;
use crate::Stop;

/// A PNG of this size, unique by seed.
fn image(side: u32, seed: u8) -> bytes::Bytes {
    let picture = Picture {
        width: side,
        height: side,
        layout: Layout::Gray,
        data: (0..side * side)
            .map(|at| (at as u8) ^ seed)
            .collect::<Vec<u8>>()
            .into(),
    };
    encode(
        &picture,
        Encoding::Png,
        None,
        &Job::new(Stop::new(), u64::MAX),
    )
    .unwrap()
    .unwrap()
    .into()
}

fn request(images: impl IntoIterator<Item = bytes::Bytes>) -> Request {
    let add = |request: Request, image| request.part(Part::image("image/png", image));
    images.into_iter().fold(Request::user("look"), add)
}

fn at_most(max_px: u32) -> ImageLimits {
    ImageLimits::default().with_max_px(Some(max_px))
}

#[tokio::test]
async fn twenty_images_for_four_targets_are_decoded_once_each() {
    let fitter = Fitter::default();
    let request = request((0..20).map(|seed| image(64, seed)));
    for limits in [at_most(32), at_most(48), at_most(32), at_most(16)] {
        fitter.fit(&request, Some(&limits)).await.unwrap();
    }
    assert_eq!(
        fitter.stats(),
        Stats {
            opened: 20,
            fitted: 60
        }
    );
}

#[tokio::test]
async fn concurrent_identical_requests_share_one_fit() {
    let fitter = Fitter::default();
    let request = request([image(64, 0)]);
    let mut waiting = JoinSet::new();
    for _ in 0..8 {
        let (fitter, request) = (fitter.clone(), request.clone());
        waiting.spawn(async move { fitter.fit(&request, Some(&at_most(32))).await.map(|_| ()) });
    }
    while let Some(done) = waiting.join_next().await {
        done.unwrap().unwrap();
    }
    assert_eq!(
        fitter.stats(),
        Stats {
            opened: 1,
            fitted: 1
        }
    );
}

#[tokio::test]
async fn caches_are_bounded_in_bytes() {
    let bounds = Bounds {
        kept_fitted: 20_000,
        kept_open: 10_000,
        ..Bounds::default()
    };
    let fitter = Fitter::new(bounds);
    for seed in 0..30 {
        let request = request([image(100, seed)]);
        fitter.fit(&request, Some(&at_most(80))).await.unwrap();
        assert!(fitter.0.fitted_cache.weight() <= 20_000);
    }
    assert!(fitter.0.fitted_cache.weight() > 0);
}

fn panics(
    _: &[u8],
    _: &Header,
    _: SizeHint,
    _: Chroma,
    _: &Job,
) -> std::result::Result<Picture, CodecError> {
    std::panic::panic_any("an injected fault")
}

#[tokio::test]
async fn a_panicking_decoder_is_an_error_and_the_pool_survives() {
    let fitter = Fitter::with_decoder(Bounds::default(), panics);
    for seed in 0..10 {
        let request = request([image(32, seed)]);
        let error = fitter.fit(&request, Some(&at_most(16))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error
                .message()
                .starts_with("image 1: it made the decoder fail")
        );
    }
}

/// Decoders that run until they are stopped.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

fn never_ends(
    _: &[u8],
    _: &Header,
    _: SizeHint,
    _: Chroma,
    job: &Job,
) -> std::result::Result<Picture, CodecError> {
    RUNNING.fetch_add(1, Ordering::SeqCst);
    while !job.stop.is_stopped() {
        std::thread::yield_now();
    }
    RUNNING.fetch_sub(1, Ordering::SeqCst);
    Err(CodecError::Stopped)
}

#[tokio::test]
async fn a_decoder_that_never_ends_is_stopped_by_timeout_and_by_cancellation() {
    let bounds = Bounds {
        max_time: Duration::from_millis(50),
        ..Bounds::default()
    };
    let fitter = Fitter::with_decoder(bounds, never_ends);
    let request = request([image(32, 0)]);
    let limits = at_most(16);
    let error = fitter.fit(&request, Some(&limits)).await.unwrap_err();
    assert!(error.message().contains("took too long"), "{error}");

    let patient = Fitter::with_decoder(Bounds::default(), never_ends);
    let cancelled = patient.fit(&request, Some(&limits));
    assert!(
        tokio::time::timeout(Duration::from_millis(50), cancelled)
            .await
            .is_err()
    );
    while RUNNING.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
}

/// Holds decoders until the test is done.
static STUCK: AtomicUsize = AtomicUsize::new(1);

fn ignores_the_flag(
    _: &[u8],
    _: &Header,
    _: SizeHint,
    _: Chroma,
    _: &Job,
) -> std::result::Result<Picture, CodecError> {
    while STUCK.load(Ordering::SeqCst) > 0 {
        std::thread::yield_now();
    }
    Err(CodecError::Stopped)
}

#[tokio::test]
async fn stuck_threads_keep_their_permits_and_a_fully_stuck_pool_refuses_work() {
    let bounds = Bounds {
        max_time: Duration::from_millis(20),
        max_wait: Duration::from_millis(20),
        workers: 2,
        ..Bounds::default()
    };
    let fitter = Fitter::with_decoder(bounds, ignores_the_flag);
    let fit = |seed| {
        let (fitter, request) = (fitter.clone(), request([image(32, seed)]));
        async move { fitter.fit(&request, Some(&at_most(16))).await.unwrap_err() }
    };
    assert_eq!(fit(0).await.kind(), ErrorKind::Unsupported);
    assert_eq!(fit(1).await.kind(), ErrorKind::Unsupported);
    let busy = fit(2).await;
    assert_eq!(busy.kind(), ErrorKind::Overloaded);
    assert!(busy.message().contains("too many images"), "{busy}");
    STUCK.store(0, Ordering::SeqCst);
}

#[tokio::test]
async fn images_beyond_the_memory_limit_wait() {
    static OPEN: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    fn counts(
        data: &[u8],
        header: &Header,
        size: SizeHint,
        chroma: Chroma,
        job: &Job,
    ) -> std::result::Result<Picture, CodecError> {
        let now = OPEN.fetch_add(1, Ordering::SeqCst) + 1;
        MOST.fetch_max(now, Ordering::SeqCst);
        let picture = decode(data, header, size, chroma, job);
        OPEN.fetch_sub(1, Ordering::SeqCst);
        picture
    }
    // Room for two pictures of 4 bytes per pixel and their scratch memory, whatever the
    // number of workers.
    let bounds = Bounds {
        workers: 8,
        max_decoding: 44 << 20,
        ..Bounds::default()
    };
    let fitter = Fitter::with_decoder(bounds, counts);
    let request = request((0..12).map(|seed| image(1024, seed)));
    fitter.fit(&request, Some(&at_most(64))).await.unwrap();
    assert!(MOST.load(Ordering::SeqCst) <= 2);
}

#[tokio::test]
async fn refusals_are_cached() {
    let fitter = Fitter::default();
    let request = request([image(64, 0)]);
    let limits = ImageLimits::default().with_max_bytes(Some(10));
    for _ in 0..3 {
        fitter.fit(&request, Some(&limits)).await.unwrap_err();
    }
    assert_eq!(fitter.stats().fitted, 1);
}

#[test]
fn a_total_is_shared_so_that_small_images_leave_room_for_large_ones() {
    let all = [true; 4];
    assert_eq!(fair_share(&[10, 100, 100, 100], &all, 160), Some(50));
    assert_eq!(fair_share(&[100, 100], &[true, false], 150), Some(50));
    assert_eq!(fair_share(&[10, 200], &[true, false], 150), None);
}
