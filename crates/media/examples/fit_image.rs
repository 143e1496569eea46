//! Fits an image file to limits that are given on the command line.
//!
//! ```text
//! cargo run --release --example fit_image -- photo.jpg -o small.jpg --px 1568 --bytes 1000000 --type image/jpeg
//! ```

use std::error::Error;

use bytes::Bytes;
use majordomo_llm::ImageLimits;
use majordomo_media::{Bounds, Stop, Terms, fit_image, plan};

fn main() -> Result<(), Box<dyn Error>> {
    let mut limits = ImageLimits::default();
    let (mut input, mut output, mut times) = (None, None, 1_u32);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "-o" => output = Some(value()?),
            "--px" => limits.max_px = Some(value()?.parse()?),
            "--bytes" => limits.max_bytes = Some(value()?.parse()?),
            "--type" => limits.types.push(value()?),
            "--times" => times = value()?.parse()?,
            _ => input = Some(argument),
        }
    }
    let input = input.ok_or("which image? give me a file")?;
    let data = Bytes::from(std::fs::read(&input)?);
    let terms = Terms::of(&limits, 1);
    println!("{input}: {}", plan(&data, "", &terms)?);
    let mut fitted = None;
    for _ in 0..times {
        fitted = Some(fit_image(
            &data,
            "",
            &terms,
            &Bounds::default(),
            &Stop::new(),
        )?);
    }
    if let Some(fitted) = fitted {
        if let Some(made) = &fitted.conversion {
            println!("{made}");
        }
        if let Some(output) = output {
            std::fs::write(output, &fitted.data)?;
        }
    }
    // Peak memory, on Linux.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find(|line| line.starts_with("VmHWM")) {
        println!("{peak}");
    }
    Ok(())
}
