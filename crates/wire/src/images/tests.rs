//! Requests and responses of the images API and its translations.

use majordomo_llm::{
    Class, Dialect, FinishReason, Image, ImageRequest, ImageResponse, RemoteImage, Response, Usage,
};
use proptest::prelude::*;

use super::*;
use crate::Protocol;

const PNG: &[u8] = b"\x89PNG\r\n\x1A\n\0\0";
const OPENAI: ImageTarget<'_> = ImageTarget {
    model: "gpt-image-2",
    diffusion: false,
    ask_base64: false,
};

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn losses(written: &WrittenImages) -> Vec<String> {
    let losses = written.losses.iter();
    losses
        .map(|loss| format!("{} {}", loss.field, loss.verb))
        .collect()
}

/// A request with every setting.
fn full() -> ImageRequest {
    ImageRequest::new("a \"pear\"")
        .n(2)
        .size("1536x1024".parse().unwrap())
        .steps(20)
        .guidance(6.5)
        .negative_prompt("worms")
        .sampler("Euler a")
        .seed(-3)
}

fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (head, content) in parts {
        body.extend_from_slice(b"--b0\r\nContent-Disposition: form-data; ");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--b0--\r\n");
    body
}

const FORM: &str = "multipart/form-data; boundary=b0";

#[test]
fn unset_settings_are_not_sent() {
    let written = write_request(&ImageRequest::new("a pear"), &OPENAI);
    assert_eq!(
        text(&written.body),
        r#"{"model":"gpt-image-2","prompt":"a pear"}"#
    );
    let written = sdapi::write_request(&ImageRequest::new("a pear"), "sdxl").unwrap();
    assert_eq!(text(&written.body), r#"{"model":"sdxl","prompt":"a pear"}"#);
}

#[test]
fn every_setting_is_sent_or_listed_as_lost() {
    let written = write_request(&full(), &OPENAI);
    assert_eq!(
        text(&written.body),
        r#"{"model":"gpt-image-2","prompt":"a \"pear\"","n":2,"size":"1536x1024"}"#
    );
    let lost = ["seed", "steps", "guidance", "negative_prompt", "sampler"];
    assert_eq!(losses(&written), lost.map(|name| format!("{name} dropped")));

    let local = ImageTarget {
        model: "sd",
        diffusion: true,
        ask_base64: true,
    };
    let written = write_request(&full(), &local);
    assert!(text(&written.body).ends_with(
        r#""seed":-3,"steps":20,"guidance_scale":6.5,"negative_prompt":"worms","response_format":"b64_json"}"#
    ));
    assert_eq!(losses(&written), ["sampler dropped"]);

    let written = sdapi::write_request(&full(), "sdxl").unwrap();
    assert_eq!(
        text(&written.body),
        r#"{"model":"sdxl","prompt":"a \"pear\"","negative_prompt":"worms","width":1536,"height":1024,"steps":20,"cfg_scale":6.5,"sampler_name":"Euler a","seed":-3,"batch_size":2}"#
    );
    assert!(written.losses.is_empty());

    let (chat, lost) = gemini::chat_request(&full()).unwrap();
    assert_eq!(chat.prompt().seed, Some(-3));
    let names: Vec<_> = lost.iter().map(|loss| &*loss.field).collect();
    let expected = [
        "steps",
        "guidance",
        "negative_prompt",
        "sampler",
        "n",
        "size",
    ];
    assert_eq!(names, expected);
    let written = Protocol::Gemini
        .codec()
        .write_request(&chat, &crate::Outgoing::new("gemini-3-pro-image"));
    let body = text(&written.body);
    assert!(
        body.contains(r#""responseModalities":["TEXT","IMAGE"]"#),
        "{body}"
    );
    assert!(
        body.contains(r#""imageConfig":{"aspectRatio":"3:2"}"#),
        "{body}"
    );
}

#[test]
fn a_clients_json_keeps_its_bytes_except_for_the_model() {
    let body = r#"{ "quality":"high","n" : 1.0e0, "model":"fast","prompt":"p","odd":{"a":[1]} }"#;
    let body = body.replace("1.0e0", "1");
    let read = read_request("application/json", body.clone().into()).unwrap();
    let written = write_request(&read.request, &OPENAI);
    assert_eq!(text(&written.body), body.replace("fast", "gpt-image-2"));
    assert!(!written.edits);
    // An edited one keeps its unknown fields.
    let written = write_request(&read.request.clone().n(3), &OPENAI);
    let expected = r#"{"model":"gpt-image-2","prompt":"p","n":3,"quality":"high","odd":{"a":[1]}}"#;
    assert_eq!(text(&written.body), expected);
    // Another dialect lists them.
    let written = sdapi::write_request(&read.request, "sdxl").unwrap();
    assert_eq!(losses(&written), ["quality dropped", "odd dropped"]);
}

#[test]
fn a_clients_form_keeps_its_bytes_except_for_the_model() {
    let image: Vec<u8> = [PNG, b"\r\n--b\r\n\0\xff"].concat();
    let parts: [(&str, &[u8]); 6] = [
        ("name=\"model\"", b"fast"),
        ("name=\"prompt\"", "ein Apfel, grün".as_bytes()),
        (
            "name=\"image[]\"; filename=\"a;b.png\"\r\nContent-Type: image/png",
            &image,
        ),
        ("name=\"image[]\"; filename=\"b.jpg\"", b"\xFF\xD8\xFF"),
        ("name=\"mask\"; filename=\"m.png\"", PNG),
        ("name=\"quality\"", b""),
    ];
    let body = form(&parts);
    let read = read_request(FORM, body.clone().into()).unwrap();
    assert_eq!(read.model.as_deref(), Some("fast"));
    let prompt = read.request.prompt();
    assert_eq!(prompt.prompt, "ein Apfel, grün");
    assert_eq!(prompt.images[0], Image::new("image/png", image.clone()));
    assert_eq!(prompt.images[1].media_type, "image/jpeg");
    assert_eq!(prompt.mask, Some(Image::new("image/png", PNG)));
    let written = write_request(&read.request, &OPENAI);
    assert!(written.edits);
    assert_eq!(written.content_type, FORM);
    let mut expected = parts;
    expected[0].1 = b"gpt-image-2";
    assert_eq!(written.body, form(&expected));
}

#[test]
fn a_form_that_we_write_is_read_back() {
    let request = full()
        .image(Image::new("image/png", [PNG, b"majordomo-form-"].concat()))
        .image(Image::new("image/webp", vec![0, 13, 10, 45, 45]))
        .mask(Image::new("image/png", PNG));
    let local = ImageTarget {
        diffusion: true,
        ..OPENAI
    };
    let written = write_request(&request, &local);
    let again = write_request(&request, &local);
    assert_eq!(written.body, again.body, "equal requests have equal bytes");
    let read = read_request(&written.content_type, written.body).unwrap();
    let mut expected = request.prompt().clone();
    expected.sampler = None;
    assert_eq!(*read.request.prompt(), expected);
}

#[test]
fn malformed_and_ambiguous_forms_are_refused() {
    let rows: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "no part"),
        (b"--b0\r\n".to_vec(), "cut off"),
        (b"--b0\r\nx".to_vec(), "cut off"),
        (
            b"--b0\r\nA: b\r\n\r\nx\r\n--b0".to_vec(),
            "no content disposition",
        ),
        (form(&[("name=\"n\"", b"x")]), "n: expected a number"),
        (form(&[("name=\"n\"", b"0")]), "from 1"),
        (form(&[("name=\"n\"", b"4000000000")]), "from 1"),
        (
            form(&[("name=\"model\"", b"a"), ("name=\"model\"", b"b")]),
            "given twice",
        ),
        (form(&[("name=\"image\"", b"x")]), "expected a file"),
        (form(&[("name=\"prompt\"", b"\xff")]), "not UTF-8"),
        (form(&[("name=\"a\"; name=\"b\"", b"")]), "ambiguous"),
        (form(&[("name=\"a\\\"; x=\"b\"", b"")]), "ambiguous"),
        (form(&[("name=\"a", b"")]), "quote"),
        (form(&[("x=\"a\"", b"")]), "no name"),
        (
            form(&[("name=\"a\"\r\nContent-Transfer-Encoding: base64", b"")]),
            "encoded",
        ),
        (form(&[("name=\"a\"", b"x\r\n--b0y")]), "boundary occurs"),
        (
            form(&vec![("name=\"image\"; filename=\"a\"", &b"x"[..]); 65]),
            "more than 64",
        ),
    ];
    for (body, expected) in rows {
        let error = read_request(FORM, body.clone().into()).unwrap_err();
        assert!(
            error.to_string().contains(expected),
            "{}: {error}",
            body.escape_ascii()
        );
    }
    for content_type in ["multipart/form-data", "multipart/form-data; boundary=\"\""] {
        assert!(
            read_request(content_type, form(&[]).into()).is_err(),
            "{content_type}"
        );
    }
    // A preamble, an epilogue and a part without content are allowed.
    let body = [
        b"hello\r\n".to_vec(),
        form(&[("name=\"user\"", b"")]),
        b"bye".to_vec(),
    ]
    .concat();
    assert!(read_request(FORM, body.into()).is_ok());
}

#[test]
fn json_is_refused_where_servers_could_disagree() {
    for (body, expected) in [
        (r#"{"prompt":"a","prompt":"b"}"#, "duplicate"),
        (r#"{"prompt":7}"#, "prompt"),
        (r#"{"n":0}"#, "from 1"),
        (r#"{"n":-1}"#, "n"),
        ("[]", "object"),
    ] {
        let error = read_request("application/json", body.into()).unwrap_err();
        assert!(error.to_string().contains(expected), "{body}: {error}");
    }
    let free = r#"{"n":null,"size":"auto","seed":null,"response_format":"url","stream":true}"#;
    let read = read_request("application/json", free.into()).unwrap();
    assert_eq!(
        *read.request.prompt(),
        majordomo_llm::ImagePrompt::default()
    );
    assert!(read.stream && read.wants_urls);
}

#[test]
fn images_of_a_json_edit_are_bytes_or_stay_with_openai() {
    let body = r#"{"prompt":"p","images":[{"image_url":"data:image/png;base64,iVBORw0KGgo="}]}"#;
    let read = read_request("application/json", body.into()).unwrap();
    assert_eq!(read.request.prompt().images.len(), 1);
    let written = sdapi::write_request(&read.request, "sdxl").unwrap();
    assert!(written.edits && text(&written.body).contains(r#""init_images":["iVBORw0KGgo="]"#));
    let body = r#"{"prompt":"p","images":[{"file_id":"file-1"}]}"#;
    let read = read_request("application/json", body.into()).unwrap();
    assert!(is_edit(read.request.prompt()));
    assert!(sdapi::write_request(&read.request, "sdxl").is_err());
    assert!(gemini::chat_request(&read.request).is_err());
    assert!(write_request(&read.request, &OPENAI).edits);
}

#[test]
fn a_response_has_bytes_urls_and_usage() {
    let body = r#"{"created":1,"data":[
        {"b64_json":"iVBORw0KGgo=","revised_prompt":"a ripe pear"},
        {"url":"https://images.example/1"},
        {"url":"data:image/gif;base64,R0lGODlh"}],
        "usage":{"input_tokens":50,"output_tokens":4160,
                 "input_tokens_details":{"image_tokens":40,"text_tokens":10}}}"#;
    let read = read_response(body.into()).unwrap();
    let types: Vec<_> = read.images.iter().map(|image| &*image.media_type).collect();
    assert_eq!(types, ["image/png", "image/gif"]);
    assert_eq!(read.remote[0].url, "https://images.example/1");
    assert_eq!((read.count(), &*read.text), (3, "a ripe pear"));
    assert_eq!(read.usage, Usage::new(50, 4_160).with_image_input(40));
    assert_eq!(read.raw.unwrap().bytes, body);
    for (body, expected) in [
        (r#"{"data":[{"b64_json":"?"}]}"#, "not base64"),
        (r#"{"error":{"message":"no"}}"#, "no"),
        ("[1]", "decode"),
    ] {
        let error = read_response(body.into()).unwrap_err();
        assert!(error.to_string().contains(expected), "{body}: {error}");
    }
}

#[test]
fn a_written_response_is_read_back() {
    let images = vec![Image::new("image/png", PNG), Image::new("image/png", PNG)];
    let remote = vec![RemoteImage {
        url: "https://images.example/1".to_owned(),
        native: None,
    }];
    let response = ImageResponse::new(images)
        .with_remote(remote)
        .with_text("a remark")
        .with_usage(Usage::new(9, 8).with_image_input(3));
    for urls in [false, true] {
        let body = write_response(&response, 7, urls);
        assert!(text(&body).starts_with(r#"{"created":7,"data":[{"#));
        assert_eq!(text(&body).contains("data:image/png;base64,"), urls);
        let mut read = read_response(body).unwrap();
        read.raw = None;
        assert_eq!(read, response);
    }
}

#[test]
fn a_diffusion_server_answers_with_base64_or_data_urls() {
    let body = r#"{"images":["iVBORw0KGgo=","data:image/gif;base64,R0lGODlh"],"info":"{}"}"#;
    let read = sdapi::read_response(&body.into()).unwrap();
    assert_eq!(read.images[1].media_type, "image/gif");
    for body in [
        r#"{"images":[""]}"#,
        r#"{"images":["?"]}"#,
        r#"{"error":"OOM"}"#,
    ] {
        assert!(sdapi::read_response(&body.into()).is_err(), "{body}");
    }
}

#[test]
fn a_chat_response_without_an_image_says_why() {
    let part = majordomo_llm::Part::text("I cannot draw that.");
    let words = Response::new(vec![part]);
    let nothing = Response::new(vec![]);
    let mut blocked = nothing.clone();
    blocked.finish = FinishReason::ContentFilter;
    for (response, why, class) in [
        (words, "I cannot draw that.", Class::Unsupported),
        (nothing, "finish reason stop", Class::Empty),
        (blocked, "finish reason content_filter", Class::Policy),
    ] {
        let error = gemini::images_of(response).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(error.class(), class, "{error}");
        assert!(error.partial().is_some(), "it is billed");
    }
}

#[test]
fn the_dialect_is_not_that_of_chats() {
    assert_ne!(DIALECT, Protocol::Chat.dialect());
    assert_ne!(DIALECT, Dialect::new(""));
}

proptest! {
    #[test]
    fn no_body_panics(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_request(FORM, body.clone().into());
        let _ = read_request("application/json", body.clone().into());
        let _ = read_response(body.clone().into());
        let _ = sdapi::read_response(&body.into());
    }

    #[test]
    fn any_content_survives_a_form(
        content in prop::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'-'), Just(b'b'), any::<u8>()], 0..60)
    ) {
        prop_assume!(memchr::memmem::find(&content, b"\r\n--b0").is_none());
        let body = form(&[("name=\"image\"; filename=\"a\"", &content), ("name=\"user\"", b"u")]);
        let read = read_request(FORM, body.into()).unwrap();
        prop_assert_eq!(&read.request.prompt().images[0].data[..], &content[..]);
    }
}
