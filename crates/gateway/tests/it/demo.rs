//! Responses of the demo provider.

use majordomo::{
    Error, ErrorKind, Event, FinishReason, Json, Message, Model, ModelExt, Part, Provider,
    Registry, Request, Tool, ToolChoice, ToolResult,
};
use majordomo_gateway::Demo;

fn model(id: &str) -> std::sync::Arc<dyn Model> {
    Demo::new("demo")
        .model(id)
        .expect("the demo makes any model")
}

async fn send_request(id: &str, request: Request) -> majordomo::Response {
    model(id).generate(request).await.expect("an answer")
}

fn weather() -> Tool {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    Tool::new("get_weather").parameters(Json::parse(schema).expect("a schema"))
}

fn picture() -> Vec<u8> {
    let mut data = Vec::new();
    let mut encoder = png::Encoder::new(&mut data, 32, 16);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&[0; 512]).expect("pixels");
    writer.finish().expect("an end");
    data
}

#[tokio::test]
async fn the_response_is_deterministic_and_repeats_the_prompt() {
    let request = Request::user("Why is the sky blue?").system("You are terse.");
    let response = send_request("text", request.clone()).await;
    assert_eq!(response, send_request("text", request).await);
    let text = response.text();
    assert!(
        text.contains("You said: \"Why is the sky blue?\""),
        "{text}"
    );
    assert!((150..800).contains(&text.len()), "{text}");
    assert_eq!(response.model, "demo/text");
    assert_eq!(response.finish, FinishReason::Stop);
    assert_eq!(response.usage.output, text.len().div_ceil(4) as u64);
    assert!(response.usage.input > 0);
}

#[tokio::test]
async fn a_stream_has_several_chunks_and_the_same_text() {
    let request = Request::user("hello");
    let whole = send_request("text", request.clone()).await;
    let mut stream = model("text").events(request.clone()).await.unwrap();
    let mut texts = Vec::new();
    while let Some(event) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        if let Event::Text(text) = event.unwrap() {
            texts.push(text);
        }
    }
    assert!(texts.len() > 5, "{texts:?}");
    assert_eq!(texts.concat(), whole.text());
    let folded = model("text")
        .stream(request)
        .await
        .unwrap()
        .finish()
        .await
        .unwrap();
    assert_eq!(folded, whole);
}

