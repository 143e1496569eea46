//! A server with canned responses, exercised by the vendors' official SDKs.
//!
//! All reading and writing goes through the codecs; nothing here knows a dialect's
//! JSON, so an SDK that accepts this server accepts the codecs. The model name
//! selects the response, see `scenarios.rs`. The server prints its address and
//! runs until it is killed; `tests/sdk/run` starts and stops it.

mod chunked_body;
mod echo;
mod respond;
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
                .serve_connection(TokioIo::new(socket), service_fn(respond::respond))
                .await;
            if let Err(error) = served {
                eprintln!("connection error: {error}");
            }
        });
    }
}
