//! Work polls its stop flag often enough to end within 100 ms of its own CPU time, at whatever
//! moment it is stopped.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use majordomo_llm::ImageLimits;
use majordomo_media::{Bounds, Stop, Terms, fit_image};

use crate::mediagen::*;

const ALLOWED: Duration = Duration::from_millis(100);
/// When the flag is set, after so much time: the gateway allows two seconds.
const ENOUGH: Duration = Duration::from_millis(1_500);
/// How often the CPU time is read at least; the clock on the wall is read at each poll.
const STEP: Duration = Duration::from_millis(3);

/// The longest time between two polls.
struct Gaps {
    began: Duration,
    /// At the last poll, by the clock on the wall.
    polled: Duration,
    /// At a poll at most [`STEP`] before that one, by both clocks.
    read: Duration,
    cpu: Duration,
    longest: Duration,
}

impl Gaps {
    fn new() -> Self {
        let (now, cpu) = (wall_time(), cpu_time());
        Self {
            began: now,
            polled: now,
            read: now,
            cpu,
            longest: Duration::ZERO,
        }
    }

    /// Notes a poll, or the end. A gap is as long as the CPU time in it: a thread that waits
    /// for a processor does no work.
    fn poll(&mut self) {
        let now = wall_time();
        let gap = now - self.polled;
        if gap > STEP || now - self.read > STEP {
            let cpu = cpu_time();
            // What was used before the gap counts, too: at most a step.
            self.longest = self.longest.max(gap.min(cpu.saturating_sub(self.cpu)));
            (self.read, self.cpu) = (now, cpu);
        }
        self.polled = now;
    }
}

/// The longest gap of a fit, which is stopped if it takes long enough; from its start to its
/// end.
fn longest_gap(data: &Bytes, limits: &ImageLimits) -> Duration {
    let terms = Terms::of(limits, 1);
    let gaps = Arc::new(Mutex::new(Gaps::new()));
    let noted = Arc::clone(&gaps);
    let stop = Stop::when(move || {
        let mut gaps = noted.lock().unwrap();
        gaps.poll();
        gaps.polled - gaps.began > ENOUGH
    });
    let _ = fit_image(data, "", &terms, &Bounds::default(), &stop);
    let mut gaps = gaps.lock().unwrap();
    gaps.poll();
    gaps.longest
}

/// A JPEG of four inks.
fn cmyk_jpeg(width: u16, height: u16, progressive: bool) -> Bytes {
    let inks: Vec<u8> = (0..usize::from(width) * usize::from(height))
        .flat_map(|at| [at as u8, (at >> 8) as u8, (at >> 16) as u8, 9])
        .collect();
    let mut out = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut out, 60);
    encoder.set_progressive(progressive);
    encoder
        .encode(&inks, width, height, jpeg_encoder::ColorType::Cmyk)
        .unwrap();
    out.into()
}

#[test]
fn work_can_be_stopped_within_100_ms_at_any_moment() {
    if !cfg!(target_os = "linux") {
        println!("skipped: the CPU time of a thread is only measured on Linux");
        return;
    }
    let files = [
        ("png of 50,000,000×1", forge::blank_png(50_000_000, 1, 8, 0)),
        ("png of 1×50,000,000", forge::blank_png(1, 50_000_000, 8, 0)),
        ("png of 16 bits", forge::blank_png(5_000, 5_000, 16, 6)),
        ("png with alpha", forge::blank_png(7_000, 7_000, 8, 6)),
        ("gray png with alpha", forge::blank_png(6_000, 6_000, 8, 4)),
        ("palette png", forge::blank_png(7_000, 7_000, 8, 3)),
        ("png of a photo", png(4_000, 3_000, smooth)),
        ("gif", gif(7_000, 7_000, &[[9, 8, 7]])),
        ("lossless webp", webp::blank_lossless(7_000, 7_000)),
        (
            "lossy webp with alpha",
            webp::blank_lossy_alpha(6_000, 6_000),
        ),
        ("animated webp", webp::blank_animation(6_000, 6_000)),
        (
            "progressive jpeg",
            jpeg_with(6_000, 6_000, smooth, |e| e.set_progressive(true)),
        ),
        ("jpeg", jpeg(6_000, 6_000, smooth)),
        (
            "turned jpeg",
            jpeg_with(6_000, 5_000, smooth, |e| {
                e.add_exif_metadata(&exif(6, &[])).unwrap();
            }),
        ),
        ("cmyk jpeg", cmyk_jpeg(4_000, 4_000, false)),
        ("progressive cmyk jpeg", cmyk_jpeg(4_000, 4_000, true)),
    ];
    let mut late = Vec::new();
    for (name, data) in files {
        for limits in [
            types(&["image/jpeg"]),
            types(&["image/png"]).with_max_px(Some(512)),
            max_bytes(2_000),
            types(&["image/gif"]),
            types(&["image/png"]),
            types(&["image/webp"]),
        ] {
            let gap = longest_gap(&data, &limits);
            println!("{name} to {:?}: {gap:?}", limits.types);
            if gap > ALLOWED {
                late.push(format!("{name} to {:?}: {gap:?}", limits.types));
            }
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}
