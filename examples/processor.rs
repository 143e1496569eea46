//! Adds a processor to a gateway: an operation of rules that changes the request.
//!
//! `cargo run -p majordomo-gateway --example processor`

use std::collections::BTreeMap;

use majordomo::BoxFuture;
use majordomo::llm::Change;
use majordomo_gateway::{Gateway, Processor, ProcessorError, ProcessorTask, ServeOptions, Subject};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// `{ position = "secrets", op = "mask", value = "word" }`: hides a word from the model.
struct MaskWord;

impl Processor for MaskWord {
    fn position(&self) -> &'static str {
        "secrets"
    }

    fn op(&self) -> &'static str {
        "mask"
    }

    fn check_value(&self, value: Option<&Value>) -> Result<(), String> {
        match value {
            Some(Value::String(word)) if !word.is_empty() => Ok(()),
            _ => Err("expected the word to mask".to_owned()),
        }
    }

    fn holds(&self, subject: &Subject<'_>, value: Option<&Value>) -> bool {
        let word = value.and_then(Value::as_str).unwrap_or_default();
        subject.user_text().contains(word)
    }

    fn process<'a>(
        &'a self,
        task: ProcessorTask<'a, '_>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(async move {
            let word = task.value.and_then(Value::as_str).unwrap_or_default();
            for message in &mut task.request.edit().messages {
                for part in &mut message.parts {
                    if let majordomo::Part::Text(text) = part {
                        text.text = text.text.replace(word, "*****");
                    }
                }
            }
            Ok(vec![Change::new("secret", "masked")])
        })
    }
}

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
[[routes]]
model = "careful"
services = [ { spec = "demo/text" } ]
[[routes.smart]]
name = "mask the password"
when = [ { position = "secrets", op = "mask", value = "swordfish" } ]
services = [ { spec = "demo/text" } ]
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file =
        std::env::temp_dir().join(format!("majordomo-processor-{}.toml", std::process::id()));
    std::fs::write(&file, CONFIG)?;
    let options = ServeOptions::default().with_config(Some(file.clone()));
    let builder = Gateway::builder()
        .options(options)
        .environment(BTreeMap::new());
    let gateway = builder.processor(MaskWord).start().await?;
    let address = gateway.address()?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(gateway.run(async {
        let _ = stopped.await;
    }));

    let body = r#"{"model":"careful","messages":[{"role":"user","content":"Is it swordfish?"}]}"#;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    stream.write_all(head.as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    println!("{response}");
    assert!(
        response.contains("secret masked"),
        "the change is disclosed"
    );

    let _ = stop.send(());
    serving.await?;
    std::fs::remove_file(file)?;
    Ok(())
}
