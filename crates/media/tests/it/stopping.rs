//! Work polls its stop flag often enough to end within 100 ms of its own CPU time, at whatever
//! moment it is stopped.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use majordomo_llm::ImageLimits;
use majordomo_media::{Bounds, Stop, Terms, fit_image};

use crate::mediagen::*;

const ALLOWED: Duration = Duration::from_millis(100);

/// CPU time of a thread of this process.
fn cpu_time(thread: &str) -> Option<Duration> {
    let scheduled = std::fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    let nanoseconds = scheduled.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// Stops a fit after so much CPU time; returns what it took after that, if it was still
/// running.
fn overrun(data: &Bytes, limits: &ImageLimits, after: Duration) -> Option<Duration> {
    let terms = Terms::of(limits, 1);
    let (name, named) = mpsc::channel();
    let stop = Stop::new();
    thread::scope(|scope| {
        let work = scope.spawn(|| {
            let own = std::fs::read_link("/proc/thread-self").unwrap();
            name.send(own.to_string_lossy().into_owned()).unwrap();
            let _ = fit_image(data, "", &terms, &Bounds::default(), &stop);
            cpu_time("thread-self")
        });
        let own = named.recv().unwrap();
        let began = cpu_time(&own)?;
        while !work.is_finished() && cpu_time(&own)? < began + after {
            thread::yield_now();
        }
        let stopped = cpu_time(&own)?;
        stop.stop();
        Some(work.join().unwrap()?.saturating_sub(stopped))
    })
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
fn a_stopped_job_ends_within_100_ms() {
    if !cfg!(target_os = "linux") {
        println!("skipped: the CPU time of a thread is only measured on Linux");
        return;
    }
    let files = [
        ("png of 50,000,000×1", forge::blank_png(50_000_000, 1, 8, 0)),
        ("png of 1×50,000,000", forge::blank_png(1, 50_000_000, 8, 0)),
        ("png of 16 bits", forge::blank_png(5_000, 5_000, 16, 6)),
        ("png with alpha", forge::blank_png(7_000, 7_000, 8, 6)),
        ("gif", gif(7_000, 7_000, &[[9, 8, 7]])),
        ("lossless webp", webp::blank_lossless(7_000, 7_000)),
        (
            "lossy webp with alpha",
            webp::blank_lossy_alpha(6_000, 6_000),
        ),
        (
            "progressive jpeg",
            jpeg_with(6_000, 6_000, smooth, |e| e.set_progressive(true)),
        ),
        ("jpeg", jpeg(6_000, 6_000, smooth)),
        ("cmyk jpeg", cmyk_jpeg(4_000, 4_000, false)),
        ("progressive cmyk jpeg", cmyk_jpeg(4_000, 4_000, true)),
        ("palette png", forge::blank_png(7_000, 7_000, 8, 3)),
        ("animated webp", webp::blank_animation(6_000, 6_000)),
    ];
    let mut late = Vec::new();
    for (name, data) in files {
        for limits in [
            types(&["image/jpeg"]),
            types(&["image/png"]).with_max_px(Some(512)),
            max_bytes(2_000),
            types(&["image/gif"]),
            types(&["image/png"]),
        ] {
            for after in [5, 60, 200] {
                let after = Duration::from_millis(after);
                let overrun = overrun(&data, &limits, after);
                if overrun > Some(ALLOWED) {
                    late.push(format!(
                        "{name} to {:?}, after {after:?}: {overrun:?}",
                        limits.types
                    ));
                }
            }
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}
