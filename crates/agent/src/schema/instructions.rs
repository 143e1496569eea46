//! Schemas as instructions, for targets without structured output.

use majordomo_llm::{OutputFormat, Request, Text};

/// Replaces a request's output schema with an instruction in its system prompt. Returns
/// `false` if the request has no schema.
///
/// A chain does this for each target without structured output, so that the other
/// targets still receive the schema itself.
///
/// ```
/// use majordomo::agent::schema_to_instructions;
/// use majordomo::{Json, Request};
/// use majordomo::llm::OutputFormat;
///
/// let schema = Json::parse(r#"{"type": "object"}"#).unwrap();
/// let mut request = Request::user("who?").schema(schema, "person");
/// assert!(schema_to_instructions(&mut request));
/// assert_eq!(request.prompt().output, OutputFormat::Text);
/// assert!(request.system_text().contains(r#"{"type": "object"}"#));
/// ```
pub fn schema_to_instructions(request: &mut Request) -> bool {
    let OutputFormat::Schema(output) = &request.prompt().output else {
        return false;
    };
    let text = format!(
        "Answer with one JSON value and nothing else: no explanation, no code fence. \
         The JSON must satisfy this JSON Schema:\n{}",
        output.schema.as_str()
    );
    let prompt = request.edit();
    prompt.output = OutputFormat::Text;
    prompt.system.push(Text::new(text));
    true
}
