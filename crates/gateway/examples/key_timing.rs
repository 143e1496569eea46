//! Measures whether the time to reject a wrong key reveals how close it is.
//!
//! ```sh
//! cargo run --release -p majordomo-gateway --example key_timing
//! ```
//!
//! Keys that share a prefix with the right one are compared with entirely random keys,
//! by Welch's t-test; |t| above 4.5 indicates a leak. Both kinds alternate at random and
//! use the same buffer, so that they differ in nothing but their characters.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use majordomo_gateway::ClientKeys;
use majordomo_gateway::config::Config;

const RIGHT: &str = "canary-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTU";
const SAMPLES: usize = 20_000;
/// Any time: the key does not expire.
const NOW_MILLIS: i64 = 0;

#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn main() {
    let text = format!("[[keys]]\nname = \"it\"\nkey = \"{RIGHT}\"\n");
    let config = Config::parse("keys.toml", &text, &BTreeMap::new()).expect("a good file");
    let keys = ClientKeys::new(&config.keys, &config.teams);
    let mut worst = 0_f64;
    let mut presented = String::with_capacity(RIGHT.len());
    for shared in 0..RIGHT.len() {
        let mut times = [Vec::with_capacity(SAMPLES), Vec::with_capacity(SAMPLES)];
        while times.iter().any(|times| times.len() < SAMPLES) {
            let near = fastrand::bool();
            // Both kinds cost the same to build. None of these characters occurs in the
            // right key.
            let random = |_| fastrand::char('!'..='+');
            let other: String = (0..RIGHT.len()).map(random).collect();
            let rest: String = (0..RIGHT.len()).map(random).collect();
            let prefix = [&other, RIGHT][usize::from(near)];
            presented.clear();
            presented.push_str(&prefix[..shared]);
            presented.push_str(&rest[shared..]);
            let began = Instant::now();
            let _ = black_box(keys.check(black_box(&presented), NOW_MILLIS));
            times[usize::from(near)].push(began.elapsed().as_secs_f64());
        }
        let slow = slowest_tenth(&times);
        let [far, near] = times.map(|mut times| {
            times.retain(|time| *time < slow);
            times
        });
        worst = worst.max(welch(&near, &far).abs());
    }
    println!("the largest |t| over {} prefixes: {worst:.2}", RIGHT.len());
}

/// The 90th percentile of all times; the rest is noise of the machine.
fn slowest_tenth(times: &[Vec<f64>; 2]) -> f64 {
    let mut sorted = times.concat();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() * 9 / 10]
}

fn welch(a: &[f64], b: &[f64]) -> f64 {
    let moments = |times: &[f64]| {
        let n = times.len() as f64;
        let mean = times.iter().sum::<f64>() / n;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, variance / n)
    };
    let ((mean_a, error_a), (mean_b, error_b)) = (moments(a), moments(b));
    (mean_a - mean_b) / (error_a + error_b).sqrt()
}
