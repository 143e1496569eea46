//! Embeddings with failover: the body in a provider's own dialect, and back.
//!
//! `cargo run --example embeddings`

use majordomo::Registry;
use majordomo::providers::{Protocol, ProviderKind, Settings};
use majordomo::transport::{Transport, TransportConfig};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    tokio::spawn(serve(listener));

    let registry = Registry::empty();
    let settings = Settings::new("local", Transport::new(TransportConfig::default()));
    registry.register(ProviderKind::OpenAi.provider(settings.base_url(url))?);
    let model = registry.model("local/nomic-embed-text")?;

    // The model is filled in for each target.
    let body = r#"{"model": "", "input": ["a red apple"]}"#;
    let (answer, log) = model.embed(Protocol::Chat.dialect(), body.into()).await?;
    let answer: serde_json::Value = serde_json::from_slice(&answer)?;
    println!("{}", answer["data"][0]["embedding"]);
    println!("served by {}", log.attempts[0].target);
    Ok(())
}

/// Stands in for an OpenAI-compatible server.
async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let mut socket = BufReader::new(listener.accept().await?.0);
        let (mut length, mut line) = (0, String::new());
        while socket.read_line(&mut line).await? > 2 {
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        let mut body = vec![0; length];
        socket.read_exact(&mut body).await?;
        let answer = r#"{"object":"list","data":[{"index":0,"embedding":[0.25,-0.5]}]}"#;
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        socket.write_all((head + answer).as_bytes()).await?;
    }
}
