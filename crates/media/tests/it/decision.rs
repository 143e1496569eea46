//! The promises of ADR 0010, with its numbers.

use majordomo_llm::{
    Change, Class, ErrorKind, ImageLimits, ManyImages, Message, NextTarget, Part, Request,
    ToolCall, ToolResult,
};
use majordomo_media::{Fitter, Format, OMITTED, measure, omit_oldest};

use crate::mediagen::*;

fn fit_request(
    request: &Request,
    limits: &ImageLimits,
) -> majordomo_llm::Result<(Request, Vec<Change>)> {
    block_on(Fitter::default().fit(request, Some(limits)))
}

fn only_image(request: &Request) -> &majordomo_llm::Image {
    let mut images = request.prompt().messages.iter().flat_map(|m| &m.parts);
    images
        .find_map(|part| match part {
            Part::Image(image) => Some(image),
            _ => None,
        })
        .unwrap()
}

#[test]
fn the_sniffed_format_wins_over_the_declared_type_and_corrects_the_part() {
    let data = jpeg(40, 30, smooth);
    let request = Request::user(Part::image("image/png", data.clone()));
    let (fitted, changes) = fit_request(&request, &ImageLimits::default()).unwrap();
    let image = only_image(&fitted);
    assert_eq!(image.media_type, "image/jpeg");
    assert_eq!(image.data.as_ptr(), data.as_ptr());
    assert_eq!(changes[0].to_string(), "image:1 relabelled");
}

#[test]
fn a_fitting_image_passes_untouched_and_the_request_is_not_cloned() {
    let request = Request::user(Part::image("image/png", png(100, 50, screen)));
    let (fitted, changes) = fit_request(&request, &px(8000)).unwrap();
    assert!(fitted.same_prompt(&request));
    assert!(changes.is_empty());
}

#[test]
fn a_100x50_png_at_a_32_px_cap_arrives_as_a_32x16_png() {
    let request = Request::user(Part::image("image/png", png(100, 50, screen)));
    let (fitted, changes) = fit_request(&request, &px(32)).unwrap();
    let image = only_image(&fitted);
    let header = measure(&image.data).unwrap();
    assert_eq!((header.width, header.height), (32, 16));
    assert_eq!(image.media_type, "image/png");
    assert_eq!(changes[0].to_string(), "image:1 resized");
    let (to_8000, _) = fit_request(&request, &px(8000)).unwrap();
    assert!(to_8000.same_prompt(&request), "and untouched at 8000 px");
}

#[test]
fn a_small_image_is_never_enlarged() {
    let data = png(10, 5, smooth);
    let fitted = fit(&data, &px(4000)).unwrap();
    assert_eq!(fitted.data.as_ptr(), data.as_ptr());
}

#[test]
fn the_output_format_is_the_source_format_then_jpeg_then_png_then_the_first_that_can_be_encoded() {
    let photo = webp::file(webp::LOSSY);
    let table: [(&bytes::Bytes, &[&str], Format); 7] = [
        (
            &png(64, 64, noise),
            &["image/jpeg", "image/png"],
            Format::Png,
        ),
        (
            &png(64, 64, noise),
            &["image/jpeg", "image/webp"],
            Format::Jpeg,
        ),
        (&photo, &["image/png", "image/jpeg"], Format::Jpeg),
        (&photo, &["image/gif", "image/png"], Format::Png),
        (&photo, &["image/heic", "image/gif"], Format::Gif),
        (
            &png(64, 64, noise),
            &["image/heic", "image/webp"],
            Format::Webp,
        ),
        (
            &gif(64, 64, &[[9, 9, 9]]),
            &["image/jpeg", "image/gif"],
            Format::Gif,
        ),
    ];
    for (data, allowed, format) in table {
        let limits = types(allowed).with_max_px(Some(20));
        let fitted = fit(data, &limits).unwrap();
        assert_eq!(fitted.media_type, format.media_type(), "{allowed:?}");
        assert_eq!(measure(&fitted.data).unwrap().longer_side(), 20);
    }
}

