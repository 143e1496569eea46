//! Work is linear: for every element that a request can repeat, the largest permitted count
//! costs at most six times the CPU of a quarter of it, from every front to every target
//! dialect. Small sizes would hide quadratic terms.
//!
//! A separate binary because it measures the CPU time of its process, with its own
//! `main` because it prints a table. Arguments select rows by name.

mod contract;
mod fronts;
mod gateway;
mod ollama;
mod shape;
mod table;

use std::process::ExitCode;
use std::time::Duration;

use bytes::Bytes;
use majordomo_wire::Protocol;

use fronts::Front;
use gateway::{MeasuredGateway, name, needs_bytes, route};
use shape::Shape;
use table::{ROWS, Row};

/// Four times the work, plus half of that for caches and allocators.
const MOST: f64 = 6.0;
/// Measurements per size, and their maximum if the ratio is too high. The minimum
/// counts, since noise only adds.
const ROUNDS: usize = 2;
const MORE_ROUNDS: usize = 8;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list") {
        println!("linear: test");
        return ExitCode::SUCCESS;
    }
    let chosen = |row: &&Row| {
        let mut named = words
            .iter()
            .filter(|word| !word.starts_with('-'))
            .peekable();
        named.peek().is_none() || named.any(|word| row.name.contains(word.as_str()))
    };
    let rows: Vec<&Row> = ROWS.iter().filter(chosen).collect();
    if rows.is_empty() {
        return ExitCode::SUCCESS;
    }
    let mistakes = contract::mistakes();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let steep = runtime.block_on(measure(&rows));
    for problem in mistakes.iter().chain(&steep) {
        println!("FAILED: {problem}");
    }
    match mistakes.is_empty() && steep.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Prints the table; returns the cells above the limit.
async fn measure(rows: &[&Row]) -> Vec<String> {
    let gateway = MeasuredGateway::start().await;
    warm_up(&gateway).await;
    print!("{:<34} {:<16}", "shape", "front");
    for target in Protocol::ALL {
        print!(" {:>9}", name(target));
    }
    println!("   (CPU of the largest count / CPU of a quarter)");
    let mut steep = Vec::new();
    for row in rows {
        for front in Front::ALL {
            let [quarter, full] = [row.most / 4, row.most].map(|count| (row.shape)(count));
            let headers = [quarter.headers, full.headers];
            let fields = [&quarter, &full].map(|shape: &Shape| front.fields(shape));
            let [Some(quarter), Some(full)] = fields else {
                continue;
            };
            print!(
                "{:<34} {:<16}",
                format!("{} ×{}", row.name, row.most),
                front.name()
            );
            let mut longest = Duration::ZERO;
            for target in Protocol::ALL {
                let cell = Cell {
                    gateway: &gateway,
                    row,
                    front,
                    target,
                };
                let (ratio, took) = cell.ratio([&quarter, &full], headers).await;
                longest = longest.max(took);
                print!(" {ratio:>9.2}");
                if ratio > MOST {
                    let what = cell.what();
                    steep.push(format!(
                        "{what}: {ratio:.1} times the CPU for four times the work"
                    ));
                }
            }
            println!("   {:>7.1} ms", longest.as_secs_f64() * 1_000.0);
        }
    }
    steep
}

/// One shape from one front to one target.
struct Cell<'c> {
    gateway: &'c MeasuredGateway,
    row: &'c Row,
    front: Front,
    target: Protocol,
}

impl Cell<'_> {
    fn what(&self) -> String {
        let (front, target) = (self.front.name(), name(self.target));
        format!("{}, {front} to {target}", self.row.name)
    }

    /// CPU ratio of the largest count to a quarter of it, and the larger CPU time.
    async fn ratio(&self, fields: [&str; 2], headers: [usize; 2]) -> (f64, Duration) {
        let model = route(self.target, self.row.eyes);
        let bodies = fields.map(|fields| Bytes::from(format!(r#"{{"model":"{model}",{fields}}}"#)));
        let mut least = [Duration::MAX; 2];
        for round in 0..MORE_ROUNDS {
            for size in 0..2 {
                let took = self.cost(&model, headers[size], &bodies[size]).await;
                least[size] = least[size].min(took);
            }
            let ratio = least[1].as_secs_f64() / least[0].as_secs_f64();
            // Far above the limit cannot be noise.
            let clear = ratio <= MOST || ratio > 2.0 * MOST;
            if round + 1 >= ROUNDS && clear {
                break;
            }
        }
        let ratio = least[1].as_secs_f64() / least[0].as_secs_f64();
        (ratio, least[1])
    }

    async fn cost(&self, model: &str, headers: usize, body: &Bytes) -> Duration {
        let path = self.front.path(model);
        let asked = self.gateway.request(&path, headers, body).await;
        let named = self.row.name.contains("address") && needs_bytes(self.front, self.target);
        let expected = if named { 400 } else { 200 };
        let text: String = asked.text.chars().take(600).collect();
        assert_eq!(asked.status, expected, "{}: {text}", self.what());
        asked.took
    }
}

/// Excludes one-time initialization from the measurements.
async fn warm_up(gateway: &MeasuredGateway) {
    for front in Front::ALL {
        let fields = front
            .fields(&Shape::question())
            .expect("every dialect has plain requests");
        for target in Protocol::ALL {
            let model = route(target, gateway::Eyes::Good);
            let body = Bytes::from(format!(r#"{{"model":"{model}",{fields}}}"#));
            let asked = gateway.request(&front.path(&model), 0, &body).await;
            assert_eq!(asked.status, 200, "{}", asked.text);
        }
    }
}
