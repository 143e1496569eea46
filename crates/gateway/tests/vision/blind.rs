//! Descriptions per target: pixels for those who see, text for those who do not.

use std::sync::Arc;

use majordomo::fake::{Fake, Step};
use majordomo::{
    Accept, AttemptOutcome, Capabilities, Chain, Error, Part, Rejection, Request, Response,
    TargetName,
};
use majordomo_gateway::vision::{DescribeForBlind, Describers, OnFailure, Scope, VisionConfig};

use crate::stage::{Stage, image, question, seen, texts};

/// A stage with the targets `main/seeing` and `main/blind`.
struct House {
    stage: Stage,
    main: Fake,
}

impl House {
    fn new() -> Self {
        Self::with(VisionConfig::default())
    }

    fn with(config: VisionConfig) -> Self {
        let stage = Stage::with(config);
        let main = Fake::new("main");
        for blind in ["blind", "bat"] {
            main.set_model_capabilities(blind, Capabilities::text_only());
        }
        stage.registry.register(main.clone());
        Self { stage, main }
    }

    /// The chain of one request, with these describers.
    fn chain(&self, spec: &str, describers: Describers) -> (Chain, Scope) {
        let scope = Scope::of_key("laptop");
        let vision = Arc::clone(&self.stage.vision);
        let shape = DescribeForBlind::new(vision, Arc::new(describers), scope.clone());
        (self.stage.chain(spec).shaped_by(Arc::new(shape)), scope)
    }

    fn name(&self, spec: &str) -> TargetName {
        let chain = self.stage.chain(spec);
        chain
            .targets()
            .next()
            .expect("a chain has a target")
            .clone()
    }

    /// `eyes/sharp` describes for `main/blind`.
    fn for_blind(&self) -> Describers {
        let eyes = self.stage.chain("eyes/sharp");
        Describers::new().for_service(&self.name("main/blind"), eyes)
    }

    /// The parts of the question as a target got them.
    fn got(&self, call: usize) -> Vec<Part> {
        self.main.calls()[call].request.messages[0].parts.clone()
    }
}

