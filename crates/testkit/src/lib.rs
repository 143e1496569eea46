//! Servers that follow a test's script, misbehavior included.
//!
//! [`Upstream`] plays one [`Script`] per connection on a raw socket, so it can break every
//! rule of HTTP. [`Http2Upstream`] plays well-formed HTTP/2 streams; for malformed ones,
//! send [`frames`] from a script. [`Authority`] issues certificates, valid and invalid.
//! Everything binds to loopback.
//!
//! ```
//! use majordomo_testkit::{Script, Upstream};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let script = Script::new().read_request().respond(200, "text/plain", "hello");
//! let upstream = Upstream::start([script]).await;
//!
//! let mut client = tokio::net::TcpStream::connect(upstream.address()).await.unwrap();
//! client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
//! let mut response = String::new();
//! client.read_to_string(&mut response).await.unwrap();
//! assert!(response.ends_with("hello"));
//! assert_eq!(upstream.requests().len(), 1);
//! # }
//! ```
//!
//! [`Postgres`] hands out databases of a real server, [`Redis`] starts one, and [`FaultProxy`]
//! breaks the network in front of either. [`data`] and [`started`] locate dependencies outside
//! the repository, so that no test is skipped silently.
//!
//! Failures panic: this crate is for tests only.

mod black_hole;
mod certificates;
mod closed_port;
mod connection_log;
mod data;
mod fault_proxy;
mod files;
pub mod frames;
mod http2;
mod player;
mod postgres;
mod redis;
mod script;
mod upstream;

pub use black_hole::BlackHole;
pub use certificates::{Authority, Identity, PemIdentity};
pub use closed_port::ClosedPort;
pub use connection_log::{Connection, Request};
pub use data::{data, installed, started};
pub use fault_proxy::{Fault, FaultProxy};
pub use files::files;
pub use http2::{Http2Settings, Http2Upstream, StreamStep};
pub use postgres::Postgres;
pub use redis::Redis;
pub use script::Script;
pub use upstream::Upstream;
