//! Descriptions per target: images for vision models, text for all other models.

use std::sync::Arc;

use majordomo::fake::{Fake, Step};
use majordomo::llm::{Accept, AttemptOutcome, Rejection};
use majordomo::spec::TargetName;
use majordomo::{Capabilities, Chain, Error, Part, Request, Response};
use majordomo_vision::{DescribeForTextOnly, Describers, OnFailure, Scope, VisionConfig};

use crate::support::{VisionFixture, image, question, seen, texts};

/// A fixture with the targets `main/seeing` and `main/blind`.
struct ChainFixture {
    vision: VisionFixture,
    main: Fake,
}

impl ChainFixture {
    fn new() -> Self {
        Self::with(VisionConfig::default())
    }

    fn with(config: VisionConfig) -> Self {
        let vision = VisionFixture::with(config);
        let main = Fake::new("main");
        for blind in ["blind", "bat"] {
            main.set_model_capabilities(blind, Capabilities::text_only());
        }
        vision.registry.register(main.clone());
        Self { vision, main }
    }

    /// The chain of one request, with these describers.
    fn chain(&self, spec: &str, describers: Describers) -> (Chain, Scope) {
        let scope = Scope::of_key("laptop");
        let vision = Arc::clone(&self.vision.vision);
        let shape = DescribeForTextOnly::new(vision, Arc::new(describers), scope.clone());
        (self.vision.chain(spec).shaped_by(Arc::new(shape)), scope)
    }

    fn name(&self, spec: &str) -> TargetName {
        let chain = self.vision.chain(spec);
        chain
            .targets()
            .next()
            .expect("a chain has a target")
            .clone()
    }

    /// `eyes/sharp` describes for `main/blind`.
    fn for_blind(&self) -> Describers {
        let describer = self.vision.chain("eyes/sharp");
        Describers::new().for_service(&self.name("main/blind"), describer)
    }

    /// The parts of the user's message as a target received them.
    fn got(&self, call: usize) -> Vec<Part> {
        self.main.calls()[call].request.prompt().messages[0]
            .parts
            .clone()
    }
}

