//! The text that replaces an image.

use majordomo::fake::Step;
use majordomo::llm::{File, RemoteImage};
use majordomo::{Error, Message, Part, Request, Role};
use majordomo_vision::{
    ImageDisposition, Latest, OMITTED, Scope, UNAVAILABLE, Vision, VisionConfig,
};
use majordomo_wire::Protocol;

use crate::support::{
    VisionFixture, changes, gif, image, question, seen, texts, through, tool_answer, user, written,
};

#[tokio::test]
async fn an_image_is_replaced_in_place_by_its_description() {
    for protocol in Protocol::ALL {
        let fixture = VisionFixture::new();
        fixture.describer.reply_with("a red apple on a white plate");
        let described = fixture.describe(through(protocol, &question(&[1]))).await;
        let apple = "[image: a red apple on a white plate]";
        assert_eq!(
            texts(&described.request),
            ["What is this?", apple],
            "{protocol:?}"
        );
        assert!(
            !Vision::has_images(described.request.prompt()),
            "{protocol:?}"
        );
        assert_eq!(fixture.describer.calls(), 1, "{protocol:?}");
        assert_eq!(changes(&described), ["image:1 described"]);
    }
}

#[tokio::test]
async fn a_failing_describer_leaves_the_marker() {
    for protocol in Protocol::ALL {
        let fixture = VisionFixture::new();
        fixture
            .describer
            .respond_with(Step::fail(Error::http(500, "broken")));
        let described = fixture.describe(through(protocol, &question(&[1]))).await;
        assert_eq!(
            texts(&described.request),
            ["What is this?", UNAVAILABLE],
            "{protocol:?}"
        );
        assert!(!Vision::has_images(described.request.prompt()));
        assert_eq!(changes(&described), ["image:1 undescribed"]);
    }
}

#[tokio::test]
async fn an_empty_description_leaves_the_marker() {
    for blank in ["", " \n\t "] {
        let fixture = VisionFixture::new();
        fixture.describer.reply_with(blank);
        let described = fixture.describe(question(&[1])).await;
        assert_eq!(
            texts(&described.request),
            ["What is this?", UNAVAILABLE],
            "{blank:?}"
        );
    }
}

#[tokio::test]
async fn several_images_are_described_in_order() {
    for protocol in Protocol::ALL {
        let fixture = VisionFixture::new();
        let described = fixture
            .describe(through(protocol, &question(&[1, 2, 3])))
            .await;
        let expected = ["What is this?".to_owned(), seen(1), seen(2), seen(3)];
        assert_eq!(texts(&described.request), expected, "{protocol:?}");
        assert_eq!(fixture.describer.calls(), 3);
        assert_eq!(changes(&described), ["image:3 described"]);
        assert_eq!(described.usage.input, 3, "one token per call");
    }
}

#[tokio::test]
async fn a_request_without_images_is_unchanged() {
    for protocol in Protocol::ALL {
        let fixture = VisionFixture::new();
        let request = through(protocol, &Request::user("hi"));
        let described = fixture.describe(request.clone()).await;
        assert!(described.request.same_prompt(&request), "{protocol:?}");
        assert_eq!(fixture.describer.calls(), 0);
        assert!(described.changes.is_empty() && described.calls.is_empty());
    }
}

/// Four messages with images in the first, the third and the last.
fn conversation() -> Request {
    Request::from(vec![
        user(vec![Part::text("first"), image(1)]),
        Message::assistant("I see"),
        user(vec![Part::text("third"), image(3)]),
        user(vec![Part::text("fourth"), image(4)]),
    ])
}

