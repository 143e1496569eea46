//! Shapes: each request is shaped for each target, at each attempt.

use std::sync::{Arc, Mutex};

use crate::support::{Fixture, lines, secs, status};
use majordomo::chain::{ChainConfig, Shape, Shaped, TargetView};
use majordomo::fake::Step;
use majordomo::llm::Change;
use majordomo::{BoxFuture, Capabilities, Error, ErrorKind, Message, Part, Request};

type Work = Box<dyn Fn(Request, &Capabilities) -> majordomo::Result<Shaped> + Send + Sync>;

/// A shape that records its targets.
struct RecordingShape {
    concerns: fn(&Request, TargetView<'_>) -> bool,
    work: Work,
    targets: Mutex<Vec<(String, Option<u64>)>>,
}

impl RecordingShape {
    fn new(
        work: impl Fn(Request, &Capabilities) -> majordomo::Result<Shaped> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            concerns: |_, _| true,
            work: Box::new(work),
            targets: Mutex::default(),
        })
    }

    fn targets(&self) -> Vec<(String, Option<u64>)> {
        self.targets.lock().expect("no shape panics").clone()
    }
}

impl Shape for RecordingShape {
    fn concerns(&self, request: &Request, target: TargetView<'_>) -> bool {
        (self.concerns)(request, target)
    }

    fn shape<'a>(
        &'a self,
        request: Request,
        target: TargetView<'a>,
    ) -> BoxFuture<'a, majordomo::Result<Shaped>> {
        let seen = (target.name.to_string(), target.capabilities.context_window);
        self.targets.lock().expect("no shape panics").push(seen);
        Box::pin(async move { (self.work)(request, target.capabilities) })
    }
}

fn untouched(request: Request) -> Shaped {
    Shaped {
        request,
        changes: vec![],
    }
}

fn fixture(shapes: Vec<Arc<dyn Shape>>) -> Fixture {
    Fixture::chained(ChainConfig::default().with_shapes(shapes))
}

/// Replaces images with text for text-only targets.
fn describe(mut request: Request, target: &Capabilities) -> majordomo::Result<Shaped> {
    if target.takes_images() || request.prompt().image_count() == 0 {
        return Ok(untouched(request));
    }
    for part in request
        .edit()
        .messages
        .iter_mut()
        .flat_map(|m| &mut m.parts)
    {
        if matches!(part, Part::Image(_)) {
            *part = Part::text("[image: an apple]");
        }
    }
    let changes = vec![Change::new("image", "described").times(1)];
    Ok(Shaped { request, changes })
}

fn with_image() -> Request {
    Request::user("what? ").part(Part::image("image/png", crate::support::PNG))
}

