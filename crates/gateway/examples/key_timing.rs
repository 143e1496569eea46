//! Whether the time that a wrong key takes tells how near it is (S-05).
//!
//! ```sh
//! cargo run --release -p majordomo-gateway --example key_timing
//! ```
//!
//! Compares keys that share a growing part with the right one against keys that
//! share none, by Welch's t. Values beyond 4.5 would be a leak; run it on a quiet
//! machine.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use majordomo_gateway::config::Config;
use majordomo_gateway::keys::Keys;

const RIGHT: &str = "canary-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTU";
const SAMPLES: usize = 20_000;

#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn main() {
    let text = format!("[[keys]]\nname = \"it\"\nkey = \"{RIGHT}\"\n");
    let config = Config::parse("keys.toml", &text, &BTreeMap::new()).expect("a good file");
    let keys = Keys::new(&config.keys);
    let mut worst = 0_f64;
    for shared in 0..RIGHT.len() {
        let near = format!("{}{}", &RIGHT[..shared], "~".repeat(RIGHT.len() - shared));
        let far = "~".repeat(RIGHT.len());
        let mut times = [Vec::with_capacity(SAMPLES), Vec::with_capacity(SAMPLES)];
        for _ in 0..SAMPLES {
            // Taken in turns, so that a disturbance hits both.
            for (times, key) in times.iter_mut().zip([&near, &far]) {
                let began = Instant::now();
                black_box(keys.check(black_box(key)));
                times.push(began.elapsed().as_secs_f64());
            }
        }
        let t = welch(&trimmed(&times[0]), &trimmed(&times[1]));
        worst = worst.max(t.abs());
    }
    println!("the largest |t| over {} prefixes: {worst:.2}", RIGHT.len());
}

/// Without the slowest tenth, which is the machine's and not the key's.
fn trimmed(times: &[f64]) -> Vec<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.truncate(times.len() * 9 / 10);
    sorted
}

fn welch(a: &[f64], b: &[f64]) -> f64 {
    let about = |times: &[f64]| {
        let n = times.len() as f64;
        let mean = times.iter().sum::<f64>() / n;
        let spread = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, spread / n)
    };
    let ((mean_a, error_a), (mean_b, error_b)) = (about(a), about(b));
    (mean_a - mean_b) / (error_a + error_b).sqrt()
}