#[test]
fn a_type_that_is_not_accepted_becomes_jpeg_of_quality_85() {
    let made = fit(&png(64, 64, noise), &types(&["image/jpeg"]))
        .unwrap()
        .conversion
        .unwrap();
    assert_eq!((made.format, made.quality), (Format::Jpeg, Some(85)));
    assert_eq!((made.width, made.height), (64, 64));
}

#[test]
fn the_byte_ladder_goes_down_in_quality_before_it_shrinks_the_size() {
    let data = jpeg(640, 480, noise);
    let at = |budget: u64| {
        let fitted = fit(&data, &max_bytes(budget)).unwrap();
        assert!(fitted.data.len() as u64 <= budget);
        let made = fitted.conversion.unwrap();
        (made.quality.unwrap(), made.width, fitted.data.len() as u64)
    };
    let mut budget = data.len() as u64 - 1;
    let mut steps = Vec::new();
    for _ in 0..4 {
        let (quality, width, size) = at(budget);
        steps.push((quality, width));
        budget = size - 1;
    }
    assert_eq!(steps, [(85, 640), (65, 640), (45, 640), (30, 640)]);
    // From here on, the limit decides the size, and little of it is left unused.
    let mut last = 640;
    for share in [95, 70, 40, 15, 3] {
        let limit = budget * share / 100;
        let (quality, width, size) = at(limit);
        assert_eq!(quality, 30);
        assert!(width < last, "{width} at {limit}");
        assert!(size * 100 >= limit * 70, "{size} of {limit}");
        last = width;
    }
    assert!(at(1_000).1 < last);
}

