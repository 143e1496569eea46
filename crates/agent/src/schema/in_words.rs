//! Says a schema in words, for targets that cannot bind their answer to one.

use majordomo_llm::{OutputFormat, Request, Text};

/// Replaces a request's schema by an instruction at the end of its system
/// prompt, and tells whether there was one.
///
/// A chain does this for each target that has no structured output, so that a
/// mixed chain gives every target the best that it can take.
///
/// ```
/// use majordomo::agent::schema_to_instructions;
/// use majordomo::{Json, OutputFormat, Request};
///
/// let schema = Json::parse(r#"{"type": "object"}"#).unwrap();
/// let mut request = Request::user("who?").schema(schema, "person");
/// assert!(schema_to_instructions(&mut request));
/// assert_eq!(request.output, OutputFormat::Text);
/// assert!(request.system_text().contains(r#"{"type": "object"}"#));
/// ```
pub fn schema_to_instructions(request: &mut Request) -> bool {
    let OutputFormat::Schema(output) = &request.output else {
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
