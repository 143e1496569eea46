use majordomo_llm::{Effort, Message, OutputFormat, Part, Role, ToolChoice};
use proptest::prelude::*;

use super::*;

fn config(fields: &str) -> Request {
    read(&format!(
        r#"{{"contents":[],"generationConfig":{{{fields}}}}}"#
    ))
    .request
}

fn native<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    let native = request.prompt().native.as_deref()?;
    native.get(name).map(|value| value.as_str())
}

#[test]
fn each_content_is_read_with_its_role() {
    let request = contents(
        r#"{"parts":[{"text":"a"}]},
           {"role":"user","parts":{"text":"b"}},
           {"role":"model","parts":[{"functionCall":{"name":"t","args":{}}}]},
           {"role":"user","parts":[{"functionResponse":{"name":"t","response":{"output":"c"}}}]},
           {"role":"user","parts":[{"functionResponse":{"name":"t","response":{}}},{"text":"d"}]},
           {"role":"function","parts":[],"turn":1},
           {"role":"critic","parts":null}"#,
    );
    let roles: Vec<_> = request.prompt().messages.iter().map(|m| m.role).collect();
    assert_eq!(
        roles,
        [
            Role::User,
            Role::User,
            Role::Assistant,
            Role::Tool,
            Role::User,
            Role::Tool,
            Role::User
        ]
    );
    let native = |n: usize, name: &str| {
        let native = request.prompt().messages[n].native.as_ref()?;
        native.get(name).map(|value| value.as_str())
    };
    assert_eq!(request.prompt().messages[0].native, None);
    assert_eq!(native(5, "role"), Some("\"function\""));
    assert_eq!(native(5, "turn"), Some("1"));
    assert_eq!(native(6, "role"), Some("\"critic\""));
}

