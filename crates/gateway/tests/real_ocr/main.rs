//! A describer with real OCR: text drawn into images reaches the model.
//!
//! A separate binary because `tests/ocr_describer/run` starts the describer, draws the
//! images and runs only this; without them these tests are skipped.

mod engine;
mod gateway;

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use majordomo_testkit::started;

/// The server's address, `host:port`.
const ADDRESS: &str = "MAJORDOMO_OCR";
/// A directory of images, each next to a `.txt` file with its text.
const IMAGES: &str = "MAJORDOMO_OCR_IMAGES";
/// OCR is slow on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(240);

/// The describer's address and the images, or a recorded skip.
fn reader() -> Option<(String, Vec<Drawn>)> {
    let (address, folder) = (started(ADDRESS)?, started(IMAGES)?);
    let images = drawn(Path::new(&folder));
    assert_eq!(images.len(), 4, "PNG, JPEG, WebP and GIF");
    Some((address, images))
}

/// An image and the text in it.
struct Drawn {
    name: String,
    media_type: String,
    data: Bytes,
    words: String,
}

fn drawn(folder: &Path) -> Vec<Drawn> {
    let files = std::fs::read_dir(folder).expect("the folder of images");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    let images = paths.into_iter().filter_map(|path| {
        let extension = path.extension()?.to_str()?;
        let media_type = match extension {
            "jpg" => "image/jpeg".to_owned(),
            "txt" => return None,
            other => format!("image/{other}"),
        };
        let words = std::fs::read_to_string(path.with_extension("txt")).expect("the words");
        let data = std::fs::read(&path).expect("the image");
        Some(Drawn {
            name: path.file_name()?.to_str()?.to_owned(),
            media_type,
            data: data.into(),
            words,
        })
    });
    images.collect()
}

/// Letters and digits only: OCR engines disagree about spaces.
fn letters(text: &str) -> String {
    let kept = text.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}
