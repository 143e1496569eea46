//! A small MCP server, built with the SDK.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

/// A server with three tools: one adds, one draws, one fails.
#[derive(Clone)]
pub(crate) struct Sums;

fn tool(name: &'static str, schema: Value) -> Tool {
    let Value::Object(schema) = schema else {
        panic!("a schema is an object")
    };
    Tool::new(name, format!("The tool {name}."), Arc::new(schema))
}

impl ServerHandler for Sums {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("sums", "1.0.0"))
            .with_instructions("Never add in your head.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let numbers = json!({
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        });
        let none = json!({"type": "object"});
        Ok(ListToolsResult::with_all_items(vec![
            tool("math/add", numbers),
            tool("draw", none.clone()),
            tool("fail", none),
        ]))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = call.arguments.unwrap_or_default();
        let number = |name: &str| arguments.get(name).and_then(Value::as_i64).unwrap_or(0);
        let result = match &*call.name {
            "math/add" => {
                let sum = number("a") + number("b");
                CallToolResult::success(vec![ContentBlock::text(sum.to_string())])
            }
            "draw" => CallToolResult::success(vec![
                ContentBlock::text("a dot"),
                ContentBlock::image("AQI=", "image/png"),
            ]),
            _ => CallToolResult::error(vec![ContentBlock::text("out of ink")]),
        };
        Ok(result.into())
    }
}
