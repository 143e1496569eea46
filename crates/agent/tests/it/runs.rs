//! Runs: the loop, steering, approval, guards and compaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use majordomo::agent::{
    AgentEvent, Compact, Compacted, CompactionInput, Decision, Skill, SkillBuilder, Steer,
    StopReason, Toolbox, ToolboxError, calc, check_transcript,
};
use majordomo::fake::{Beat, Step};
use majordomo::{
    BoxFuture, Error, ErrorKind, Event, FinishReason, Message, Part, Response, Role, ToolChoice,
    Usage,
};

use crate::support::{SharedLog, call, calls, echo, fake, on};

#[tokio::test]
async fn a_run_continues_until_the_model_calls_no_tool() {
    let fake = fake([call("a", "look"), Step::reply("a cat")]);
    let agent = on(&fake)
        .system("Be brief.")
        .tool(echo("look"))
        .build()
        .unwrap();
    let outcome = agent.run("what do you see?").await.unwrap();
    assert_eq!(outcome.output, "a cat");
    let roles: Vec<Role> = outcome.messages.iter().map(|m| m.role).collect();
    assert_eq!(
        roles,
        [Role::User, Role::Assistant, Role::Tool, Role::Assistant]
    );
    assert_eq!(
        outcome.messages[2].tool_results().next().unwrap().text(),
        "look"
    );
    assert_eq!(outcome.steps.len(), 2);
    assert_eq!(
        outcome.messages_of(&outcome.steps[0]),
        &outcome.messages[1..3]
    );
    let request = &fake.calls()[0].request;
    assert_eq!(request.prompt().system_text(), "Be brief.");
    assert_eq!(request.prompt().tools[0].name, "look");
}

#[tokio::test]
async fn usage_is_summed_over_all_calls() {
    let fake = fake([call("a", "look"), call("b", "look"), Step::reply("done")]);
    let agent = on(&fake).tool(echo("look")).build().unwrap();
    let usage = agent.run("go").await.unwrap().usage;
    assert_eq!((usage.input, usage.output), (21, 5));
}

#[tokio::test]
async fn all_results_of_a_step_form_one_message_in_call_order() {
    let delayed = |name: &'static str, ms: u64| {
        majordomo::agent::Function::new(
            name,
            "Waits.",
            move |_: majordomo::agent::NoArguments| async move {
                tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
                Ok::<_, String>(name)
            },
        )
    };
    tokio::time::pause();
    let fake = fake([
        calls(&[("1", "slow", ""), ("2", "fast", ""), ("3", "slow", "")]),
        Step::reply("done"),
    ]);
    let agent = on(&fake)
        .tool(delayed("slow", 500))
        .tool(delayed("fast", 1))
        .build()
        .unwrap();
    let outcome = agent.run("go").await.unwrap();
    let ids: Vec<&str> = outcome.messages[2]
        .tool_results()
        .map(|result| result.call_id.as_str())
        .collect();
    assert_eq!(ids, ["1", "2", "3"]);
}

#[tokio::test]
async fn a_transcript_can_be_the_history_of_the_next_run() {
    let fake = fake([Step::reply("hello Ada"), Step::reply("Ada")]);
    let agent = on(&fake).build().unwrap();
    let first = agent.run("I am Ada").await.unwrap();
    let second = agent
        .run("who am I?")
        .history(first.messages)
        .await
        .unwrap();
    let texts: Vec<String> = second.messages.iter().map(Message::text).collect();
    assert_eq!(texts, ["I am Ada", "hello Ada", "who am I?", "Ada"]);
    assert_eq!(fake.calls()[1].request.prompt().messages.len(), 3);
}

#[tokio::test]
async fn the_input_may_contain_images() {
    let fake = fake([Step::reply("a cat")]);
    let agent = on(&fake).build().unwrap();
    let run = agent
        .run("what is this?")
        .part(Part::image("image/png", vec![1]));
    run.await.unwrap();
    assert_eq!(fake.calls()[0].request.prompt().image_count(), 1);
}

#[tokio::test]
async fn a_run_is_limited_to_ten_steps_by_default() {
    let fake = fake([]);
    fake.otherwise(|_| call("", "look"));
    let agent = on(&fake).tool(echo("look")).build().unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert!(matches!(error.reason(), StopReason::MaxSteps(10)));
    assert_eq!(
        error.to_string(),
        "no final answer within the maximum of 10 steps"
    );
    assert_eq!(fake.call_count("m"), 10);
    let outcome = error.into_outcome();
    assert_eq!(
        outcome.messages.len(),
        21,
        "the partial result comes with the error"
    );
    check_transcript(&outcome.messages).unwrap();
}

