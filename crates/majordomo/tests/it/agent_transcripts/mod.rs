//! Whatever the tools do, each call has exactly one result, in order, in every dialect.

mod written;

use std::time::Duration;

use majordomo::agent::{
    Agent, CancellationToken, Function, NoArguments, ToolOutput, check_transcript,
};
use majordomo::fake::{Fake, Step};
use majordomo::{Message, Part, Provider, Response, Role, ToolCall, ToolResult};
use majordomo_wire::Protocol;
use proptest::prelude::*;
use tokio::time::sleep;

/// The behaviour of a tool.
#[derive(Clone, Copy, Debug)]
enum Behaviour {
    Answer,
    Fail,
    Panic,
    Hang,
    Megabytes,
    Image,
}

#[derive(Clone, Debug)]
struct Tool {
    behaviour: Behaviour,
    wait: u64,
    alone: bool,
}

fn any_tool() -> impl Strategy<Value = Tool> {
    let behaviour = prop_oneof![
        4 => Just(Behaviour::Answer),
        4 => Just(Behaviour::Fail),
        4 => Just(Behaviour::Panic),
        4 => Just(Behaviour::Hang),
        // Rare, because five codecs encode them.
        1 => Just(Behaviour::Megabytes),
        4 => Just(Behaviour::Image),
    ];
    (behaviour, 0..500_u64, any::<bool>()).prop_map(|(behaviour, wait, alone)| Tool {
        behaviour,
        wait,
        alone,
    })
}

/// A call of an existing or unknown tool; ids may be missing or duplicate.
fn any_call() -> impl Strategy<Value = ToolCall> {
    let id = prop_oneof![Just(""), Just("call_0"), Just("call_1"), Just("toolu_1")];
    let arguments = prop_oneof![
        Just("{}"),
        Just(""),
        Just("{"),
        Just("[]"),
        Just("{\"x\":1}")
    ];
    (id, 0..6_usize, arguments)
        .prop_map(|(id, tool, arguments)| ToolCall::new(id, format!("t{tool}"), arguments))
}

fn function(number: usize, tool: &Tool) -> Function {
    let Tool {
        behaviour,
        wait,
        alone,
    } = tool.clone();
    let run = move |_: NoArguments| async move {
        sleep(Duration::from_millis(wait)).await;
        match behaviour {
            Behaviour::Answer => Ok(ToolOutput::text("fine")),
            Behaviour::Fail => Err("no".to_owned()),
            // Bypasses the panic hook to keep the output readable.
            Behaviour::Panic => std::panic::resume_unwind(Box::new("broken")),
            Behaviour::Hang => std::future::pending().await,
            Behaviour::Megabytes => Ok(ToolOutput::text("x".repeat(2_000_000))),
            Behaviour::Image => Ok(ToolOutput::default().image("image/png", [1])),
        }
    };
    let function =
        Function::new(format!("t{number}"), "Anything.", run).timeout(Duration::from_secs(1));
    if alone { function.alone() } else { function }
}

/// What ends the run.
#[derive(Clone, Copy, Debug)]
enum End {
    Natural,
    Cancelled(u64),
    Deadline(u64),
}

fn any_end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Natural),
        (0..3_000_u64).prop_map(End::Cancelled),
        (0..3_000_u64).prop_map(End::Deadline),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn each_call_has_exactly_one_result_in_order(
        tools in prop::collection::vec(any_tool(), 1..5),
        responses in prop::collection::vec(prop::collection::vec(any_call(), 1..12), 0..5),
        parallel in 1..10_usize,
        end in any_end(),
        streamed in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let fake = Fake::new("fp");
        fake.enqueue("m", responses.into_iter().map(|calls| {
            let calls = calls.into_iter().map(Part::ToolCall);
            Step::respond(Response::new(calls.collect())).after(Duration::from_millis(100))
        }));
        let mut builder = Agent::builder_on(fake.model("m").unwrap()).parallel(parallel);
        for (number, tool) in tools.iter().enumerate() {
            builder = builder.tool(function(number, tool));
        }
        let agent = builder.build().unwrap();
        let outcome = runtime.block_on(async {
            let mut run = agent.run("go");
            match end {
                End::Natural => {}
                End::Deadline(ms) => run = run.timeout(Duration::from_millis(ms)),
                End::Cancelled(ms) => {
                    let token = CancellationToken::new();
                    run = run.cancel(token.clone());
                    tokio::spawn(async move {
                        sleep(Duration::from_millis(ms)).await;
                        token.cancel();
                    });
                }
            }
            let result = if streamed { run.stream().finish().await } else { run.await };
            result.unwrap_or_else(|error| error.into_outcome())
        });
        prop_assert_eq!(check_transcript(&outcome.messages), Ok(()));
        for call in fake.calls() {
            prop_assert_eq!(check_transcript(&call.request.prompt().messages), Ok(()));
        }
        for protocol in Protocol::ALL {
            prop_assert_eq!(written::check(protocol, &outcome.messages), Ok(()));
        }
        let longest = outcome.messages.iter().flat_map(|m| m.tool_results()).map(|r| r.text().len());
        prop_assert!(longest.max().unwrap_or(0) < 263_000);
    }
}

/// The checks in this file can fail.
#[test]
fn a_lost_or_misplaced_result_is_detected_in_every_dialect() {
    let calls = [
        ToolCall::new("call_0", "look", "{}"),
        ToolCall::new("call_1", "listen", "{}"),
    ];
    let conversation = |responded: &[&ToolCall]| {
        let results = responded.iter().map(|call| ToolResult::new(call, "fine"));
        [
            Message::user("go"),
            Message::new(
                Role::Assistant,
                calls.iter().cloned().map(Part::ToolCall).collect(),
            ),
            Message::tool_results_message(results),
        ]
    };
    let [look, listen] = &calls;
    for protocol in Protocol::ALL {
        let check = |responded: &[&ToolCall]| written::check(protocol, &conversation(responded));
        assert_eq!(check(&[look, listen]), Ok(()));
        assert!(check(&[look]).is_err(), "{protocol:?}: lost");
        assert!(check(&[listen, look]).is_err(), "{protocol:?}: swapped");
        assert!(check(&[look, listen, look]).is_err(), "{protocol:?}: twice");
    }
}
