//! Small text stays readable: OCR of our downscaled screenshots, compared with those of
//! Pillow's Lanczos filter.
//!
//! `MAJORDOMO_OCR_PYTHON` names a Python with Pillow; `./test` installs it and tesseract,
//! and sets the variable. Without it the test is skipped.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::mediagen::{fit, px, types};

fn output(command: &mut Command) -> Option<String> {
    let output = command
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

/// How many of the written words OCR recognises, each counted as often as it was written.
fn words_read(picture: &Path, written: &str) -> usize {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for word in written.split_whitespace() {
        *left.entry(word).or_default() += 1;
    }
    let mut command = Command::new("tesseract");
    command.arg(picture).args(["stdout", "--psm", "6"]);
    let text = output(&mut command).expect("tesseract reads a picture");
    let found = text.split_whitespace().filter(|word| {
        let count = left.get_mut(word).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    });
    found.count()
}

#[test]
fn ocr_reads_at_least_95_percent_of_the_words_that_it_reads_after_pillows_lanczos() {
    let Ok(python) = std::env::var("MAJORDOMO_OCR_PYTHON") else {
        println!("skipped: MAJORDOMO_OCR_PYTHON is not set; ./test sets it");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/ocr/screenshots.py");
    let folder = std::env::temp_dir().join(format!("majordomo-ocr-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (width, height, size) in [(1280, 800, 1000), (1280, 800, 900), (1000, 1400, 1120)] {
        let mut draw = Command::new(&python);
        draw.arg(&script).arg(&folder);
        draw.args([width, height, size].map(|number: u32| number.to_string()));
        output(&mut draw).expect("the screenshots are drawn");
        let written = std::fs::read_to_string(folder.join("words.txt")).unwrap();
        let original = std::fs::read(folder.join("original.png")).unwrap();
        let ours = folder.join("ours.png");
        std::fs::write(&ours, fit(&original.into(), &px(size)).unwrap().data).unwrap();
        let pillows = folder.join("reference.png");
        let (reference, read) = thread::scope(|scope| {
            let reference = scope.spawn(|| words_read(&pillows, &written));
            let read = words_read(&ours, &written);
            (reference.join().unwrap(), read)
        });
        println!("{width}×{height} at {size}: {read} words, {reference} after Pillow");
        assert!(reference > 50, "the reference itself is hardly readable");
        assert!(read * 100 >= reference * 95, "{read} of {reference}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// At a byte limit, resolution is worth more than quality (ADR 0044).
#[test]
fn ocr_reads_45_percent_of_the_words_within_a_byte_limit() {
    let Ok(folder) = std::env::var("MAJORDOMO_OCR_PAGES") else {
        println!("skipped: MAJORDOMO_OCR_PAGES is not set; ./test sets it");
        return;
    };
    let folder = Path::new(&folder);
    for (max_px, max_bytes) in [(1568, 100_000), (768, 50_000)] {
        let limits = types(&["image/jpeg", "image/png"])
            .with_max_px(Some(max_px))
            .with_max_bytes(Some(max_bytes));
        let (mut read, mut written) = (0, 0);
        for page in ["article", "code", "table"] {
            let name = folder.join(format!("{max_px}-{page}.png"));
            let words = std::fs::read_to_string(name.with_extension("txt")).unwrap();
            let fitted = fit(&std::fs::read(&name).unwrap().into(), &limits).unwrap();
            let made = fitted.conversion.unwrap();
            let out = folder.join("fitted");
            std::fs::write(&out, &fitted.data).unwrap();
            let found = words_read(&out, &words);
            let all = words.split_whitespace().count();
            println!("{max_px} px, {max_bytes} bytes, {page}: {made}: {found} of {all} words");
            (read, written) = (read + found, written + all);
        }
        assert!(
            read * 100 >= written * 45,
            "{read} of {written} words at {max_px} px"
        );
    }
}