fn changes(response: &Response) -> Vec<String> {
    let changes = response.attempt_log.changes();
    changes.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_target_that_sees_gets_pixels_and_nobody_is_asked() {
    let house = House::new();
    let (chain, _) = house.chain("main/seeing,main/blind", house.for_blind());
    let response = chain.generate(question(&[1])).await.unwrap();
    assert_eq!(response.model, "main/seeing");
    assert_eq!(house.got(0)[1], image(1));
    assert_eq!(house.stage.eyes.calls(), 0);
    assert!(changes(&response).is_empty());
}

#[tokio::test]
async fn a_blind_tail_gets_text_when_the_head_fails() {
    let house = House::new();
    let broken = Step::fail(Error::provider(404, "no such model"));
    house.main.enqueue("seeing", [broken]);
    let (chain, scope) = house.chain("main/seeing,main/blind", house.for_blind());
    let response = chain.generate(question(&[1])).await.unwrap();
    assert_eq!(response.model, "main/blind");
    assert_eq!(house.got(0)[1], image(1), "the head got the image");
    assert_eq!(
        house.got(1)[1],
        Part::text(seen(1)),
        "the tail got the text"
    );
    assert_eq!(changes(&response), ["image:1 described"]);
    let calls = scope.calls();
    assert_eq!(
        (calls.len(), calls[0].usage.input),
        (1, 1),
        "the call is accounted for"
    );
}

#[tokio::test]
async fn several_attempts_share_one_description() {
    for cache in [0, 64 << 20] {
        let house = House::with(VisionConfig {
            cache,
            ..VisionConfig::default()
        });
        let busy = || Step::fail(Error::provider(503, "busy"));
        house.main.enqueue("blind", [busy(), busy()]);
        let eyes = house.stage.chain("eyes/sharp");
        let (chain, _) = house.chain("main/blind,main/bat", Describers::new().for_route(eyes));
        let response = chain.generate(question(&[1])).await.unwrap();
        assert_eq!(response.model, "main/bat");
        assert_eq!(house.main.calls().len(), 3);
        assert_eq!(house.stage.eyes.calls(), 1, "cache of {cache} bytes");
        let described = |attempt: &majordomo::Attempt| attempt.changes[0].to_string();
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
async fn v19_without_a_describer_a_blind_target_is_passed_over() {
    let house = House::new();
    let (chain, _) = house.chain("main/blind,main/seeing", Describers::new());
    let response = chain.generate(question(&[1])).await.unwrap();
    assert_eq!(response.model, "main/seeing");
    let first = &response.attempt_log.attempts[0].outcome;
    assert!(
        matches!(first, AttemptOutcome::Skipped { reason, .. } if reason == "it takes no images")
    );
}

#[tokio::test]
async fn v18_v19_a_services_describer_goes_before_its_models_and_its_routes() {
    let house = House::new();
    let blind = house.name("main/blind");
    let named = |name: &str| house.stage.chain(&format!("eyes/{name}"));
    let service = |d: Describers| d.for_service(&blind, named("service"));
    let model = |d: Describers| d.for_model(&blind, named("model"));
    let route = |d: Describers| d.for_route(named("route"));
    let none = Describers::new;
    let mut picture = 0;
    for (describers, asked) in [
        (route(model(service(none()))), "service"),
        (route(model(none())), "model"),
        (route(none()), "route"),
        (service(none()), "service"),
    ] {
        house.stage.eyes.fake.forget_calls();
        // A picture of its own for each, so that none is known already.
        picture += 1;
        let (chain, _) = house.chain("main/blind", describers);
        chain.generate(question(&[picture])).await.unwrap();
        let calls = house.stage.eyes.fake.calls();
        let models: Vec<&str> = calls.iter().map(|call| call.model.as_str()).collect();
        assert_eq!(models, [asked]);
    }
}

#[tokio::test]
async fn v21_another_route_has_describers_of_its_own() {
    let house = House::new();
    let other = Describers::new().for_route(house.stage.chain("spare/blurred"));
    let (chain, _) = house.chain("main/blind", other);
    chain.generate(question(&[1])).await.unwrap();
    assert_eq!(
        (house.stage.eyes.calls(), house.stage.spare.calls()),
        (0, 1)
    );
}

#[tokio::test]
async fn a_describer_that_fails_is_not_charged_to_the_target() {
    let house = House::new();
    house
        .stage
        .eyes
        .does(Step::fail(Error::provider(500, "broken")));
    let (chain, _) = house.chain("main/blind", house.for_blind());
    let response = chain.generate(question(&[1])).await.unwrap();
    assert_eq!(changes(&response), ["image:1 undescribed"]);
    let health = house.stage.registry.health().snapshot();
    let blind = health.iter().find(|status| status.subject == "main/blind");
    assert!(blind.is_none_or(|status| status.failures == 0), "{blind:?}");
}

#[tokio::test]
async fn on_failure_fail_goes_on_to_the_next_target() {
    let house = House::with(VisionConfig {
        on_failure: OnFailure::Fail,
        ..VisionConfig::default()
    });
    house
        .stage
        .eyes
        .does(Step::fail(Error::provider(500, "broken")));
    let (chain, _) = house.chain("main/blind,main/seeing", house.for_blind());
    let response = chain.generate(question(&[1])).await.unwrap();
    assert_eq!(response.model, "main/seeing");
    let (chain, _) = house.chain("main/blind", house.for_blind());
    let error = chain.generate(question(&[1])).await.unwrap_err();
    assert!(
        error.to_string().contains("could not be described"),
        "{error}"
    );
}

/// Refuses the first answer and asks for a better one.
struct Picky;

impl Accept for Picky {
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
async fn a_repaired_answer_does_not_turn_the_question_into_history() {
    let house = House::new();
    house
        .main
        .enqueue("blind", [Step::reply("bad"), Step::reply("good")]);
    let (chain, _) = house.chain("main/blind", house.for_blind());
    let request: Request = question(&[1]).accept(Arc::new(Picky));
    chain.generate(request).await.unwrap();
    let second = &house.main.calls()[1].request;
    assert_eq!(texts(second)[1], seen(1));
    assert_eq!(house.stage.eyes.calls(), 1);
}
