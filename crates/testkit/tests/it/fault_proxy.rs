//! The fault proxy does what its faults say.

use std::time::Duration;

use majordomo_testkit::{Fault, FaultProxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Longer than anything here takes, unless it never comes.
const LONG: Duration = Duration::from_secs(20);
/// Long enough to see that nothing comes.
const SHORT: Duration = Duration::from_millis(100);

/// A proxy in front of an echo server.
async fn echo() -> FaultProxy {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback");
    let server = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    });
    FaultProxy::start(server).await
}

async fn connected(proxy: &FaultProxy) -> TcpStream {
    TcpStream::connect(proxy.address())
        .await
        .expect("it listens")
}

/// Sends a byte; returns the reply: a byte, the end, or nothing in time.
async fn sent(stream: &mut TcpStream, wait: Duration) -> Option<usize> {
    let _ = stream.write_all(b"x").await;
    let read = timeout(wait, stream.read(&mut [0; 8])).await.ok()?;
    Some(read.unwrap_or(0))
}

#[tokio::test]
async fn without_a_fault_bytes_pass() {
    let proxy = echo().await;
    assert_eq!(sent(&mut connected(&proxy).await, LONG).await, Some(1));
}

#[tokio::test]
async fn frozen_connections_neither_reply_nor_fail_and_go_on_afterwards() {
    let proxy = echo().await;
    let mut before = connected(&proxy).await;
    assert_eq!(sent(&mut before, LONG).await, Some(1));
    proxy.set(Fault::Freeze);
    let mut new = connected(&proxy).await;
    assert_eq!(sent(&mut before, SHORT).await, None);
    assert_eq!(sent(&mut new, SHORT).await, None);
    proxy.set(Fault::None);
    for stream in [&mut before, &mut new] {
        let late = timeout(LONG, stream.read(&mut [0; 8])).await;
        assert_eq!(late.unwrap().unwrap(), 1);
    }
}

#[tokio::test]
async fn a_cut_closes_old_connections_and_new_ones() {
    let proxy = echo().await;
    let mut before = connected(&proxy).await;
    assert_eq!(sent(&mut before, LONG).await, Some(1));
    proxy.set(Fault::Cut);
    assert_eq!(sent(&mut before, LONG).await, Some(0));
    assert_eq!(sent(&mut connected(&proxy).await, LONG).await, Some(0));
    proxy.set(Fault::None);
    assert_eq!(sent(&mut connected(&proxy).await, LONG).await, Some(1));
}

#[tokio::test]
async fn one_way_drops_lose_bytes_silently_and_end_the_connection_when_healed() {
    for fault in [Fault::DropToServer, Fault::DropToClient] {
        let proxy = echo().await;
        let mut stream = connected(&proxy).await;
        assert_eq!(sent(&mut stream, LONG).await, Some(1));
        proxy.set(fault);
        assert_eq!(sent(&mut stream, SHORT).await, None, "{fault:?}");
        proxy.set(Fault::None);
        assert_eq!(sent(&mut stream, LONG).await, Some(0), "{fault:?}");
    }
}

#[tokio::test]
async fn a_delay_holds_every_piece_back() {
    let proxy = echo().await;
    let mut stream = connected(&proxy).await;
    proxy.set(Fault::Delay(4 * SHORT));
    assert_eq!(sent(&mut stream, 4 * SHORT).await, None);
    assert_eq!(
        timeout(LONG, stream.read(&mut [0; 8]))
            .await
            .unwrap()
            .unwrap(),
        1
    );
}