#[tokio::test]
async fn the_step_limit_may_be_raised_during_a_run() {
    let fake = fake([call("a", "more"), call("b", "more"), Step::reply("done")]);
    let limit = Arc::new(AtomicU32::new(1));
    let raised = Arc::clone(&limit);
    let more = majordomo::agent::Function::new(
        "more",
        "Asks for time.",
        move |_: majordomo::agent::NoArguments| {
            raised.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, String>("granted") }
        },
    );
    let agent = on(&fake)
        .tool(more)
        .max_steps_with(move || limit.load(Ordering::Relaxed))
        .build()
        .unwrap();
    assert_eq!(agent.run("go").await.unwrap().output, "done");
}

#[tokio::test]
async fn steering_messages_are_sent_with_the_next_step() {
    let fake = fake([call("a", "look"), Step::reply("done")]);
    let steer = Steer::new();
    let handle = steer.clone();
    let agent = on(&fake)
        .tool(echo("look"))
        .observe(move |event| {
            if matches!(event, AgentEvent::ToolFinished { .. }) {
                handle.say("be quick");
            }
        })
        .build()
        .unwrap();
    let outcome = agent.run("go").steer(steer.clone()).await.unwrap();
    assert_eq!(outcome.messages[3].text(), "be quick");
    let calls = fake.calls();
    let sent = &calls[1].request.prompt().messages;
    assert_eq!(sent.last().unwrap().text(), "be quick");
    steer.say("too late");
    assert_eq!(steer.take().len(), 1);
}

#[tokio::test]
async fn options_of_agent_and_run_are_merged_into_every_request() {
    let fake = fake([call("a", "look"), Step::reply("done")]);
    let agent = on(&fake)
        .system("agent")
        .tool(echo("look"))
        .options(|request| request.temperature(0.5).max_tokens(10).system("option"))
        .build()
        .unwrap();
    let run = agent
        .run("go")
        .options(|request| request.max_tokens(20).tool_choice(ToolChoice::Required));
    run.await.unwrap();
    for call in fake.calls() {
        assert_eq!(call.request.prompt().temperature, Some(0.5));
        assert_eq!(call.request.prompt().max_tokens, Some(20));
        assert_eq!(call.request.prompt().tool_choice, ToolChoice::Required);
        assert_eq!(call.request.prompt().system_text(), "agent\n\noption");
    }
}

#[test]
fn build_rejects_duplicate_tool_names() {
    let toolbox = Toolbox::new([echo("look")]).unwrap();
    let built = on(&fake([])).tool(echo("look")).toolbox(&toolbox).build();
    let name = String::from("look");
    assert_eq!(built.unwrap_err(), ToolboxError::Duplicate { name });
}

#[tokio::test]
async fn skills_add_instructions_and_tools_in_order() {
    struct Manners;
    impl Skill for Manners {
        fn name(&self) -> &str {
            "manners"
        }
        fn instructions(&self) -> &str {
            "Say please."
        }
    }
    let fake = fake([Step::reply("done")]);
    let look = SkillBuilder::new("look")
        .instructions("Look.")
        .tool(echo("look"));
    let agent = on(&fake)
        .system("Be brief.")
        .tool(echo("first"))
        .skill(&look.build().unwrap())
        .skill(&Manners)
        .skill(&calc())
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    let request = &fake.calls()[0].request;
    let text = request.prompt().system_text();
    assert!(
        text.starts_with("Be brief.\n\nLook.\n\nSay please.\n\nWork out"),
        "{text}"
    );
    let tools: Vec<&str> = request
        .prompt()
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(tools, ["first", "look", "calculate"]);
    let clash = on(&fake).skill(&calc()).skill(&calc()).build();
    assert!(matches!(clash, Err(ToolboxError::Duplicate { .. })));
}

#[tokio::test]
async fn events_surround_each_model_and_tool_call() {
    let fake = fake([call("a", "look"), Step::reply("done")]);
    let log = SharedLog::default();
    let seen = log.clone();
    let agent = on(&fake)
        .tool(echo("look"))
        .observe(|_| panic!("an observer's panic is ignored"))
        .observe(move |event| {
            seen.push(match event {
                AgentEvent::ModelStarted { step } => format!("ask {step}"),
                AgentEvent::ModelFinished { step, .. } => format!("answer {step}"),
                AgentEvent::ToolStarted { step, call } => format!("run {} {step}", call.name),
                AgentEvent::ToolFinished { step, result } => format!("{} {step}", result.text()),
                other => format!("{other:?}"),
            });
        })
        .build()
        .unwrap();
    agent.run("go").await.unwrap();
    let expected = [
        "ask 0",
        "answer 0",
        "run look 0",
        "look 0",
        "ask 1",
        "answer 1",
    ];
    assert_eq!(log.all(), expected);
}

