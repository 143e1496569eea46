//! Servers that do exactly what a test says, lies included.
//!
//! [`Upstream`] plays one [`Script`] per connection on a raw socket, so that it
//! can break every rule of HTTP. [`Http2Upstream`] plays well-formed HTTP/2
//! streams; for broken ones there are [`frames`] to send from a script.
//! [`Authority`] makes certificates, good and bad. Everything binds to loopback.
//!
//! ```
//! use majordomo_testkit::{Script, Upstream};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let script = Script::new().read_request().answer(200, "text/plain", "hello");
//! let upstream = Upstream::start([script]).await;
//!
//! let mut client = tokio::net::TcpStream::connect(upstream.address()).await.unwrap();
//! client.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
//! let mut answer = String::new();
//! client.read_to_string(&mut answer).await.unwrap();
//! assert!(answer.ends_with("hello"));
//! assert_eq!(upstream.requests().len(), 1);
//! # }
//! ```
//!
//! [`data`] and [`started`] tell what is not part of the repository, so that no test
//! is skipped in silence.
//!
//! Failures panic: this crate is for tests only.

mod black_hole;
mod certificates;
mod closed_port;
mod data;
mod files;
pub mod frames;
mod http2;
mod play;
mod record;
mod script;
mod upstream;

pub use black_hole::BlackHole;
pub use certificates::{Authority, Identity};
pub use closed_port::ClosedPort;
pub use data::{data, started};
pub use files::files;
pub use http2::{Http2Settings, Http2Upstream, StreamStep};
pub use record::{Connection, Request};
pub use script::Script;
pub use upstream::Upstream;