#[tokio::test]
async fn vision_reports_format_and_size_even_in_tool_results() {
    let image = Part::image("image/png", picture());
    let request = Request::user("What is this?")
        .part(image.clone())
        .part(Part::image("image/png", vec![0; 9]));
    let text = send_request("vision", request).await.text();
    let bytes = picture().len();
    assert!(
        text.contains(&format!(
            "Image 1 of 2: png of 32×16 pixels, {bytes} bytes."
        )),
        "{text}"
    );
    assert!(
        text.contains("Image 2 of 2: 9 bytes in an unknown format."),
        "{text}"
    );

    let error = model("text")
        .generate(Request::user("see?").part(image))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn flaky_fails_every_third_request() {
    let flaky = model("flaky");
    let mut served = Vec::new();
    for _ in 0..6 {
        served.push(flaky.generate(Request::user("hi")).await.map(|_| ()));
    }
    let status = |result: &Result<(), Error>| result.as_ref().err().and_then(Error::status);
    let statuses: Vec<Option<u16>> = served.iter().map(status).collect();
    assert_eq!(statuses, [None, None, Some(503), None, None, Some(503)]);
}

#[tokio::test]
async fn tools_are_called_when_required_or_mentioned() {
    let offer = |text: &str| Request::user(text).tool(weather());
    let calls = async |request: Request| {
        let response = send_request("text", request).await;
        response
            .tool_calls()
            .map(|call| (call.name.clone(), call.arguments.clone()))
            .collect::<Vec<_>>()
    };
    let called = vec![("get_weather".to_owned(), "{\"city\":\"demo\"}".to_owned())];
    assert_eq!(calls(offer("Please use get_weather.")).await, called);
    assert_eq!(
        calls(offer("hi").tool_choice(ToolChoice::Required)).await,
        called
    );
    assert_eq!(
        calls(offer("hi").tool_choice(ToolChoice::Named("get_weather".into()))).await,
        called
    );
    assert_eq!(calls(offer("hi")).await, []);
    assert_eq!(
        calls(offer("use get_weather").tool_choice(ToolChoice::None)).await,
        []
    );
}

#[tokio::test]
async fn a_tool_result_ends_the_round() {
    let request = Request::user("use get_weather").tool(weather());
    let response = send_request("text", request.clone()).await;
    let call = response.tool_calls().next().unwrap();
    assert_eq!(
        (call.id.as_str(), &response.finish),
        ("call_0", &FinishReason::ToolCalls)
    );
    let result = ToolResult::new(call, "sunny, 21 degrees");
    let request = request
        .message(response.to_message())
        .message(Message::tool_results_message([result]));
    let response = send_request("text", request).await;
    assert_eq!(response.tool_calls().count(), 0);
    assert!(
        response
            .text()
            .contains("`get_weather` answered: \"sunny, 21 degrees\"")
    );
}

#[tokio::test]
async fn limits_and_stop_sequences_end_the_response() {
    let cut = send_request("text", Request::user("hi").max_tokens(5)).await;
    assert_eq!((cut.finish, cut.usage.output), (FinishReason::Length, 5));
    let stopped = send_request("text", Request::user("hi").stop("model")).await;
    assert_eq!(
        stopped.finish,
        FinishReason::StopSequence(Some("model".into()))
    );
    assert!(!stopped.text().contains("model"));
}

#[tokio::test]
async fn a_schema_is_satisfied() {
    let schema =
        Json::parse(r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#);
    let response = send_request("text", Request::user("hi").schema(schema.unwrap(), "n")).await;
    assert_eq!(response.text(), "{\"n\":1}");
}

#[tokio::test(start_paused = true)]
async fn the_slow_model_streams_for_seconds() {
    let began = tokio::time::Instant::now();
    let text = send_request("slow", Request::user("hi")).await.text();
    assert!(!began.elapsed().is_zero());
    let mut stream = model("slow").events(Request::user("hi")).await.unwrap();
    let (mut streamed, began) = (String::new(), tokio::time::Instant::now());
    while let Some(event) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        if let Event::Text(part) = event.unwrap() {
            streamed.push_str(&part);
        }
    }
    assert_eq!(streamed, text);
    let took = began.elapsed();
    assert!((1..10).contains(&took.as_secs()), "{took:?}");
}

#[tokio::test]
async fn a_dry_run_names_a_model_that_the_demo_lacks() {
    let registry = Registry::empty();
    registry.register(Demo::new("demo"));
    let chain = registry.model("demo/none").unwrap();
    let previews = chain.preview(&Request::user("hi")).await;
    let error = previews[0].shaped.as_ref().unwrap_err();
    assert!(error.message().contains("no model `none`"), "{error}");
}

#[tokio::test]
async fn its_models_are_listed_and_unknown_ones_are_not_found() {
    let demo = Demo::new("demo");
    let listed = demo.models().await.unwrap();
    let ids: Vec<&str> = listed.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["text", "vision", "slow", "image", "flaky"]);
    let sees = |at: usize| listed[at].capabilities.as_ref().unwrap().takes_images();
    assert!(!sees(0) && sees(1) && !sees(2));
    let error = model("gpt")
        .generate(Request::user("hi"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ModelNotFound);
}

#[tokio::test]
async fn a_schema_that_expands_exponentially_is_rejected_by_name() {
    let level = |items: String, _| format!(r#"{{"type":"array","minItems":256,"items":{items}}}"#);
    let nested = (0..4).fold(r#"{"type":"string"}"#.to_owned(), level);
    let schema = Json::parse(nested).expect("a schema");
    let tool = Tool::new("bomb").parameters(schema.clone());
    for (request, name) in [
        (
            Request::user("hi").schema(schema, "tree"),
            "the response `tree`",
        ),
        (Request::user("use bomb").tool(tool), "the tool `bomb`"),
    ] {
        let error = model("text").generate(request.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains(name), "{error}");
        assert!(model("text").events(request).await.is_err());
    }
}

#[tokio::test]
async fn a_large_request_gets_a_short_response() {
    let results = (0..500).map(|at| ToolResult {
        call_id: format!("call_{at}"),
        ..ToolResult::new(&majordomo::ToolCall::new("c", "t", "{}"), "x".repeat(9_000))
    });
    let images = (0..500).fold(Request::user("y".repeat(1 << 20)), |request, _| {
        request.part(Part::image("image/png", picture()))
    });
    let tools = Request::user("go").message(Message::tool_results_message(results));
    for (id, request) in [("vision", images), ("text", tools)] {
        let text = send_request(id, request).await.text();
        assert!(text.len() < 8_000, "{} bytes", text.len());
    }
}
