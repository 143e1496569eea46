//! Compaction by summarization.

use std::sync::Arc;

use majordomo::agent::{
    AgentEvent, Compact, Compacted, CompactionInput, Function, NoArguments, Summarize,
    check_transcript,
};
use majordomo::fake::{Fake, Step};
use majordomo::{
    BoxFuture, Capabilities, EventStream, Message, Model, Part, Provider, Request, Response,
    Result, Role, ToolCall, ToolResult,
};
use proptest::prelude::*;

use crate::support::{SharedLog, call, fake, on};

/// The model that writes the summaries.
fn writer(steps: impl IntoIterator<Item = Step>) -> (Fake, SharedModel) {
    let fake = Fake::new("cheap");
    fake.enqueue("m", steps);
    let model = SharedModel(fake.model("m").unwrap());
    (fake, model)
}

/// Adapts a shared model to `impl Model`.
struct SharedModel(Arc<dyn Model>);

impl Model for SharedModel {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn capabilities(&self) -> Arc<Capabilities> {
        self.0.capabilities()
    }
    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        self.0.generate(request)
    }
    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        self.0.events(request)
    }
}

/// One call and its result, of about `tokens` tokens.
fn turn(id: usize, tokens: usize) -> [Message; 2] {
    let call = ToolCall::new(format!("c{id}"), "look", "{}");
    let result = ToolResult::new(&call, "word".repeat(tokens));
    [
        Message::assistant(Part::ToolCall(call)),
        Message::tool_results_message([result]),
    ]
}

fn long_conversation() -> Vec<Message> {
    let mut messages = vec![Message::user("find the treasure")];
    messages.extend((0..10).flat_map(|id| turn(id, 100)));
    messages
}

async fn compact(summarize: &Summarize, messages: Vec<Message>) -> Result<Option<Compacted>> {
    let model = fake([]).model("m").unwrap();
    let request = Request::from(messages);
    let conversation = CompactionInput {
        model: &*model,
        request: &request,
    };
    summarize.compact(conversation).await
}

#[tokio::test]
async fn a_conversation_below_the_limit_is_unchanged() {
    let (cheap, model) = writer([]);
    let summarize = Summarize::with(model).above(100_000);
    assert_eq!(
        compact(&summarize, long_conversation()).await.unwrap(),
        None
    );
    assert_eq!(cheap.call_count("m"), 0);
}

#[tokio::test]
async fn the_middle_is_summarized_and_both_ends_are_kept() {
    let (cheap, model) = writer([Step::reply("They looked in eight places.")]);
    let summarize = Summarize::with(model).above(1_000).keep(300);
    let before = long_conversation();
    let after = compact(&summarize, before.clone()).await.unwrap().unwrap();
    assert_eq!(after.messages[0], before[0]);
    assert_eq!(
        after.messages[1].text(),
        "[Summary of the conversation so far]\nThey looked in eight places.\n[End of the summary]"
    );
    assert_eq!(after.messages[2..], before[before.len() - 4..]);
    assert_eq!(after.usage.total(), 2);
    let received = &cheap.calls()[0].request;
    assert!(
        received.prompt().messages[0]
            .text()
            .contains("[calls look with {}]")
    );
}

#[tokio::test]
async fn the_default_limit_is_three_quarters_of_a_known_context_window() {
    let (cheap, model) = writer([Step::reply("short")]);
    let summarize = Summarize::with(model);
    let request = Request::from(long_conversation());
    for (window, compacted) in [(None, false), (Some(4_000), false), (Some(1_200), true)] {
        let target = fake([]);
        target.set_capabilities(Capabilities::default().with_context_window(window));
        let model = target.model("m").unwrap();
        let conversation = CompactionInput {
            model: &*model,
            request: &request,
        };
        let result = summarize.compact(conversation).await.unwrap();
        assert_eq!(result.is_some(), compacted, "{window:?}");
    }
    assert_eq!(cheap.call_count("m"), 1);
}

#[tokio::test]
async fn system_messages_in_the_middle_are_kept_verbatim() {
    let (_, model) = writer([Step::reply("short")]);
    let summarize = Summarize::with(model).above(100).keep(10);
    let mut messages = long_conversation();
    messages.insert(3, Message::system("never dig"));
    let after = compact(&summarize, messages).await.unwrap().unwrap();
    let system: Vec<&Message> = after
        .messages
        .iter()
        .filter(|m| m.role == Role::System)
        .collect();
    assert_eq!(system, [&Message::system("never dig")]);
}

#[tokio::test]
async fn a_summary_that_is_empty_or_too_long_is_an_error() {
    for text in [" ", &"long ".repeat(10_000)] {
        let (_, model) = writer([Step::reply(text)]);
        let summarize = Summarize::with(model).above(100).keep(10);
        assert!(compact(&summarize, long_conversation()).await.is_err());
    }
}

#[tokio::test]
async fn an_agent_continues_with_its_summary_and_summarizes_it_again() {
    let (cheap, model) = writer([]);
    cheap.otherwise(|_| Step::reply("a summary"));
    let fake = fake(
        (0..8)
            .map(|n| call(&format!("c{n}"), "look"))
            .chain([Step::reply("done")]),
    );
    let log = SharedLog::default();
    let seen = log.clone();
    let wordy = Function::new("look", "Tells a lot.", |_: NoArguments| async {
        Ok::<_, String>("word".repeat(100))
    });
    let agent = on(&fake)
        .tool(wordy)
        .compact(Summarize::with(model).above(400).keep(150))
        .observe(move |event| {
            if let AgentEvent::Compacted { before, after, .. } = event {
                seen.push((*before, *after));
            }
        })
        .build()
        .unwrap();
    let outcome = agent.run("look around").await.unwrap();
    assert!(log.all().len() > 1, "{:?}", log.all());
    assert!(log.all().iter().all(|(before, after)| after < before));
    let second = cheap.calls()[1].request.prompt().messages[0].text();
    assert!(second.contains("a summary"), "{second}");
    for call in fake.calls() {
        check_transcript(&call.request.prompt().messages).unwrap();
        assert!(call.request.prompt().messages.len() < 12);
    }
    assert_eq!(outcome.messages.len(), 18, "the transcript stays complete");
}

/// Turns of one to three messages, as conversations have them.
fn any_turns() -> impl Strategy<Value = Vec<(u8, usize)>> {
    prop::collection::vec((0..4_u8, 1..200_usize), 1..20)
}

proptest! {
    #[test]
    fn compaction_keeps_calls_with_their_results_and_both_ends(
        turns in any_turns(),
        above in 1..2_000_u64,
        keep in 0..1_000_u64,
    ) {
        let mut messages = vec![Message::user("first")];
        for (id, (kind, tokens)) in turns.into_iter().enumerate() {
            let text = "word".repeat(tokens);
            match kind {
                0 => messages.push(Message::user(text)),
                1 => messages.push(Message::assistant(text)),
                2 => messages.push(Message::system(text)),
                _ => messages.extend(turn(id, tokens)),
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (_, model) = writer([Step::reply("s")]);
        let summarize = Summarize::with(model).above(above).keep(keep);
        if let Ok(Some(after)) = runtime.block_on(compact(&summarize, messages.clone())) {
            prop_assert_eq!(check_transcript(&after.messages), Ok(()));
            prop_assert_eq!(&after.messages[0], &messages[0]);
            prop_assert_eq!(after.messages.last(), messages.last());
        }
    }
}
