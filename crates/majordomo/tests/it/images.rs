//! Images in a chain: each target receives what it takes.

use crate::support::{Fixture, lines};
use majordomo::llm::ImageLimits;
use majordomo::{Capabilities, ErrorKind, Image, Part, Request};

/// A plain image of this size.
fn png(width: u32, height: u32) -> Part {
    let mut data = Vec::new();
    let mut encoder = png::Encoder::new(&mut data, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().expect("a header");
    let pixels = vec![200; width as usize * height as usize * 3];
    writer.write_image_data(&pixels).expect("pixels");
    writer.finish().expect("an end");
    Part::image("image/png", data)
}

fn limited(limits: ImageLimits) -> Capabilities {
    Capabilities::default().with_images(Some(limits))
}

fn at_most(px: u32) -> Capabilities {
    limited(ImageLimits::default().with_max_px(Some(px)))
}

fn images(request: &Request) -> Vec<&Image> {
    let parts = request
        .prompt()
        .messages
        .iter()
        .flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            Part::Image(image) => Some(image),
            _ => None,
        })
        .collect()
}

fn size(image: &Image) -> (u32, u32) {
    let decoder = png::Decoder::new(std::io::Cursor::new(&image.data));
    let reader = decoder.read_info().expect("a PNG");
    (reader.info().width, reader.info().height)
}

#[tokio::test]
async fn a_100_by_50_png_arrives_as_32_by_16_at_a_32_px_target() {
    let fixture = Fixture::new();
    fixture.fp.set_model_capabilities("small", at_most(32));
    let request = Request::user("what is this?").part(png(100, 50));
    let reply = fixture.chain("fp/small").generate(request).await.unwrap();
    let sent = fixture.fp.calls()[0].request.clone();
    assert_eq!(size(images(&sent)[0]), (32, 16));
    let change = &reply.attempt_log.changes()[0];
    assert_eq!(change.to_string(), "image:1 resized");
    assert!(
        change.detail.contains("100×50") && change.detail.contains("32×16"),
        "{change:?}"
    );
}

#[tokio::test]
async fn the_same_request_arrives_untouched_at_an_8000_px_target() {
    let fixture = Fixture::new();
    fixture.fp.set_model_capabilities("large", at_most(8_000));
    let request = Request::user("what is this?").part(png(100, 50));
    fixture
        .chain("fp/large")
        .generate(request.clone())
        .await
        .unwrap();
    assert!(fixture.fp.calls()[0].request.same_prompt(&request));
}

#[tokio::test]
async fn each_target_receives_its_own_version_and_the_original_is_kept() {
    let fixture = Fixture::new();
    fixture.fp.set_model_capabilities("small", at_most(32));
    fixture.fp.set_model_capabilities("middle", at_most(64));
    fixture.script("small", [crate::support::status(404)]);
    let request = Request::user("what is this?").part(png(100, 50));
    let chain = fixture.chain("fp/small,fp/middle,fp/large");
    let reply = chain.generate(request.clone()).await.unwrap();
    assert_eq!(reply.model, "fp/middle");
    let sizes: Vec<_> = fixture
        .fp
        .calls()
        .iter()
        .map(|call| size(images(&call.request)[0]))
        .collect();
    assert_eq!(sizes, [(32, 16), (64, 32)], "not the 32 px one scaled up");
    assert_eq!(size(images(&request)[0]), (100, 50));
}

#[tokio::test]
async fn a_target_that_takes_too_few_images_is_skipped_without_penalty() {
    let fixture = Fixture::new();
    let one = limited(ImageLimits::default().with_max_count(Some(1)));
    fixture.fp.set_model_capabilities("one", one);
    let request = Request::user("compare").part(png(8, 8)).part(png(9, 9));
    let reply = fixture
        .chain("fp/one,fp/many")
        .generate(request)
        .await
        .unwrap();
    assert_eq!(
        lines(&reply.attempt_log),
        ["fp/one skipped", "fp/many served"]
    );
    assert!(fixture.is_healthy("fp/one"));
}

#[tokio::test]
async fn when_no_target_takes_the_count_the_oldest_images_are_omitted() {
    let fixture = Fixture::new();
    for (model, count) in [("one", 1), ("two", 2)] {
        let few = limited(ImageLimits::default().with_max_count(Some(count)));
        fixture.fp.set_model_capabilities(model, few);
    }
    let request = Request::user("compare")
        .part(png(8, 8))
        .part(png(9, 9))
        .part(png(10, 10));
    let reply = fixture
        .chain("fp/one,fp/two")
        .generate(request)
        .await
        .unwrap();
    assert_eq!(reply.model, "fp/two", "the one that takes the most");
    let sent = fixture.fp.calls()[0].request.clone();
    let sizes: Vec<_> = images(&sent).into_iter().map(size).collect();
    assert_eq!(sizes, [(9, 9), (10, 10)], "the newest are kept");
    let text = sent.prompt().messages[0].text();
    assert!(text.contains("[earlier image omitted to fit this model's per-request image limit]"));
    assert_eq!(
        reply.attempt_log.changes()[0].to_string(),
        "image:1 omitted"
    );
}

#[tokio::test]
async fn an_image_that_fits_no_target_is_an_error_with_reasons() {
    let fixture = Fixture::new();
    let tiny = limited(ImageLimits::default().with_max_bytes(Some(10)));
    fixture.fp.set_capabilities(tiny);
    let request = Request::user("what is this?").part(png(100, 50));
    let error = fixture.chain("fp/a").generate(request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert!(error.to_string().contains("image 1"), "{error}");
    assert!(fixture.calls().is_empty());
}
