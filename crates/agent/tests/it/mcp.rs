//! MCP servers over streamable HTTP.

use std::sync::Arc;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use majordomo::agent::{Agent, McpError, McpServer, Skill};
use majordomo::fake::{Fake, Step};
use majordomo::{Part, Provider, Response, ToolCall, ToolResult};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::mcp_server::Sums;

/// Serves on loopback until the handle is aborted.
async fn serve() -> (String, JoinHandle<()>) {
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(|| Ok(Sums), sessions, config);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                let builder = Builder::new(TokioExecutor::new());
                let _ = builder
                    .serve_connection(TokioIo::new(socket), service)
                    .await;
            });
        }
    });
    (url, server)
}

async fn call(server: &McpServer, name: &str, arguments: &str) -> ToolResult {
    let call = ToolCall::new("a", name, arguments);
    server.toolbox().unwrap().call(&call).await
}

#[tokio::test]
async fn a_server_is_a_skill_with_its_instructions_and_tools() {
    let (url, _server) = serve().await;
    let sums = McpServer::http(url).await.unwrap();
    assert_eq!(sums.name(), "sums");
    assert_eq!(sums.instructions(), "Never add in your head.");
    let toolbox = sums.toolbox().unwrap();
    let names: Vec<&str> = toolbox.definitions().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["math_add", "draw", "fail"]);
}

#[tokio::test]
async fn calls_are_forwarded_and_their_content_is_converted() {
    let (url, _server) = serve().await;
    let sums = McpServer::http(url).await.unwrap();
    assert_eq!(
        call(&sums, "math_add", r#"{"a": 2, "b": 3}"#).await.text(),
        "5"
    );
    let drawn = call(&sums, "draw", "{}").await;
    let [Part::Text(_), Part::Image(image)] = &drawn.parts[..] else {
        panic!("{drawn:?}")
    };
    assert_eq!(
        (image.media_type.as_str(), &image.data[..]),
        ("image/png", &[1, 2][..])
    );
    let failed = call(&sums, "fail", "").await;
    assert_eq!(
        (failed.text().as_str(), failed.is_error),
        ("out of ink", true)
    );
}

#[tokio::test]
async fn arguments_are_validated_before_a_call_is_sent() {
    let (url, _server) = serve().await;
    let sums = McpServer::http(url).await.unwrap();
    let result = call(&sums, "math_add", r#"{"a": "two"}"#).await;
    assert!(
        result.is_error && result.text().contains("at /a"),
        "{}",
        result.text()
    );
}

#[tokio::test]
async fn an_agent_uses_a_server_as_a_skill() {
    let (url, _server) = serve().await;
    let sums = McpServer::http(url).await.unwrap();
    let fake = Fake::new("fp");
    let asks = ToolCall::new("a", "math_add", r#"{"a": 20, "b": 22}"#);
    fake.enqueue(
        "m",
        [
            Step::respond(Response::new(vec![Part::ToolCall(asks)])),
            Step::reply("It is 42."),
        ],
    );
    let agent = Agent::builder_on(fake.model("m").unwrap());
    let outcome = agent
        .skill(&sums)
        .build()
        .unwrap()
        .run("20 + 22?")
        .await
        .unwrap();
    assert_eq!(
        outcome.messages[2].tool_results().next().unwrap().text(),
        "42"
    );
    assert_eq!(outcome.output, "It is 42.");
}

#[tokio::test]
async fn a_missing_server_is_an_error() {
    let error = McpServer::http("http://127.0.0.1:9/mcp").await.unwrap_err();
    assert!(matches!(error, McpError::Connect(_)), "{error}");
    let missing = tokio::process::Command::new("no-such-program-anywhere");
    let error = McpServer::stdio(missing).await.unwrap_err();
    assert!(matches!(error, McpError::Start(_)), "{error}");
}