#[tokio::test]
async fn only_images_of_the_last_message_are_described() {
    for protocol in Protocol::ALL {
        let mut conversation = conversation();
        // Some dialects join consecutive user messages, so the turns alternate.
        conversation
            .edit()
            .messages
            .insert(3, Message::assistant("go on"));
        let fixture = VisionFixture::new();
        let described = fixture.describe(through(protocol, &conversation)).await;
        let expected = [
            "first", OMITTED, "I see", "third", OMITTED, "go on", "fourth",
        ];
        let expected: Vec<String> = expected
            .map(str::to_owned)
            .into_iter()
            .chain([seen(4)])
            .collect();
        assert_eq!(texts(&described.request), expected, "{protocol:?}");
        assert_eq!(fixture.describer.calls(), 1, "{protocol:?}");
        assert_eq!(
            changes(&described),
            ["image:1 described", "image:2 omitted"]
        );
    }
}

#[tokio::test]
async fn system_messages_after_the_last_message_are_skipped() {
    let fixture = VisionFixture::new();
    let mut request = question(&[1]);
    let reminder = Message::new(Role::System, vec![Part::text("Be careful.")]);
    request.edit().messages.push(reminder);
    let described = fixture.describe(request).await;
    assert_eq!(changes(&described), ["image:1 described"]);
    assert_eq!(fixture.describer.calls(), 1);
}

#[tokio::test]
async fn with_latest_turn_all_images_since_the_last_assistant_message_are_described() {
    let fixture = VisionFixture::with(VisionConfig::default().with_latest(Latest::Turn));
    let described = fixture.describe(conversation()).await;
    let expected = ["first", OMITTED, "I see", "third"]
        .map(str::to_owned)
        .into_iter();
    let expected: Vec<String> = expected
        .chain([seen(3), "fourth".into(), seen(4)])
        .collect();
    assert_eq!(texts(&described.request), expected);
    assert_eq!(fixture.describer.calls(), 2);
}

#[tokio::test]
async fn with_latest_turn_an_assistant_prefill_belongs_to_the_turn() {
    let fixture = VisionFixture::with(VisionConfig::default().with_latest(Latest::Turn));
    let request = question(&[1]).message(Message::assistant("It shows"));
    let described = fixture.describe(request).await;
    assert_eq!(texts(&described.request)[1], seen(1));
}

#[tokio::test]
async fn without_a_describer_images_get_the_marker_and_no_call_is_made() {
    let fixture = VisionFixture::new();
    let scope = Scope::of_key("laptop");
    let described = fixture
        .vision
        .describe(question(&[1]), None, &scope)
        .await
        .unwrap();
    assert_eq!(texts(&described.request), ["What is this?", UNAVAILABLE]);
    assert_eq!(fixture.describer.calls(), 0);
    let disposition = ImageDisposition::Undescribed("no describer is configured".into());
    assert_eq!(described.images[0].disposition, disposition);
}

#[tokio::test]
async fn an_image_in_a_tool_result_is_described_in_place() {
    for protocol in Protocol::ALL {
        let mut request = Request::user("take one");
        request.edit().messages.extend(tool_answer(7));
        let fixture = VisionFixture::new();
        let described = fixture.describe(through(protocol, &request)).await;
        assert_eq!(fixture.describer.calls(), 1, "{protocol:?}");
        let last = described.request.prompt().messages.last().unwrap();
        assert!(texts(&described.request).contains(&seen(7)), "{protocol:?}");
        if !matches!(protocol, Protocol::Chat) {
            let result = last.tool_results().next().expect("it stays a tool result");
            assert!(result.text().contains(&seen(7)), "{protocol:?}");
        }
    }
}

#[tokio::test]
async fn an_image_in_a_chat_tool_message_is_described_in_place() {
    let url = format!("data:image/gif;base64,{}", base64(&gif(7)));
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":"take one"}},
        {{"role":"assistant","tool_calls":[{{"id":"a","type":"function","function":{{"name":"shot","arguments":"{{}}"}}}}]}},
        {{"role":"tool","tool_call_id":"a","content":[{{"type":"image_url","image_url":{{"url":"{url}"}}}}]}}]}}"#
    );
    let incoming = Protocol::Chat.codec().read_request(body.into()).unwrap();
    let fixture = VisionFixture::new();
    let described = fixture.describe(incoming.request).await;
    let last = described.request.prompt().messages.last().unwrap();
    assert_eq!(last.tool_results().next().unwrap().text(), seen(7));
}

