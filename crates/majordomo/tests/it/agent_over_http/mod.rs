//! The tool loop over real sockets, one scripted server per dialect: the model calls two tools
//! at once, receives both results, then responds with text.

mod bodies;

use std::sync::Arc;

use bodies::Dialect;
use majordomo::agent::{Agent, Function, RunOutcome};
use majordomo::providers::Settings;
use majordomo::transport::{Proxies, Transport, TransportConfig};
use majordomo::{Part, Provider};
use majordomo_testkit::{Script, Upstream};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Barrier;

#[derive(Deserialize, JsonSchema)]
struct City {
    /// A city's name.
    city: String,
}

/// A tool that returns only when two calls of it run at the same time.
fn weather() -> Function {
    let both = Arc::new(Barrier::new(2));
    Function::new("weather", "The weather in a city.", move |city: City| {
        let both = both.clone();
        async move {
            both.wait().await;
            Ok::<_, String>(format!("sunny in {}", city.city))
        }
    })
}

async fn run(dialect: &Dialect, streamed: bool) -> (Upstream, RunOutcome) {
    let (content_type, [calls, response]) = match streamed {
        true => (
            dialect.content_type,
            [0, 1].map(|turn| dialect.stream(turn)),
        ),
        false => ("application/json", dialect.whole.map(str::to_owned)),
    };
    let script = Script::new()
        .read_request()
        .respond(200, content_type, calls)
        .read_request()
        .respond(200, content_type, response);
    let upstream = Upstream::start([script]).await;
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
    let settings = Settings::new("here", transport)
        .discovery(false)
        .base_url(format!("http://{}", upstream.address()))
        .key(Some("canary".to_owned().into()));
    let provider = dialect.kind.provider(settings).expect("valid settings");
    let agent = Agent::builder_on(provider.model("m-1").expect("a model"))
        .tool(weather())
        .build()
        .expect("one tool");
    let run = agent.run("How is the weather in Paris and Oslo?");
    let outcome = match streamed {
        true => run.stream().finish().await,
        false => run.await,
    };
    let name = dialect.kind.as_str();
    let outcome = outcome.unwrap_or_else(|error| panic!("{name}, streamed {streamed}: {error}"));
    (upstream, outcome)
}

fn check(dialect: &Dialect, streamed: bool, upstream: &Upstream, outcome: &RunOutcome) {
    let name = format!("{}, streamed {streamed}", dialect.kind.as_str());
    assert_eq!(outcome.output, "Sunny in both.", "{name}");
    assert_eq!(
        (outcome.usage.input, outcome.usage.output),
        (30, 9),
        "{name}"
    );
    assert_eq!(outcome.steps.len(), 2, "{name}");

    let requests = upstream.requests();
    assert_eq!(requests.len(), 2, "{name}: the model was called twice");
    let codec = dialect.protocol.codec();
    let read = |at: usize| codec.read_request(requests[at].body.clone()).expect(&name);
    let (first, second) = (read(0), read(1));
    assert_eq!(
        first.request.prompt().tools.len(),
        1,
        "{name}: the tool was offered"
    );
    // Gemini has the model in its path.
    if dialect.protocol != majordomo_wire::Protocol::Gemini {
        assert_eq!(first.stream, streamed, "{name}");
    }
    let messages = &second.request.prompt().messages;
    let calls: Vec<_> = messages.iter().flat_map(|m| m.tool_calls()).collect();
    let results: Vec<_> = messages.iter().flat_map(|m| m.tool_results()).collect();
    let cities: Vec<_> = calls.iter().map(|c| c.arguments.replace(' ', "")).collect();
    assert_eq!(
        cities,
        [r#"{"city":"Paris"}"#, r#"{"city":"Oslo"}"#],
        "{name}"
    );
    let texts: Vec<_> = results.iter().map(|result| result.text()).collect();
    assert_eq!(texts, ["sunny in Paris", "sunny in Oslo"], "{name}");
    for (call, result) in calls.iter().zip(&results) {
        assert!(
            result.call_id == call.id || result.name.as_ref() == Some(&call.name),
            "{name}: {result:?} does not answer {call:?}"
        );
        assert!(!result.is_error, "{name}");
    }
    let last = messages.last().map(|message| &message.parts[..]);
    assert!(matches!(last, Some([.., Part::ToolResult(_)])), "{name}");
}

#[tokio::test]
async fn two_tools_run_concurrently_in_every_dialect() {
    for dialect in bodies::ALL {
        let (upstream, outcome) = run(dialect, false).await;
        check(dialect, false, &upstream, &outcome);
    }
}

#[tokio::test]
async fn two_tools_run_concurrently_in_every_streamed_dialect() {
    for dialect in bodies::ALL {
        let (upstream, outcome) = run(dialect, true).await;
        check(dialect, true, &upstream, &outcome);
    }
}