#[tokio::test]
async fn a_streamed_run_yields_text_deltas() {
    let words = ["It ", "is ", "a cat."].map(|word| Event::Text(word.into()));
    let finish = Event::Finish(FinishReason::Stop);
    let fake = fake([
        call("a", "look"),
        Step::events(words.into_iter().chain([finish])),
    ]);
    let agent = on(&fake).tool(echo("look")).build().unwrap();
    let mut run = agent.run("go").stream();
    let mut deltas = Vec::new();
    while let Some(event) = run.next().await {
        if let AgentEvent::Text(delta) = event {
            deltas.push(delta);
        }
    }
    assert_eq!(deltas, ["It ", "is ", "a cat."]);
    assert_eq!(run.finish().await.unwrap().output, "It is a cat.");
    assert!(fake.calls().iter().all(|call| call.streamed));
}

#[tokio::test]
async fn a_model_error_carries_the_transcript_so_far() {
    let broken = Step::events([Event::Text("It is".into()), Event::Usage(Usage::new(5, 0))])
        .then(Beat::Fail(Error::http(500, "gone")));
    let fake = fake([call("a", "look"), broken]);
    let agent = on(&fake).tool(echo("look")).build().unwrap();
    let error = agent.run("go").stream().finish().await.unwrap_err();
    assert!(matches!(error.reason(), StopReason::Model(e) if e.status() == Some(500)));
    let outcome = error.into_outcome();
    assert_eq!(outcome.messages.len(), 3);
    assert_eq!(outcome.unfinished, "It is");
    assert_eq!(outcome.usage.input, 15, "a partial response is billed");
}

#[tokio::test]
async fn a_denied_call_gets_an_error_result_and_invalid_calls_need_no_approval() {
    let fake = fake([
        calls(&[("1", "look", ""), ("2", "rm", ""), ("3", "bad", "{")]),
        Step::reply("done"),
    ]);
    let received = SharedLog::default();
    let seen = received.clone();
    let agent = on(&fake)
        .tool(echo("look"))
        .tool(echo("rm"))
        .tool(echo("bad"))
        .approve(move |call: &majordomo::ToolCall| {
            seen.push(call.name.clone());
            match call.name.as_str() {
                "rm" => Decision::Deny("not on Sundays".into()),
                _ => Decision::Allow,
            }
        })
        .build()
        .unwrap();
    let outcome = agent.run("go").await.unwrap();
    let results: Vec<(String, bool)> = outcome.messages[2]
        .tool_results()
        .map(|result| (result.text(), result.is_error))
        .collect();
    assert_eq!(results[0], ("look".into(), false));
    assert_eq!(
        results[1],
        ("This call was not allowed: not on Sundays".into(), true)
    );
    assert_eq!(
        received.all(),
        ["look", "rm"],
        "an invalid call needs no approval"
    );
}

#[tokio::test]
async fn a_suspended_run_resumes_without_repeating_tools() {
    let fake = fake([
        calls(&[("1", "look", ""), ("2", "rm", "")]),
        Step::reply("done"),
    ]);
    let runs = SharedLog::default();
    let agent_with = |decision: Decision| {
        let ran = runs.clone();
        on(&fake)
            .tool(echo("look"))
            .tool(echo("rm"))
            .approve(move |call: &majordomo::ToolCall| match call.name.as_str() {
                "rm" => decision.clone(),
                _ => Decision::Allow,
            })
            .observe(move |event| {
                if let AgentEvent::ToolStarted { call, .. } = event {
                    ran.push(call.name.clone());
                }
            })
            .build()
            .unwrap()
    };
    let error = agent_with(Decision::Suspend).run("go").await.unwrap_err();
    assert!(matches!(error.reason(), StopReason::Suspended(call) if call.name == "rm"));
    check_transcript(&error.outcome().messages).unwrap();
    let saved = serde_json::to_string(&error.into_checkpoint()).unwrap();

    let agent = agent_with(Decision::Allow);
    let outcome = agent
        .resume(serde_json::from_str(&saved).unwrap())
        .await
        .unwrap();
    assert_eq!(outcome.output, "done");
    assert_eq!(runs.all(), ["look", "rm"]);
    let results = outcome.messages[2].tool_results();
    assert!(results.into_iter().all(|result| !result.is_error));
}

#[tokio::test]
async fn guards_end_a_run_without_progress() {
    let fake = fake([]);
    fake.otherwise(|_| call("", "missing"));
    let agent = on(&fake).max_consecutive_tool_errors(3).build().unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert!(matches!(error.reason(), StopReason::ToolLoop(_)));
    assert_eq!(fake.call_count("m"), 3);

    fake.forget_calls();
    let agent = on(&fake)
        .tool(echo("missing"))
        .max_same_call(4)
        .build()
        .unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert!(error.to_string().contains("4 times"), "{error}");
    assert_eq!(fake.call_count("m"), 4);
    check_transcript(&error.outcome().messages).unwrap();
}

