//! `load PORT PATH BODY-FILE KEY REQUESTS CONCURRENCY EXPECT`: repeats one request
//! over keep-alive connections and verifies every response.
//!
//! Prints one line of JSON: requests, failures, seconds, and the median and 99th
//! percentile latency in microseconds.

use std::cell::RefCell;
use std::io::Result;
use std::rc::Rc;
use std::time::Instant;

use majordomo_bench::{Messages, find};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::LocalSet;

struct Work {
    port: u16,
    request: Vec<u8>,
    expect: Vec<u8>,
    left: usize,
    failed: usize,
    times: Vec<u64>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, path, file, key, requests, concurrency, expect] = &arguments[..] else {
        eprintln!("load PORT PATH BODY-FILE KEY REQUESTS CONCURRENCY EXPECT");
        std::process::exit(2);
    };
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let body = std::fs::read(file)?;
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.extend_from_slice(&body);
    let work = Rc::new(RefCell::new(Work {
        port: port.parse().expect("a port"),
        request,
        expect: expect.clone().into_bytes(),
        left: number(requests),
        failed: 0,
        times: Vec::with_capacity(number(requests)),
    }));
    let began = Instant::now();
    let clients = LocalSet::new();
    for _ in 0..number(concurrency) {
        clients.spawn_local(client(Rc::clone(&work)));
    }
    clients.await;
    let seconds = began.elapsed().as_secs_f64();
    let mut work = work.borrow_mut();
    work.times.sort_unstable();
    let at = |share: f64| {
        let place = (work.times.len() as f64 * share) as usize;
        work.times.get(place).copied().unwrap_or_default() as f64 / 1_000.0
    };
    println!(
        "{{\"answers\":{},\"failed\":{},\"seconds\":{seconds:.3},\"p50_us\":{:.1},\"p99_us\":{:.1}}}",
        work.times.len(),
        work.failed,
        at(0.5),
        at(0.99)
    );
    Ok(())
}

/// Sends all requests; reconnects when a connection breaks.
async fn client(work: Rc<RefCell<Work>>) {
    loop {
        if let Err(error) = connection(&work).await {
            let mut work = work.borrow_mut();
            if work.failed == 0 {
                eprintln!("{error}");
            }
            work.failed += 1;
        }
        if work.borrow().left == 0 {
            return;
        }
    }
}

async fn connection(work: &RefCell<Work>) -> Result<()> {
    let (port, request, expect) = {
        let work = work.borrow();
        (work.port, work.request.clone(), work.expect.clone())
    };
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let (from, mut to) = stream.split();
    let mut answers = Messages::new(from);
    loop {
        {
            let mut work = work.borrow_mut();
            if work.left == 0 {
                return Ok(());
            }
            work.left -= 1;
        }
        let began = Instant::now();
        to.write_all(&request).await?;
        let Some(answer) = answers.next().await? else {
            return Err(std::io::Error::other("closed before the answer"));
        };
        let took = began.elapsed().as_nanos() as u64;
        let good = answer.head.starts_with("HTTP/1.1 200") && find(&expect, &answer.body).is_some();
        if !good {
            let text = String::from_utf8_lossy(&answer.body);
            let text: String = text.chars().take(300).collect();
            return Err(std::io::Error::other(format!("{}{text}", answer.head)));
        }
        work.borrow_mut().times.push(took);
    }
}