#[test]
fn an_image_that_cannot_fit_is_an_error_naming_the_image_the_limit_and_the_attempts() {
    let request = request(&[png(8, 8, smooth), jpeg(512, 512, noise)]);
    let error = fit_request(&request, &max_bytes(500)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let text = error.to_string();
    for part in ["image 2", "500 B", "1×1 jpeg of quality 30"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_target_that_cannot_accept_the_images_is_skipped_and_stays_healthy() {
    let request = request(&[png(8, 8, smooth)]);
    let error = block_on(Fitter::default().fit(&request, None)).unwrap_err();
    assert_eq!(error.class(), Class::Unsupported);
    let verdict = error.class().verdict();
    assert_eq!(verdict.next_target, NextTarget::Advance);
    assert_eq!(verdict.health, majordomo_llm::HealthEffect::None);
    assert_eq!(
        error.message(),
        "the request has 1 image, and the target accepts none"
    );
}

#[test]
fn a_request_without_images_needs_no_vision_target() {
    let request = Request::user("hi");
    let (same, _) = block_on(Fitter::default().fit(&request, None)).unwrap();
    assert!(same.same_prompt(&request));
}

#[test]
fn too_many_images_are_unsupported_and_a_second_pass_omits_the_oldest() {
    let images: Vec<_> = (1..=9).map(|n| png(n, 1, smooth)).collect();
    let request = request(&images);
    let eight = ImageLimits::default().with_max_count(Some(8));
    let error = fit_request(&request, &eight).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("9 images"), "{error}");

    let (fewer, changes) = omit_oldest(&request, 8);
    assert_eq!(fewer.prompt().image_count(), 8);
    assert_eq!(fewer.prompt().messages[0].parts[1].as_text(), Some(OMITTED));
    assert_eq!(changes[0].to_string(), "image:1 omitted");
    assert!(fit_request(&fewer, &eight).is_ok());
    let (same, changes) = omit_oldest(&request, 9);
    assert!(same.same_prompt(&request) && changes.is_empty());
}

#[test]
fn images_inside_tool_results_are_fitted() {
    let call = ToolCall::new("call_0", "screenshot", "{}");
    let mut result = ToolResult::new(&call, "here");
    result
        .parts
        .push(Part::image("image/png", png(100, 50, screen)));
    let request = Request::user("look")
        .message(Message::assistant(Part::ToolCall(call)))
        .message(Message::tool_results_message([result]));
    let (fitted, _) = fit_request(&request, &px(32)).unwrap();
    let results: Vec<_> = fitted.prompt().messages[2].tool_results().collect();
    let Part::Image(image) = &results[0].parts[1] else {
        panic!("the image is gone");
    };
    assert_eq!(measure(&image.data).unwrap().width, 32);
}

#[test]
fn many_images_tighten_the_pixel_limit_for_all_of_them() {
    let limits = ImageLimits::default()
        .with_max_px(Some(80))
        .with_many(Some(ManyImages {
            above: 2,
            max_px: 20,
        }));
    let two = request(&vec![png(80, 40, smooth); 2]);
    assert!(fit_request(&two, &limits).unwrap().0.same_prompt(&two));
    let three = request(&vec![png(80, 40, smooth); 3]);
    let (fitted, changes) = fit_request(&three, &limits).unwrap();
    assert_eq!(measure(&only_image(&fitted).data).unwrap().width, 20);
    assert_eq!(changes[0].to_string(), "image:3 resized");
}

#[test]
fn a_limit_on_base64_text_applies_to_the_text() {
    let data = jpeg(200, 200, noise);
    let limits = max_bytes(data.len() as u64).with_counted(majordomo_llm::ByteCount::Base64);
    let fitted = fit(&data, &limits).unwrap();
    assert!(fitted.data.len().div_ceil(3) * 4 <= data.len());
}

#[test]
fn a_limit_on_all_images_together_is_shared_among_the_large_ones() {
    let images = [
        jpeg(300, 300, noise),
        jpeg(310, 300, noise),
        jpeg(20, 20, smooth),
    ];
    let total: usize = images.iter().map(|image| image.len()).sum();
    let limits = ImageLimits::default().with_max_total_bytes(Some(total as u64 / 2));
    let images = request(&images);
    let (fitted, changes) = fit_request(&images, &limits).unwrap();
    let sizes = fitted.prompt().messages[0]
        .parts
        .iter()
        .map(|part| match part {
            Part::Image(image) => image.data.len(),
            _ => 0,
        });
    let sizes: Vec<usize> = sizes.collect();
    assert!(sizes.iter().sum::<usize>() <= total / 2);
    assert!(
        changes
            .iter()
            .any(|c| c.to_string() == "image:3 relabelled" || c.count == Some(2))
    );
    let (again, _) = fit_request(&fitted, &limits).unwrap();
    assert!(again.same_prompt(&fitted), "fitting twice changes nothing");
}

#[test]
fn every_change_is_recorded_in_readable_form() {
    let request = request(&[jpeg(400, 300, smooth)]);
    let (_, changes) = fit_request(&request, &px(100)).unwrap();
    let detail = &changes[0].detail;
    assert!(detail.starts_with("image 1: 400×300 jpeg "), "{detail}");
    assert!(detail.contains(" → 100×75 jpeg "), "{detail}");
}

#[test]
fn the_result_does_not_depend_on_what_was_fitted_before() {
    let image = jpeg(1000, 700, smooth);
    let request = request(std::slice::from_ref(&image));
    let fitted = |fitter: &Fitter, side: u32| {
        let (fitted, _) = block_on(fitter.fit(&request, Some(&px(side)))).unwrap();
        bytes::Bytes::clone(&only_image(&fitted).data)
    };
    let used = Fitter::default();
    for side in [900, 400, 120] {
        fitted(&used, side);
    }
    for side in [900, 450, 400, 240, 120, 60] {
        let fresh = fitted(&Fitter::default(), side);
        assert!(fitted(&used, side) == fresh, "{side}");
        assert!(fit(&image, &px(side)).unwrap().data == fresh, "{side}");
    }
}