#[tokio::test(start_paused = true)]
async fn a_shape_runs_for_each_target_and_attempt_with_that_targets_capabilities() {
    let shape = RecordingShape::new(|request, _| Ok(untouched(request)));
    let fixture = fixture(vec![shape.clone()]);
    for (model, window) in [("a", 1_000), ("b", 2_000)] {
        let capabilities = Capabilities::default().with_context_window(Some(window));
        fixture.fp.set_model_capabilities(model, capabilities);
    }
    fixture.script("a", [status(500), status(500)]);

    assert_eq!(fixture.served_by("fp/a,fp/b,fp/c").await, "fp/b");

    let seen = |name: &str, window| (name.to_owned(), Some(window));
    let expected = [
        seen("fp/a", 1_000),
        seen("fp/a", 1_000),
        seen("fp/b", 2_000),
    ];
    assert_eq!(shape.targets(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_benched_target_is_not_shaped_for() {
    let shape = RecordingShape::new(|request, _| Ok(untouched(request)));
    let fixture = fixture(vec![shape.clone()]);
    fixture
        .registry
        .health()
        .bench("fp/a", secs(60), "maintenance");
    fixture.send("fp/a,fp/b").await.unwrap();
    assert_eq!(shape.targets().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_shape_that_does_not_apply_is_not_run() {
    let mut shape = RecordingShape::new(|_, _| Err(Error::new(ErrorKind::Unsupported, "never")));
    Arc::get_mut(&mut shape).unwrap().concerns = |request, _| request.prompt().image_count() > 0;
    let fixture = fixture(vec![shape.clone()]);
    assert_eq!(fixture.served_by("fp/a").await, "fp/a");
    assert!(shape.targets().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_shaped_advances_without_penalty() {
    let shape = RecordingShape::new(|request, target| match target.context_window {
        Some(_) => Err(Error::new(ErrorKind::Unsupported, "the image is too large")),
        None => Ok(untouched(request)),
    });
    let fixture = fixture(vec![shape]);
    let bounded = Capabilities::default().with_context_window(Some(1_000));
    fixture.fp.set_model_capabilities("a", bounded);

    let reply = fixture.send("fp/a,fp/b").await.unwrap();

    assert_eq!(reply.model, "fp/b");
    assert_eq!(fixture.calls(), ["b"]);
    assert!(
        reply.attempt_log.attempts[0]
            .to_string()
            .contains("the image is too large")
    );
    assert!(fixture.is_healthy("fp/a"));
}

#[tokio::test(start_paused = true)]
async fn the_changes_are_in_the_attempt_log_of_the_response() {
    let fixture = fixture(vec![RecordingShape::new(describe)]);
    fixture
        .fp
        .set_model_capabilities("blind", Capabilities::text_only());
    fixture.script("seeing", [status(404)]);

    let chain = fixture.chain("fp/seeing,fp/blind");
    let reply = chain.generate(with_image()).await.unwrap();

    let attempts = &reply.attempt_log.attempts;
    assert!(
        attempts[0].changes.is_empty(),
        "pixels for the one that sees"
    );
    assert_eq!(
        reply.attempt_log.changes()[0].to_string(),
        "image:1 described"
    );
}

#[tokio::test(start_paused = true)]
async fn a_shape_that_describes_images_lets_a_text_only_target_serve() {
    let fixture = fixture(vec![RecordingShape::new(describe)]);
    fixture
        .fp
        .set_model_capabilities("blind", Capabilities::text_only());

    let reply = fixture
        .chain("fp/blind,fp/seeing")
        .generate(with_image())
        .await
        .unwrap();

    assert_eq!(reply.model, "fp/blind");
    let got = &fixture.fp.calls()[0].request;
    assert_eq!(got.prompt().image_count(), 0);
    assert_eq!(got.prompt().messages[0].text(), "what? [image: an apple]");
}

#[tokio::test(start_paused = true)]
async fn each_target_is_shaped_from_the_original_request() {
    let fixture = fixture(vec![RecordingShape::new(describe)]);
    fixture
        .fp
        .set_model_capabilities("blind", Capabilities::text_only());
    fixture.script("blind", [status(404)]);
    let request = with_image();

    fixture
        .chain("fp/blind,fp/seeing")
        .generate(request.clone())
        .await
        .unwrap();

    assert_eq!(
        fixture.fp.calls()[1].request.prompt().image_count(),
        1,
        "it gets the pixels"
    );
    assert!(fixture.fp.calls()[1].request.same_prompt(&request));
}

#[tokio::test(start_paused = true)]
async fn an_unchanged_request_shares_its_prompt() {
    let request = Request::user("hi");
    for shapes in [
        vec![],
        vec![RecordingShape::new(|request, _| Ok(untouched(request))) as Arc<dyn Shape>],
    ] {
        let fixture = fixture(shapes);
        fixture.script("a", [status(500)]);
        fixture
            .chain("fp/a")
            .generate(request.clone())
            .await
            .unwrap();
        for call in fixture.fp.calls() {
            assert!(call.request.same_prompt(&request));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn shapes_run_in_order_and_all_changes_are_kept() {
    let say = |word: &'static str| {
        RecordingShape::new(move |mut request: Request, _: &Capabilities| {
            request.edit().messages.push(Message::user(word));
            let changes = vec![Change::new(word, "added")];
            Ok(Shaped { request, changes })
        })
    };
    let fixture = fixture(vec![say("first"), say("second")]);

    let reply = fixture.send("fp/a").await.unwrap();

    let texts: Vec<_> = fixture.fp.calls()[0]
        .request
        .prompt()
        .messages
        .iter()
        .map(Message::text)
        .collect();
    assert_eq!(texts, ["hi", "first", "second"]);
    let changes: Vec<_> = reply
        .attempt_log
        .changes()
        .iter()
        .map(Change::to_string)
        .collect();
    assert_eq!(changes, ["first added", "second added"]);
}

#[tokio::test(start_paused = true)]
async fn streams_are_shaped_and_report_the_changes() {
    let fixture = fixture(vec![RecordingShape::new(describe)]);
    fixture
        .fp
        .set_model_capabilities("blind", Capabilities::text_only());
    fixture.script("blind", [Step::reply("an apple")]);
    let stream = fixture
        .chain("fp/blind")
        .stream(with_image())
        .await
        .unwrap();
    let response = stream.finish().await.unwrap();
    assert_eq!(lines(&response.attempt_log), ["fp/blind served"]);
    assert_eq!(response.attempt_log.changes()[0].verb, "described");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_holds_while_a_request_is_shaped() {
    struct Endless;
    impl Shape for Endless {
        fn concerns(&self, _: &Request, _: TargetView<'_>) -> bool {
            true
        }
        fn shape<'a>(
            &'a self,
            _: Request,
            _: TargetView<'a>,
        ) -> BoxFuture<'a, majordomo::Result<Shaped>> {
            Box::pin(std::future::pending())
        }
    }
    let fixture = fixture(vec![Arc::new(Endless)]);
    let request = Request::user("hi").timeout(secs(2));
    let error = fixture.chain("fp/a").generate(request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert!(fixture.is_healthy("fp/a"));
}

/// Calls a model, except in a preview.
struct CallsModel(Arc<RecordingShape>);

impl Shape for CallsModel {
    fn concerns(&self, request: &Request, target: TargetView<'_>) -> bool {
        self.0.concerns(request, target)
    }

    fn shape<'a>(
        &'a self,
        request: Request,
        target: TargetView<'a>,
    ) -> BoxFuture<'a, majordomo::Result<Shaped>> {
        self.0.shape(request, target)
    }

    fn preview<'a>(
        &'a self,
        request: Request,
        _target: TargetView<'a>,
    ) -> BoxFuture<'a, majordomo::Result<Shaped>> {
        let changes = vec![Change::new("image", "fetched").times(request.prompt().image_count())];
        Box::pin(std::future::ready(Ok(Shaped { request, changes })))
    }
}

#[tokio::test(start_paused = true)]
async fn a_preview_shows_what_each_target_would_receive_without_calling_any() {
    let recorder = RecordingShape::new(describe);
    let fixture = fixture(vec![Arc::new(CallsModel(Arc::clone(&recorder)))]);
    fixture
        .fp
        .set_model_capabilities("blind", Capabilities::text_only());

    let previews = fixture
        .chain("fp/blind,fp/seeing")
        .preview(&with_image())
        .await;

    let names: Vec<&str> = previews.iter().map(|p| p.target.as_str()).collect();
    assert_eq!(names, ["fp/blind", "fp/seeing"]);
    let refused = previews[0].shaped.as_ref().unwrap_err();
    assert_eq!(refused.message(), "it takes no images");
    let shaped = previews[1].shaped.as_ref().unwrap();
    assert_eq!(shaped.changes, [Change::new("image", "fetched").times(1)]);
    assert!(
        recorder.targets().is_empty(),
        "nothing was shaped for sending"
    );
    assert!(fixture.fp.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_preview_of_a_request_that_no_target_takes_shows_the_reduced_one() {
    let fixture = fixture(vec![Arc::new(majordomo::chain::FitImages::default())]);
    let one = majordomo::llm::ImageLimits::default().with_max_count(Some(1));
    fixture
        .fp
        .set_capabilities(Capabilities::default().with_images(Some(one)));
    let gif = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    let image = || Part::image("image/gif", &gif[..]);
    let request = Request::user("two").part(image()).part(image());

    let previews = fixture.chain("fp/a").preview(&request).await;

    let shaped = previews[0].shaped.as_ref().unwrap();
    assert_eq!(shaped.request.prompt().image_count(), 1);
    assert!(!shaped.changes.is_empty());
}