#[test]
fn model_and_stream_are_not_read_from_the_body() {
    let incoming = read(r#"{"contents":{"parts":{"text":"hi"}},"system_instruction":"be terse"}"#);
    assert_eq!((incoming.model, incoming.stream), (None, false));
    assert_eq!(incoming.request.prompt().messages, [Message::user("hi")]);
    assert_eq!(incoming.request.prompt().system_text(), "be terse");
}

#[test]
fn every_kind_of_part_is_read() {
    let request = contents(
        r#"{"role":"model","parts":[
            {"text":"t","thoughtSignature":"c2ln"},
            {"text":"","thought_signature":"c2ln"},
            {"text":"hm","thought":true},
            {"inlineData":{"mimeType":"image/png","data":"AQID"},"mediaResolution":{"level":"x"}},
            {"inline_data":{"mime_type":"image/png","data":"_-8"}},
            {"inlineData":{"mimeType":"application/pdf","data":"AQID","displayName":"a.pdf"}},
            {"fileData":{"mimeType":"image/png","fileUri":"https://x.example/a.png"}},
            {"file_data":{"mime_type":"image/webp","file_uri":"https://x.example/a.png"}},
            {"text":""}, {}, {"text":null}]}"#,
    );
    let parts = &request.prompt().messages[0].parts;
    let native = |n: usize, name: &str| parts[n].native()?.get(name).map(|v| v.as_str());
    assert!(matches!(&parts[0], Part::Text(t) if t.text == "t"));
    assert_eq!(native(0, "thoughtSignature"), Some("\"c2ln\""));
    assert!(
        matches!(&parts[1], Part::Text(t) if t.text.is_empty()),
        "an empty signed text is kept"
    );
    assert_eq!(native(1, "thoughtSignature"), Some("\"c2ln\""));
    assert!(matches!(&parts[2], Part::Reasoning(r) if r.text == "hm"));
    assert_eq!(native(2, "field"), Some("\"thought\""));
    assert!(matches!(&parts[3], Part::Image(i) if i.data == [1, 2, 3][..]));
    assert_eq!(native(3, "mediaResolution"), Some(r#"{"level":"x"}"#));
    assert!(
        matches!(&parts[4], Part::Image(i) if i.data == [0xff, 0xef][..]),
        "URL-safe base64"
    );
    assert!(matches!(&parts[5], Part::File(f) if f.name.as_deref() == Some("a.pdf")));
    assert!(matches!(&parts[6], Part::RemoteImage(i) if i.url == "https://x.example/a.png"));
    assert_eq!(
        parts[6].native(),
        None,
        "the type follows from the extension"
    );
    assert_eq!(native(7, "fileData.mimeType"), Some("\"image/webp\""));
    assert_eq!(parts.len(), 8, "empty unsigned parts are dropped");
}

#[test]
fn unmodelled_parts_are_kept_as_opaque_json() {
    let rows = [
        (
            r#"{"executableCode":{"code":"1"},"thoughtSignature":"c2ln"}"#,
            "executableCode",
        ),
        (
            r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}"#,
            "codeExecutionResult",
        ),
        (
            r#"{"toolCall":{"id":"a","toolType":"FILE_SEARCH"}}"#,
            "toolCall",
        ),
        (r#"{"tool_response":{"id":"a"}}"#, "toolResponse"),
        (r#"{"hologram":{"depth":3}}"#, "hologram"),
        (
            r#"{"fileData":{"mimeType":"video/mp4","fileUri":"https://x.example/a.mp4"}}"#,
            "fileData",
        ),
        (
            r#"{"fileData":{"mimeType":"image/png","fileUri":"gs://bucket/a.png"}}"#,
            "fileData",
        ),
        (
            r#"{"fileData":{"mimeType":"image/png","fileUri":"https://generativelanguage.googleapis.com/v1beta/files/a"}}"#,
            "fileData",
        ),
        (
            r#"{"fileData":{"fileUri":"https://youtu.be/x"}}"#,
            "fileData",
        ),
        (
            r#"{"inlineData":{"mimeType":"image/png","data":"not base64!"}}"#,
            "inlineData",
        ),
        (r#"{"text":"a","functionCall":{"name":"b"}}"#, "part"),
    ];
    for (part, kind) in rows {
        let request = contents(&format!(r#"{{"role":"model","parts":[{part}]}}"#));
        let Part::Opaque(block) = &request.prompt().messages[0].parts[0] else {
            panic!("{part} is not opaque");
        };
        assert_eq!((block.kind.as_str(), block.raw.as_str()), (kind, part));
        let (body, losses) = write(&Request::from(request.prompt().messages.clone()));
        assert!(body.contains(part), "{body}");
        assert!(losses.is_empty());
    }
}

#[test]
fn calls_get_ids_and_results_are_matched_with_their_call() {
    let call = |name: &str| format!(r#"{{"functionCall":{{"name":"{name}","args":{{"x": 1}}}}}}"#);
    let result = |name: &str, id: &str| {
        format!(r#"{{"functionResponse":{{{id}"name":"{name}","response":{{"output":"y"}}}}}}"#)
    };
    let request = contents(&format!(
        r#"{{"role":"model","parts":[{},{},{{"functionCall":{{"id":"own","name":"a"}}}}]}},
           {{"role":"user","parts":[{},{},{}]}},
           {{"role":"model","parts":[{}]}},
           {{"role":"user","parts":[{},{}]}}"#,
        call("a"),
        call("b"),
        result("b", ""),
        result("a", r#""id":"own","#),
        result("a", ""),
        call("a"),
        result("other", ""),
        result("a", ""),
    ));
    let ids: Vec<_> = request
        .prompt()
        .messages
        .iter()
        .flat_map(Message::tool_calls)
        .map(|c| (c.id.as_str(), c.arguments.as_str()))
        .collect();
    assert_eq!(
        ids,
        [
            ("call_0", r#"{"x": 1}"#),
            ("call_1", r#"{"x": 1}"#),
            ("own", "{}"),
            ("call_3", r#"{"x": 1}"#)
        ]
    );
    let matched: Vec<_> = request
        .prompt()
        .messages
        .iter()
        .flat_map(Message::tool_results)
        .map(|r| r.call_id.as_str())
        .collect();
    assert_eq!(
        matched,
        ["call_1", "own", "call_0", "call_3", ""],
        "by id, else by name and order, else by order"
    );
}

#[test]
fn every_form_of_function_response_is_read() {
    let rows = [
        (r#"{"output":"x"}"#, vec!["x"], false),
        (r#"{"error":"x"}"#, vec!["x"], true),
        (r#"{"output":{"a": 1}}"#, vec![r#"{"a": 1}"#], false),
        (r#"{"error":[1]}"#, vec!["[1]"], true),
        (r#"{"result":"x"}"#, vec![r#"{"result":"x"}"#], false),
        (
            r#"{"output":"x","b":2}"#,
            vec![r#"{"output":"x","b":2}"#],
            false,
        ),
        (
            r#"{"error":"x","b":2}"#,
            vec![r#"{"error":"x","b":2}"#],
            true,
        ),
        (
            r#"{"output":"x","error":null}"#,
            vec![r#"{"output":"x","error":null}"#],
            false,
        ),
        ("{}", vec![], false),
    ];
    for (response, texts, failed) in rows {
        let request = contents(&format!(
            r#"{{"parts":[{{"functionResponse":{{"id":"c","name":"t","response":{response},
                "parts":[{{"inlineData":{{"mimeType":"image/png","data":"AQ=="}}}}]}}}}]}}"#
        ));
        let result = request.prompt().messages[0].tool_results().next().unwrap();
        let read: Vec<_> = result.parts.iter().filter_map(Part::as_text).collect();
        assert_eq!((read, result.is_error), (texts, failed), "{response}");
        assert!(matches!(result.parts.last(), Some(Part::Image(_))));
        let (body, losses) = write(&Request::from(request.prompt().messages.clone()));
        assert!(
            body.contains(&format!(r#""response":{response}"#)),
            "{body}"
        );
        assert!(losses.is_empty());
    }
}

#[test]
fn every_form_of_tool_is_read() {
    let request = read(
        r#"{"contents":[],"tools":[
            {"functionDeclarations":[{"name":"a","description":"d","parametersJsonSchema":{"b": 1},"behavior":"BLOCKING"}]},
            {"google_search":{}},
            {"function_declarations":{"name":"b","parameters":{"type":"OBJECT"}},"codeExecution":{},"urlContext":null}]}"#,
    )
    .request;
    let schemas: Vec<_> = request
        .prompt()
        .tools
        .iter()
        .map(|t| (t.name.as_str(), t.parameters.as_ref().unwrap().as_str()))
        .collect();
    assert_eq!(
        schemas,
        [("a", r#"{"b": 1}"#), ("b", r#"{"type":"object"}"#)]
    );
    let behaviour = request.prompt().tools[0]
        .native
        .as_ref()
        .unwrap()
        .get("behavior");
    assert_eq!(behaviour.unwrap().as_str(), "\"BLOCKING\"");
    let hosted: Vec<_> = request
        .prompt()
        .hosted_tools
        .iter()
        .map(|t| (t.kind.as_str(), t.raw.as_str()))
        .collect();
    assert_eq!(
        hosted,
        [
            ("googleSearch", r#"{"google_search":{}}"#),
            ("codeExecution", r#"{"codeExecution":{}}"#)
        ]
    );
}

#[test]
fn openapi_schemas_are_read_as_json_schema() {
    let rows = [
        // No OpenAPI construct: kept as written.
        (r#"{ "type": "object" }"#, r#"{ "type": "object" }"#),
        (
            r#"{"type":"OBJECT","properties":{"type":{"type":"STRING","nullable":true},"n":{"type":"INTEGER","enum":["STRING"]}},"required":["type"],"propertyOrdering":["n"]}"#,
            r#"{"type":"object","properties":{"type":{"type":["string","null"]},"n":{"type":"integer","enum":["STRING"]}},"required":["type"],"propertyOrdering":["n"]}"#,
        ),
        (
            r#"{"type":"ARRAY","minItems":"1","items":{"any_of":[{"type":"NUMBER"},{"type":"BOOLEAN"}],"nullable":true}}"#,
            r#"{"type":"array","minItems":1,"items":{"anyOf":[{"type":"number"},{"type":"boolean"},{"type":"null"}]}}"#,
        ),
        (
            r#"{"nullable":true,"type":"STRING","x":1}"#,
            r#"{"type":["string","null"],"x":1}"#,
        ),
        (r#"{"anyOf":[],"nullable":true}"#, r#"{"anyOf":[]}"#),
        (
            r#"{"$defs":{"A":{"type":"NULL"}},"nullable":false}"#,
            r#"{"$defs":{"A":{"type":"null"}}}"#,
        ),
        (
            r#"{"type":"STRING","additionalProperties":false}"#,
            r#"{"type":"string","additionalProperties":false}"#,
        ),
    ];
    for (googles, expected) in rows {
        let request = config(&format!(r#""responseSchema":{googles}"#));
        let OutputFormat::Schema(schema) = &request.prompt().output else {
            panic!("no schema");
        };
        assert_eq!(schema.schema.as_str(), expected);
    }
}

#[test]
fn every_form_of_tool_choice_is_read() {
    let named = ToolChoice::Named("a".into());
    let rows = [
        (r#"{"mode":"AUTO"}"#, ToolChoice::Auto, false),
        (r#"{}"#, ToolChoice::Auto, false),
        (r#"{"mode":"NONE"}"#, ToolChoice::None, false),
        (r#"{"mode":"any"}"#, ToolChoice::Required, false),
        (
            r#"{"mode":"ANY","allowed_function_names":["a"]}"#,
            named,
            false,
        ),
        (
            r#"{"mode":"ANY","allowedFunctionNames":["a","b"]}"#,
            ToolChoice::Required,
            true,
        ),
        (r#"{"mode":"VALIDATED"}"#, ToolChoice::Auto, true),
        (r#"{"mode":"PERHAPS"}"#, ToolChoice::Auto, true),
    ];
    for (value, expected, kept) in rows {
        let request = read(&format!(
            r#"{{"contents":[],"tools":[{{"functionDeclarations":[{{"name":"a"}}]}}],"toolConfig":{{"functionCallingConfig":{value}}}}}"#
        ))
        .request;
        assert_eq!(request.prompt().tool_choice, expected, "{value}");
        let native = native(&request, "toolConfig.functionCallingConfig");
        assert_eq!(native, kept.then_some(value), "{value}");
        let (body, _) = write(&Request::from(majordomo_llm::Prompt::clone(
            request.prompt(),
        )));
        assert_eq!(
            read(&body).request.prompt().tool_choice,
            request.prompt().tool_choice
        );
        assert_eq!(
            read(&body).request.prompt().native,
            request.prompt().native,
            "{value}"
        );
    }
}

#[test]
fn every_setting_is_read_in_both_spellings() {
    let camel = config(
        r#""maxOutputTokens":9,"temperature":0.5,"topP":0.9,"topK":40.0,"presencePenalty":1,
           "frequencyPenalty":-1,"seed":3,"stopSequences":["x"],"responseLogprobs":true,
           "responseModalities":[ "TEXT" ],"candidateCount":1"#,
    );
    let snake = config(
        r#""max_output_tokens":9,"temperature":0.5,"top_p":0.9,"top_k":40.0,"presence_penalty":1,
           "frequency_penalty":-1,"seed":3,"stop_sequences":["x"],"response_logprobs":true,
           "response_modalities":["TEXT"],"candidate_count":1"#,
    );
    assert_eq!(*camel.prompt(), *snake.prompt());
    assert_eq!(
        (camel.prompt().max_tokens, camel.prompt().top_k),
        (Some(9), Some(40))
    );
    assert_eq!(
        (camel.prompt().temperature, camel.prompt().top_p),
        (Some(0.5), Some(0.9))
    );
    assert_eq!(
        (camel.prompt().seed, camel.prompt().stop.as_slice()),
        (Some(3), &["x".to_owned()][..])
    );
    assert_eq!(
        native(&camel, "generationConfig.responseLogprobs"),
        Some("true")
    );
    assert_eq!(camel.prompt().native.as_ref().unwrap().fields().count(), 1);
}

#[test]
fn every_output_format_is_read() {
    let output = |fields: &str| config(fields).prompt().output.clone();
    assert_eq!(output(""), OutputFormat::Text);
    assert_eq!(
        output(r#""responseMimeType":"text/plain""#),
        OutputFormat::Text
    );
    assert_eq!(
        output(r#""responseMimeType":"application/json""#),
        OutputFormat::Json
    );
    for fields in [
        r#""responseMimeType":"application/json","responseJsonSchema":{"a": 1}"#,
        r#""response_schema":{"a": 1},"response_mime_type":"application/json""#,
    ] {
        let OutputFormat::Schema(schema) = output(fields) else {
            panic!("no schema");
        };
        assert_eq!(schema.schema.as_str(), r#"{"a": 1}"#);
    }
    let enum_output =
        config(r#""responseMimeType":"text/x.enum","responseSchema":{"type":"STRING"}"#);
    assert_eq!(enum_output.prompt().output, OutputFormat::Text);
    assert_eq!(
        native(&enum_output, "generationConfig.responseSchema"),
        Some(r#"{"type":"STRING"}"#)
    );
}

#[test]
fn thinking_is_read_as_effort_or_budget() {
    let rows = [
        (r#""thinkingLevel":"HIGH""#, Some(Effort::High), None),
        (r#""thinking_level":"minimal""#, Some(Effort::Minimal), None),
        (r#""thinkingBudget":0"#, Some(Effort::None), None),
        (r#""thinkingBudget":512"#, None, Some(512)),
        (r#""thinkingBudget":-1"#, None, None),
        (
            r#""thinkingLevel":"ULTRA","includeThoughts":true"#,
            None,
            None,
        ),
    ];
    for (fields, effort, budget) in rows {
        let request = config(&format!(r#""thinkingConfig":{{{fields}}}"#));
        assert_eq!(
            (request.prompt().effort, request.prompt().reasoning_budget),
            (effort, budget),
            "{fields}"
        );
    }
    let kept = config(r#""thinkingConfig":{"thinkingBudget":-1,"includeThoughts":true}"#);
    assert_eq!(native(&kept, "thinkingConfig.thinkingBudget"), Some("-1"));
    assert_eq!(
        native(&kept, "thinkingConfig.includeThoughts"),
        Some("true")
    );
}

#[test]
fn duplicate_keys_are_rejected_in_any_spelling() {
    let rows = [
        (r#"{"contents":[],"contents":[]}"#, "contents"),
        (r#"{"contents":[],"toolConfig":{},"tool_config":{}}"#, ""),
        (
            r#"{"contents":[],"generationConfig":{"topK":1,"x":{},"top_k":2}}"#,
            "generationConfig",
        ),
        (
            r#"{"contents":[{"parts":[{"inlineData":{"mime_type":"a","mimeType":"b"}}]}]}"#,
            "contents[0].parts[0].inlineData",
        ),
    ];
    for (body, path) in rows {
        let error = Gemini
            .read_request(Bytes::from_static(body.as_bytes()))
            .unwrap_err();
        assert!(error.to_string().contains("duplicate key"), "{error}");
        assert!(error.path().starts_with(path), "{error}");
    }
}

#[test]
fn invalid_requests_are_rejected_with_the_json_path() {
    let rows = [
        ("[]", "expected an object, found an array"),
        (
            r#"{"contents":"hi"}"#,
            "contents: expected an array, found a string",
        ),
        (
            r#"{"contents":[{"role":7}]}"#,
            "contents[0].role: expected a string, found a number",
        ),
        (
            r#"{"contents":[],"generationConfig":{"temperature":"hot"}}"#,
            "generationConfig.temperature: expected a number, found a string",
        ),
    ];
    for (body, text) in rows {
        let error = Gemini
            .read_request(Bytes::from_static(body.as_bytes()))
            .unwrap_err();
        assert_eq!(error.to_string(), text);
    }
    let deep = format!(
        r#"{{"contents":[],"x":{}1{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let error = Gemini.read_request(Bytes::from(deep)).unwrap_err();
    assert!(error.to_string().contains("nested deeper"), "{error}");
}

proptest! {
    #[test]
    fn converting_a_schema_is_idempotent(
        keys in prop::collection::vec("type|nullable|anyOf|any_of|items|properties|minItems|x", 0..5),
        values in prop::collection::vec(r#""STRING"|true|\[\]|\[\{"type":"NULL"\}\]|\{"type":"ARRAY","nullable":true\}|"1""#, 5),
    ) {
        let fields = keys.iter().zip(&values).map(|(key, value)| format!("\"{key}\":{value}"));
        let raw = format!("{{{}}}", fields.collect::<Vec<_>>().join(", "));
        let once = super::super::schema::read_schema(&raw);
        prop_assert_eq!(super::super::schema::read_schema(once.as_str()), once);
    }

    #[test]
    fn no_body_makes_the_reader_panic(body in ".{0,80}") {
        let _ = Gemini.read_request(Bytes::from(body));
    }

    #[test]
    fn no_truncated_request_makes_the_reader_panic(cut in 0..600usize) {
        let body = r#"{"contents":[{"role":"model","parts":[{"text":"é","thought":true},{"functionCall":{"name":"t","args":{"a":[1]},"partialArgs":[{"jsonPath":"$.a"}]}},{"inline_data":{"data":"AQ"}}]},{"parts":[{"functionResponse":{"response":{"output":1},"parts":[{}]}}]}],"tools":[{"functionDeclarations":[{"name":"t","parameters":{"type":"OBJECT"}}],"x":1}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},"generationConfig":{"thinkingConfig":{"thinkingBudget":1},"responseSchema":{}}}"#;
        let end = (0..=cut.min(body.len())).rev().find(|at| body.is_char_boundary(*at)).unwrap_or(0);
        let _ = Gemini.read_request(Bytes::copy_from_slice(&body.as_bytes()[..end]));
    }
}