#[tokio::test]
async fn a_paused_response_is_sent_again() {
    let paused = Response::new(vec![Part::text("thinking")]).with_finish(FinishReason::Paused);
    let fake = fake([Step::respond(paused), Step::reply("done")]);
    let agent = on(&fake).build().unwrap();
    assert_eq!(agent.run("go").await.unwrap().output, "done");
    assert_eq!(
        fake.calls()[1].request.prompt().messages[1].text(),
        "thinking"
    );
}

#[tokio::test]
async fn final_answer_recovery_is_opt_in() {
    let long = "The answer is forty-two. ".repeat(10);
    for enabled in [false, true] {
        let said = Response::new(vec![
            Part::text(long.clone()),
            Part::ToolCall(majordomo::ToolCall::new("a", "look", "{}")),
        ]);
        let fake = fake([Step::respond(said), Step::reply("See above.")]);
        let agent = on(&fake)
            .tool(echo("look"))
            .recover_final_answer(enabled)
            .build()
            .unwrap();
        let outcome = agent.run("go").await.unwrap();
        assert_eq!(outcome.output == long, enabled);
        assert_eq!(outcome.messages.last().unwrap().text(), "See above.");
    }
}

/// Keeps the first message and the last two.
struct KeepEnds;

impl Compact for KeepEnds {
    fn compact<'a>(
        &'a self,
        conversation: CompactionInput<'a>,
    ) -> BoxFuture<'a, majordomo::Result<Option<Compacted>>> {
        let messages = &conversation.request.prompt().messages;
        let short = (messages.len() > 4).then(|| {
            let mut kept = vec![messages[0].clone()];
            kept.extend_from_slice(&messages[messages.len() - 2..]);
            Compacted {
                messages: kept,
                usage: Usage::new(100, 0),
            }
        });
        Box::pin(std::future::ready(Ok(short)))
    }
}

#[tokio::test]
async fn compaction_affects_requests_but_not_the_transcript() {
    let fake = fake(
        (0..4)
            .map(|n| call(&format!("c{n}"), "look"))
            .chain([Step::reply("done")]),
    );
    let agent = on(&fake)
        .tool(echo("look"))
        .compact(KeepEnds)
        .build()
        .unwrap();
    let outcome = agent.run("go").await.unwrap();
    assert_eq!(outcome.messages.len(), 10);
    check_transcript(&outcome.messages).unwrap();
    let sent: Vec<usize> = fake
        .calls()
        .iter()
        .map(|c| c.request.prompt().messages.len())
        .collect();
    assert_eq!(sent, [1, 3, 3, 3, 3], "compaction is permanent");
    assert_eq!(
        outcome.usage.input,
        4 * 10 + 1 + 3 * 100,
        "compaction is billed"
    );
}

#[derive(Clone, Copy)]
enum BrokenCompactor {
    Fails,
    Panics,
    SeparatesCallAndResult,
}

impl Compact for BrokenCompactor {
    fn compact<'a>(
        &'a self,
        conversation: CompactionInput<'a>,
    ) -> BoxFuture<'a, majordomo::Result<Option<Compacted>>> {
        let last = conversation
            .request
            .prompt()
            .messages
            .last()
            .unwrap()
            .clone();
        let result = match self {
            Self::Fails => Err(Error::new(ErrorKind::Unknown, "no idea")),
            Self::Panics => std::panic::resume_unwind(Box::new("broken")),
            Self::SeparatesCallAndResult => Ok(Some(Compacted {
                messages: vec![last],
                usage: Usage::default(),
            })),
        };
        Box::pin(std::future::ready(result))
    }
}

#[tokio::test]
async fn failed_compaction_sends_the_whole_conversation() {
    for broken in [
        BrokenCompactor::Fails,
        BrokenCompactor::Panics,
        BrokenCompactor::SeparatesCallAndResult,
    ] {
        let fake = fake([call("a", "look"), Step::reply("done")]);
        let failures = SharedLog::default();
        let seen = failures.clone();
        let agent = on(&fake)
            .tool(echo("look"))
            .compact(broken)
            .observe(move |event| {
                if let AgentEvent::CompactionFailed { step, .. } = event {
                    seen.push(*step);
                }
            })
            .build()
            .unwrap();
        agent.run("go").await.unwrap();
        assert_eq!(fake.calls()[1].request.prompt().messages.len(), 3);
        assert_eq!(failures.all().last(), Some(&1));
    }
}
