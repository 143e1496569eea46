//! `majordomo image` with the built-in demo and with scripted providers.

use crate::support::{file, majordomo};
use majordomo_testkit::{Script, Upstream};

/// A path in a folder that exists, of a file that does not.
fn absent(name: &str) -> String {
    let path = file(name, "");
    std::fs::remove_file(&path).expect("it was just written");
    path
}

#[tokio::test]
async fn an_image_is_written_and_not_overwritten() {
    let path = absent("apple.png");
    let arguments = ["image", "demo/image", "a red apple", "-o", &path];
    let done = majordomo(&arguments).output().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(done.stdout, format!("wrote {path} (image/png, 64x64)\n"));
    assert_eq!(done.stderr, "demo/image: served\n");
    let first = std::fs::read(&path).unwrap();
    assert!(first.starts_with(b"\x89PNG"));
    let again = majordomo(&arguments).output().await;
    assert_eq!(again.code, Some(1));
    let sentence =
        format!("error: `{path}` exists; give another name, or --force to overwrite it\n");
    assert_eq!(again.stderr, sentence);
    let forced = [&arguments[..], &["--force", "--seed", "-3"]].concat();
    let forced = majordomo(&forced).output().await;
    assert_eq!(forced.code, Some(0), "{}", forced.stderr);
    assert_ne!(
        std::fs::read(&path).unwrap(),
        first,
        "another seed, another image"
    );
}

#[tokio::test]
async fn several_images_are_numbered() {
    let path = absent("pears.png");
    let one = path.replace("pears.png", "pears-1.png");
    let two = path.replace("pears.png", "pears-2.png");
    for numbered in [&one, &two] {
        let _ = std::fs::remove_file(numbered);
    }
    let arguments = [
        "image",
        "demo/image",
        "pears",
        "-o",
        &path,
        "--n",
        "2",
        "--size",
        "32x16",
    ];
    let done = majordomo(&arguments).output().await;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let expected = format!("wrote {one} (image/png, 32x16)\nwrote {two} (image/png, 32x16)\n");
    assert_eq!(done.stdout, expected);
    assert_ne!(std::fs::read(one).unwrap(), std::fs::read(two).unwrap());
    assert!(!std::path::Path::new(&path).exists());
}

#[tokio::test]
async fn a_setting_that_the_target_lacks_is_listed() {
    let path = absent("steps.png");
    let arguments = ["image", "demo/image", "pears", "-o", &path, "--steps", "9"];
    let done = majordomo(&arguments).output().await;
    assert!(
        done.stderr
            .contains("steps dropped (the demo has no model)\n"),
        "{}",
        done.stderr
    );
}

#[tokio::test]
async fn failures_are_one_sentence_and_leave_no_file() {
    let path = absent("none.png");
    let done = majordomo(&["image", "demo/text", "pears", "-o", &path])
        .output()
        .await;
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.contains("demo/text: it generates no images"),
        "{}",
        done.stderr
    );
    let bad = ["image", "demo/image", "pears", "-o", &path, "--size", "big"];
    let done = majordomo(&bad).output().await;
    assert_eq!(done.code, Some(2));
    assert!(
        done.stderr
            .contains("`big` is not a size such as 1024x1024"),
        "{}",
        done.stderr
    );
    let nowhere = [
        "image",
        "demo/image",
        "pears",
        "-o",
        "no-such-folder/pear.png",
    ];
    let done = majordomo(&nowhere).output().await;
    assert_eq!(
        done.stderr, "error: `no-such-folder` is not a folder\n",
        "nothing is drawn"
    );
    let none = ["image", "demo/image", "pears", "-o", &path, "--n", "0"];
    assert_eq!(majordomo(&none).output().await.code, Some(2));
    assert!(!std::path::Path::new(&path).exists());
}

#[tokio::test]
async fn an_image_given_by_url_is_printed_and_not_fetched() {
    let body = r#"{"data":[{"url":"https://images.example/1"}]}"#;
    let script = Script::new().read_request();
    let upstream = Upstream::start([script.respond(200, "application/json", body)]).await;
    let path = absent("remote.png");
    let done = majordomo(&["image", "x/painter", "pears", "-o", &path])
        .x_with(&upstream, "")
        .output()
        .await;
    assert_eq!(done.code, Some(1));
    assert_eq!(done.stdout, "https://images.example/1\n");
    assert!(done.stderr.contains("not fetched"), "{}", done.stderr);
    assert_eq!(upstream.requests().len(), 1);
}