fn changes(response: &Response) -> Vec<String> {
    let changes = response.attempt_log.changes();
    changes.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_vision_target_gets_the_image_and_no_describer_is_called() {
    let fixture = ChainFixture::new();
    let (chain, _) = fixture.chain("main/seeing,main/blind", fixture.for_blind());
    let response = chain.generate(question(&[1])).await.unwrap();
    assert_eq!(response.model, "main/seeing");
    assert_eq!(fixture.got(0)[1], image(1));
    assert_eq!(fixture.vision.describer.calls(), 0);
    assert!(changes(&response).is_empty());
}

#[tokio::test]
async fn a_text_only_fallback_gets_text_when_the_first_target_fails() {
    let fixture = ChainFixture::new();
    let broken = Step::fail(Error::http(404, "no such model"));
    fixture.main.enqueue("seeing", [broken]);
    let (chain, scope) = fixture.chain("main/seeing,main/blind", fixture.for_blind());
    let response = chain.generate(question(&[1])).await.unwrap();
    assert_eq!(response.model, "main/blind");
    assert_eq!(fixture.got(0)[1], image(1), "the head got the image");
    assert_eq!(
        fixture.got(1)[1],
        Part::text(seen(1)),
        "the tail got the text"
    );
    assert_eq!(changes(&response), ["image:1 described"]);
    let calls = scope.calls();
    assert_eq!(
        (calls.len(), calls[0].usage.input),
        (1, 1),
        "the call is recorded"
    );
}

#[tokio::test]
async fn several_attempts_share_one_description() {
    for cache in [0, 64 << 20] {
        let fixture = ChainFixture::with(VisionConfig::default().with_cache(cache));
        let busy = || Step::fail(Error::http(503, "busy"));
        fixture.main.enqueue("blind", [busy(), busy()]);
        let describer = fixture.vision.chain("eyes/sharp");
        let (chain, _) = fixture.chain(
            "main/blind,main/bat",
            Describers::new().for_route(describer),
        );
        let response = chain.generate(question(&[1])).await.unwrap();
        assert_eq!(response.model, "main/bat");
        assert_eq!(fixture.main.calls().len(), 3);
        assert_eq!(
            fixture.vision.describer.calls(),
            1,
            "cache of {cache} bytes"
        );
        let described = |attempt: &majordomo::llm::Attempt| attempt.changes[0].to_string();
        let all: Vec<String> = response
            .attempt_log
            .attempts
            .iter()
            .map(described)
            .collect();
        assert_eq!(all, ["image:1 described"; 3]);
    }
}

#[tokio::test]
async fn without_a_describer_a_text_only_target_is_skipped() {
    let fixture = ChainFixture::new();
    let (chain, _) = fixture.chain("main/blind,main/seeing", Describers::new());
    let response = chain.generate(question(&[1])).await.unwrap();
    assert_eq!(response.model, "main/seeing");
    let first = &response.attempt_log.attempts[0].outcome;
    assert!(
        matches!(first, AttemptOutcome::Skipped { reason, .. } if reason == "it takes no images")
    );
}

#[tokio::test]
async fn a_services_describer_takes_precedence_over_its_models_and_its_routes() {
    let fixture = ChainFixture::new();
    let blind = fixture.name("main/blind");
    let named = |name: &str| fixture.vision.chain(&format!("eyes/{name}"));
    let service = |d: Describers| d.for_service(&blind, named("service"));
    let model = |d: Describers| d.for_model(&blind, named("model"));
    let route = |d: Describers| d.for_route(named("route"));
    let none = Describers::new;
    let mut picture = 0;
    for (describers, received) in [
        (route(model(service(none()))), "service"),
        (route(model(none())), "model"),
        (route(none()), "route"),
        (service(none()), "service"),
    ] {
        fixture.vision.describer.fake.forget_calls();
        // A different image each time, so that none is cached.
        picture += 1;
        let (chain, _) = fixture.chain("main/blind", describers);
        chain.generate(question(&[picture])).await.unwrap();
        let calls = fixture.vision.describer.fake.calls();
        let models: Vec<&str> = calls.iter().map(|call| call.model.as_str()).collect();
        assert_eq!(models, [received]);
    }
}

#[tokio::test]
async fn each_route_has_its_own_describers() {
    let fixture = ChainFixture::new();
    let other = Describers::new().for_route(fixture.vision.chain("spare/blurred"));
    let (chain, _) = fixture.chain("main/blind", other);
    chain.generate(question(&[1])).await.unwrap();
    assert_eq!(
        (
            fixture.vision.describer.calls(),
            fixture.vision.spare.calls()
        ),
        (0, 1)
    );
}

#[tokio::test]
async fn a_failing_describer_does_not_count_against_the_target() {
    let fixture = ChainFixture::new();
    fixture
        .vision
        .describer
        .respond_with(Step::fail(Error::http(500, "broken")));
    let (chain, _) = fixture.chain("main/blind", fixture.for_blind());
    let response = chain.generate(question(&[1])).await.unwrap();
    assert_eq!(changes(&response), ["image:1 undescribed"]);
    let health = fixture.vision.registry.health().snapshot();
    let blind = health.iter().find(|status| status.subject == "main/blind");
    assert!(blind.is_none_or(|status| status.failures == 0), "{blind:?}");
}

#[tokio::test]
async fn on_failure_fail_moves_on_to_the_next_target() {
    let fixture = ChainFixture::with(VisionConfig::default().with_on_failure(OnFailure::Fail));
    fixture
        .vision
        .describer
        .respond_with(Step::fail(Error::http(500, "broken")));
    let (chain, _) = fixture.chain("main/blind,main/seeing", fixture.for_blind());
    let response = chain.generate(question(&[1])).await.unwrap();
    assert_eq!(response.model, "main/seeing");
    let (chain, _) = fixture.chain("main/blind", fixture.for_blind());
    let error = chain.generate(question(&[1])).await.unwrap_err();
    assert!(
        error.to_string().contains("could not be described"),
        "{error}"
    );
}

/// Rejects the first response and requests a better one.
struct RejectFirst;

impl Accept for RejectFirst {
    fn accept(&self, response: &Response) -> Result<(), Rejection> {
        match response.text().as_str() {
            "good" => Ok(()),
            _ => Err(Rejection {
                reason: "not good".into(),
                repair: vec![majordomo::Message::user("again")],
            }),
        }
    }
}

#[tokio::test]
async fn a_repaired_response_does_not_turn_the_question_into_history() {
    let fixture = ChainFixture::new();
    fixture
        .main
        .enqueue("blind", [Step::reply("bad"), Step::reply("good")]);
    let (chain, _) = fixture.chain("main/blind", fixture.for_blind());
    let request: Request = question(&[1]).accept(Arc::new(RejectFirst));
    chain.generate(request).await.unwrap();
    let second = &fixture.main.calls()[1].request;
    assert_eq!(texts(second)[1], seen(1));
    assert_eq!(fixture.vision.describer.calls(), 1);
}