fn base64(data: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(data)
}

#[tokio::test]
async fn an_image_in_an_earlier_tool_result_is_omitted_in_place() {
    for protocol in Protocol::ALL {
        let mut request = Request::user("take one");
        request.edit().messages.extend(tool_answer(7));
        let request = request
            .message(Message::assistant("done"))
            .message(Message::user("thanks"));
        let fixture = VisionFixture::new();
        let described = fixture.describe(through(protocol, &request)).await;
        assert_eq!(fixture.describer.calls(), 0, "{protocol:?}");
        assert!(
            texts(&described.request).contains(&OMITTED.to_owned()),
            "{protocol:?}"
        );
        assert!(!Vision::has_images(described.request.prompt()));
    }
}

#[tokio::test]
async fn no_trace_of_an_image_is_left_in_a_responses_request() {
    let fixture = VisionFixture::new();
    let [received, responded] = tool_answer(9);
    let request = conversation().message(received).message(responded);
    let described = fixture
        .describe(through(Protocol::Responses, &request))
        .await;
    let body = written(Protocol::Responses, &described.request);
    for word in ["input_image", "image_url", "base64"] {
        assert!(!body.contains(word), "{body}");
    }
    assert!(body.contains("input_text"), "{body}");
}

#[tokio::test]
async fn both_forms_of_a_responses_message_are_described() {
    let url = format!("data:image/gif;base64,{}", base64(&gif(2)));
    for kind in ["\"type\":\"message\",", ""] {
        let body = format!(
            r#"{{"input":[{{{kind}"role":"user","content":[{{"type":"input_text","text":"What?"}},{{"type":"input_image","image_url":"{url}","detail":"auto"}}]}}]}}"#
        );
        let incoming = Protocol::Responses
            .codec()
            .read_request(body.into())
            .unwrap();
        let fixture = VisionFixture::new();
        let described = fixture.describe(incoming.request).await;
        assert_eq!(texts(&described.request), ["What?".to_owned(), seen(2)]);
        let written = crate::support::written(Protocol::Responses, &described.request);
        assert!(written.contains(r#"{"type":"input_text","text":"[image: picture 2]"}"#));
        assert!(
            !written.contains("input_image") && !written.contains("image_url"),
            "V14"
        );
    }
}

#[tokio::test]
async fn an_image_that_a_client_sends_as_a_file_is_described() {
    for media_type in ["image/gif", "application/octet-stream"] {
        let file = Part::File(File {
            media_type: media_type.into(),
            data: gif(5),
            name: Some("shot.gif".into()),
            native: None,
        });
        let request = through(Protocol::Chat, &Request::user("look").part(file));
        let fixture = VisionFixture::new();
        let described = fixture.describe(request).await;
        assert_eq!(
            texts(&described.request),
            ["look".to_owned(), seen(5)],
            "{media_type}"
        );
    }
}

#[tokio::test]
async fn a_document_that_is_not_an_image_is_kept() {
    let pdf = Part::File(File {
        media_type: "application/pdf".into(),
        data: "%PDF-1.7".into(),
        name: None,
        native: None,
    });
    let request = Request::user("read").part(pdf);
    let described = VisionFixture::new().describe(request.clone()).await;
    assert!(described.request.same_prompt(&request));
}

#[tokio::test]
async fn a_url_is_sent_to_the_describer_unchanged() {
    let remote = Part::RemoteImage(RemoteImage {
        url: "https://pictures.example/a.png".into(),
        native: None,
    });
    let fixture = VisionFixture::new();
    let described = fixture
        .describe(Request::user("look").part(remote.clone()))
        .await;
    assert_eq!(texts(&described.request), ["look".to_owned(), seen(0)]);
    let call = &fixture.describer.fake.calls()[0];
    assert_eq!(call.request.prompt().messages[0].parts[0], remote);
    assert!(call.streamed, "a stream is always requested");
}
