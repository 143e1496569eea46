//! Tools of MCP servers, with the official SDK.
//!
//! Unlike the rest of the crate, a connection has tasks of its own: the SDK's,
//! which end with the last clone of the server or of one of its tools.

mod content;
mod name;

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
use self::name::tool_name;
use crate::{Function, Skill, ToolOutput, Toolbox, ToolboxError};

/// A connection to an MCP server. It is a [`Skill`]: the server's instructions
/// and its tools, as they were when it connected. A server that changes its
/// tools while it runs is connected to anew.
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

/// Why a server's tools cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum McpError {
    /// The program could not be started.
    #[error("the MCP server could not be started: {0}")]
    Start(#[from] std::io::Error),
    /// There is no MCP server, or it speaks another version.
    #[error("no connection to the MCP server: {0}")]
    Connect(String),
    /// It did not say which tools it has.
    #[error("the MCP server did not list its tools: {0}")]
    List(String),
    /// Its tools cannot be offered to a model.
    #[error("a tool of the MCP server cannot be used: {0}")]
    Toolbox(#[from] ToolboxError),
}

impl McpServer {
    /// Starts a program and speaks over its standard input and output. It ends
    /// with the connection.
    pub async fn stdio(command: Command) -> Result<Self, McpError> {
        Self::connect(TokioChildProcess::new(command)?).await
    }

    /// Speaks streamable HTTP with the server at this address.
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
        let told = connection.peer_info();
        let tools = connection.list_all_tools().await;
        let tools = tools.map_err(|error| McpError::List(error.to_string()))?;
        let functions = tools.into_iter().map(|tool| function(&connection, tool));
        Ok(Self {
            name: told
                .as_ref()
                .and_then(|told| told.server_info.as_ref().map(|info| info.name.clone()))
                .unwrap_or_default(),
            instructions: told
                .and_then(|told| told.instructions.clone())
                .unwrap_or_default(),
            toolbox: Toolbox::new(functions)?,
            connection,
        })
    }

    /// Whether the server is gone; its tools then answer with errors.
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

fn function(connection: &Connection, told: rmcp::model::Tool) -> Function {
    let mut tool = Tool::new(tool_name(&told.name));
    tool.description = told.description.map(Into::into);
    tool.parameters = Json::from_value(&*told.input_schema).ok();
    let connection = Arc::clone(connection);
    let name = told.name;
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
