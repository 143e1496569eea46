//! Tool calls yield exactly one result.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use majordomo::agent::{Function, NoArguments, ToolOutput, Toolbox, ToolboxError, tool};
use majordomo::{Json, Part, Tool, ToolCall, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Pair {
    a: i64,
    b: i64,
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall::new("call_0", name, arguments)
}

/// A toolbox of one tool that counts how often its handler ran.
fn counted() -> (Toolbox, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    let add = Function::new("add", "Adds.", move |pair: Pair| {
        counter.fetch_add(1, Ordering::Relaxed);
        async move { Ok::<_, String>(pair.a + pair.b) }
    });
    (Toolbox::new([add]).unwrap(), runs)
}

async fn run_one(function: Function) -> ToolResult {
    let name = function.definition().name.clone();
    let toolbox = Toolbox::new([function]).unwrap();
    toolbox.call(&call(&name, "{}")).await
}

#[tokio::test]
async fn a_result_carries_the_id_and_name_of_its_call() {
    let (toolbox, _) = counted();
    let result = toolbox.call(&call("add", r#"{"a":2,"b":3}"#)).await;
    assert_eq!((result.text().as_str(), result.is_error), ("5", false));
    assert_eq!(result.call_id, "call_0");
    assert_eq!(result.name.as_deref(), Some("add"));
}

#[tokio::test]
async fn unknown_tool_names_get_an_error_result_and_are_never_guessed() {
    let (toolbox, runs) = counted();
    for name in ["sum", "Add", "ADD", ""] {
        let result = toolbox.call(&call(name, r#"{"a":2,"b":3}"#)).await;
        assert!(result.is_error);
        assert!(
            result.text().contains("The tools are: add."),
            "{}",
            result.text()
        );
    }
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn invalid_arguments_are_rejected_before_the_handler_runs() {
    let (toolbox, runs) = counted();
    let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(70), "]".repeat(70));
    let huge = format!(r#"{{"a":1,"b":2,"c":"{}"}}"#, "x".repeat(1024 * 1024));
    for (arguments, expected) in [
        (r#"{"a":"2","b":3}"#, "at /a: \"2\" is not of type"),
        (r#"{"a":2}"#, "\"b\" is a required property"),
        (r#"{"a":2,"b":"#, "not valid JSON"),
        (r#"{"a":2,"a":3,"b":4}"#, "occurs twice"),
        (r#"[1,2]"#, "one JSON object"),
        (deep.as_str(), "deeper than 64"),
        (huge.as_str(), "Send less"),
    ] {
        let result = toolbox.call(&call("add", arguments)).await;
        assert!(result.is_error);
        assert!(
            result.text().contains(expected),
            "{expected:?} in {}",
            result.text()
        );
    }
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_schema_mismatch_shows_the_schema_to_the_model() {
    let (toolbox, _) = counted();
    let text = toolbox.call(&call("add", "{}")).await.text();
    assert!(text.contains(r#"The schema: {"type":"object""#), "{text}");
}

#[tokio::test]
async fn a_panic_becomes_an_error_result() {
    let during = Function::new("t", "Panics.", |_: NoArguments| async {
        panic!("no such table");
        #[allow(unreachable_code, reason = "gives the block its type")]
        Ok::<(), String>(())
    });
    let before = Function::new("t", "Panics.", |_: NoArguments| {
        if true {
            panic!("no such table");
        }
        async { Ok::<(), String>(()) }
    });
    for function in [during, before] {
        let result = run_one(function).await;
        assert!(result.is_error);
        assert_eq!(result.text(), "The tool panicked: no such table.");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_tool_is_stopped_at_its_timeout() {
    let hang = Function::new("t", "Hangs.", |_: NoArguments| async {
        std::future::pending::<()>().await;
        Ok::<(), String>(())
    });
    let result = run_one(hang.timeout(Duration::from_secs(3))).await;
    assert!(result.is_error);
    assert_eq!(result.text(), "The tool did not finish within 3s.");
}

#[tokio::test]
async fn large_output_is_truncated_with_a_marker() {
    let large = Function::new("t", "Prints.", |_: NoArguments| async {
        Ok::<_, String>("y".repeat(50_000_000))
    });
    let text = run_one(large).await.text();
    assert!(text.len() < 256 * 1024 + 100);
    assert!(text.ends_with("[truncated: the first 262144 of 50000000 bytes are shown]"));
}

#[tokio::test]
async fn unprintable_output_is_sanitized_in_results_and_errors() {
    let dirty = |fail: bool| {
        Function::new("t", "Prints.", move |_: NoArguments| async move {
            let text = "\u{1b}[31mred\0\u{1b}[0m";
            if fail { Err(text) } else { Ok(text) }
        })
    };
    for fail in [false, true] {
        let result = run_one(dirty(fail)).await;
        assert_eq!((result.text().as_str(), result.is_error), ("red", fail));
    }
}

#[tokio::test]
async fn errors_become_error_results() {
    let fails = Function::new("t", "Fails.", |_: NoArguments| async {
        Err::<(), _>(std::io::Error::other("disk full"))
    });
    let result = run_one(fails).await;
    assert_eq!(
        (result.text().as_str(), result.is_error),
        ("disk full", true)
    );
}

#[tokio::test]
async fn results_may_contain_images() {
    let draw = Function::new("t", "Draws.", |_: NoArguments| async {
        Ok::<_, String>(ToolOutput::text("a dot").image("image/png", [1, 2]))
    });
    let result = run_one(draw).await;
    assert!(matches!(&result.parts[..], [Part::Text(_), Part::Image(_)]));
}

#[test]
fn a_toolbox_rejects_names_and_schemas_that_providers_reject() {
    let named =
        |name: &str| Function::new(name, "x", |_: NoArguments| async { Ok::<_, String>(1) });
    let rejection = |function| Toolbox::new([named("a"), function]).unwrap_err();
    assert!(matches!(
        rejection(named("a")),
        ToolboxError::Duplicate { .. }
    ));
    for name in ["", "a b", "ä", &"x".repeat(65)] {
        assert!(matches!(rejection(named(name)), ToolboxError::Name { .. }));
    }
    let text = Function::new("t", "x", |_: String| async { Ok::<_, String>(1) });
    assert!(matches!(rejection(text), ToolboxError::Schema { .. }));
    let broken = Json::parse(r#"{"type": "object", "properties": 3}"#).unwrap();
    let broken = Function::untyped(Tool::new("t").parameters(broken), |_, _| async {
        Ok::<_, String>(ToolOutput::default())
    });
    assert!(matches!(rejection(broken), ToolboxError::Schema { .. }));
}

#[test]
fn extending_a_toolbox_keeps_the_order_and_is_atomic() {
    let named =
        |name: &str| Function::new(name, "x", |_: NoArguments| async { Ok::<_, String>(1) });
    let names = |toolbox: &Toolbox| -> Vec<String> {
        toolbox
            .definitions()
            .map(|tool| tool.name.clone())
            .collect()
    };
    let mut first = Toolbox::new([named("b"), named("a")]).unwrap();
    first.extend(&Toolbox::new([named("c")]).unwrap()).unwrap();
    assert_eq!(names(&first), ["b", "a", "c"]);
    let clash = Toolbox::new([named("d"), named("a")]).unwrap();
    assert!(first.extend(&clash).is_err());
    assert_eq!(names(&first), ["b", "a", "c"]);
}

/// Divides two numbers.
///
/// Whole results only.
#[tool(name = "divide", timeout_secs = 1, alone)]
async fn division(
    /// What is divided.
    dividend: i64,
    /// What it is divided by.
    #[serde(default)]
    by: Option<i64>,
) -> Result<i64, String> {
    dividend
        .checked_div(by.unwrap_or(2))
        .ok_or_else(|| "cannot divide by zero".into())
}

/// Says pong.
#[tool]
async fn ping() -> &'static str {
    "pong"
}

#[tokio::test]
async fn the_tool_attribute_derives_name_description_and_arguments() {
    let function = division();
    let definition = function.definition();
    assert_eq!(definition.name, "divide");
    assert_eq!(
        definition.description.as_deref(),
        Some("Divides two numbers.\n\nWhole results only.")
    );
    let schema: serde_json::Value = definition.parameters.as_ref().unwrap().to().unwrap();
    assert_eq!(
        schema["properties"]["dividend"]["description"],
        "What is divided."
    );
    assert_eq!(schema["required"], serde_json::json!(["dividend"]));

    let toolbox = Toolbox::new([function, ping()]).unwrap();
    for (name, arguments, text) in [
        ("divide", r#"{"dividend": 9}"#, "4"),
        ("divide", r#"{"dividend": 9, "by": 3}"#, "3"),
        (
            "divide",
            r#"{"dividend": 9, "by": 0}"#,
            "cannot divide by zero",
        ),
        ("ping", "", "pong"),
    ] {
        assert_eq!(toolbox.call(&call(name, arguments)).await.text(), text);
    }
}
