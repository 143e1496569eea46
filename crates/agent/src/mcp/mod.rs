//! Tools of MCP servers, through the official SDK.
//!
//! Unlike the rest of the crate, a connection spawns tasks: the SDK's. They end with the
//! last clone of the server and its tools.

mod content;
mod tool_name;

use std::fmt;
use std::sync::Arc;

use majordomo_llm::{Json, Tool};
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService, ServiceExt};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use serde_json::Value;
use thiserror::Error;
use tokio::process::Command;

use self::content::output;
use self::tool_name::tool_name;
use crate::{Function, Skill, ToolOutput, Toolbox, ToolboxError};

/// A connection to an MCP server, usable as a [`Skill`].
///
/// Instructions and tools are fetched once; reconnect if the server changes them.
///
/// ```no_run
/// use majordomo::agent::{AgentBuilder, McpServer};
/// use tokio::process::Command;
///
/// async fn with_files(agent: AgentBuilder) -> Result<AgentBuilder, Box<dyn std::error::Error>> {
///     let mut command = Command::new("npx");
///     command.args(["-y", "@modelcontextprotocol/server-filesystem", "."]);
///     let files = McpServer::stdio(command).await?;
///     Ok(agent.skill(&files))
/// }
/// ```
#[derive(Clone)]
pub struct McpServer {
    name: String,
    instructions: String,
    toolbox: Toolbox,
    connection: Connection,
}

type Connection = Arc<RunningService<RoleClient, ()>>;

/// Why a connection to an MCP server failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum McpError {
    /// The server process could not be started.
    #[error("the MCP server could not be started: {0}")]
    Start(#[from] std::io::Error),
    /// The handshake failed.
    #[error("the connection to the MCP server failed: {0}")]
    Connect(String),
    /// The tools could not be listed.
    #[error("the tools of the MCP server could not be listed: {0}")]
    List(String),
    /// A tool has an invalid definition.
    #[error("a tool of the MCP server is invalid: {0}")]
    Toolbox(#[from] ToolboxError),
}

impl McpServer {
    /// Spawns a server process and connects to its standard input and output. The process
    /// ends with the connection.
    pub async fn stdio(command: Command) -> Result<Self, McpError> {
        Self::connect(TokioChildProcess::new(command)?).await
    }

    /// Connects to a URL by streamable HTTP.
    pub async fn http(url: impl Into<Arc<str>>) -> Result<Self, McpError> {
        Self::connect(StreamableHttpClientTransport::from_uri(url)).await
    }

    async fn connect<T, E, A>(transport: T) -> Result<Self, McpError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let connected = ().serve(transport).await;
        let connection = Arc::new(connected.map_err(|e| McpError::Connect(e.to_string()))?);
        let info = connection.peer_info();
        let tools = connection.list_all_tools().await;
        let tools = tools.map_err(|error| McpError::List(error.to_string()))?;
        let functions = tools.into_iter().map(|tool| function(&connection, tool));
        Ok(Self {
            name: info
                .as_ref()
                .and_then(|info| info.server_info.as_ref().map(|server| server.name.clone()))
                .unwrap_or_default(),
            instructions: info
                .and_then(|info| info.instructions.clone())
                .unwrap_or_default(),
            toolbox: Toolbox::new(functions)?,
            connection,
        })
    }

    /// Returns `true` if the connection is closed. Tool calls then fail.
    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }
}

impl Skill for McpServer {
    fn name(&self) -> &str {
        &self.name
    }

    fn instructions(&self) -> &str {
        &self.instructions
    }

    fn toolbox(&self) -> Option<&Toolbox> {
        Some(&self.toolbox)
    }
}

fn function(connection: &Connection, definition: rmcp::model::Tool) -> Function {
    let mut tool = Tool::new(tool_name(&definition.name));
    tool.description = definition.description.map(Into::into);
    tool.parameters = Json::from_value(&*definition.input_schema).ok();
    let connection = Arc::clone(connection);
    let name = definition.name;
    Function::untyped(tool, move |_, arguments| {
        let mut call = CallToolRequestParams::new(name.clone());
        if let Value::Object(arguments) = arguments {
            call.arguments = Some(arguments);
        }
        let connection = Arc::clone(&connection);
        async move { run(&connection, call).await }
    })
}

async fn run(connection: &Connection, call: CallToolRequestParams) -> Result<ToolOutput, String> {
    let result = connection.call_tool(call).await;
    output(result.map_err(|error| error.to_string())?)
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.name)
            .field("toolbox", &self.toolbox)
            .finish_non_exhaustive()
    }
}
