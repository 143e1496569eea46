//! A server with canned answers, for the vendors' own SDKs to judge.
//!
//! Everything that it reads and writes goes through the codecs: nothing here
//! knows a dialect's JSON, so an SDK that is content with this server is content
//! with them. The model's name picks the answer, see `scenarios.rs`. It prints
//! its address and serves until it is stopped; `tests/sdk/run` does both.

mod answer;
mod heard;
mod pieces;
mod route;
mod scenarios;

use std::io;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(async move {
            let served = http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service_fn(answer::answer))
                .await;
            if let Err(error) = served {
                eprintln!("a connection broke: {error}");
            }
        });
    }
}
