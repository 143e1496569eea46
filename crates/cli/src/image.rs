//! `majordomo image`: generates or edits images through a chain.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use majordomo::llm::ImagePrompt;
use majordomo::{ImageRequest, ImageResponse};

use crate::error::CliError;
use crate::image_args::ImageArgs;
use crate::setup::Setup;
use crate::{input, output};

pub(crate) async fn run(args: ImageArgs) -> Result<(), CliError> {
    let request = request(&args)?;
    check_output(&args)?;
    let setup = Setup::load(args.config.config.as_deref())?;
    let chain = setup.chain(&args.spec).await?;
    let response = chain.generate_images(request).await?;
    for attempt in &response.attempt_log.attempts {
        output::note(&attempt.to_string());
    }
    let changes = response.attempt_log.changes();
    for change in changes {
        let detail = match change.detail.is_empty() {
            true => String::new(),
            false => format!(" ({})", change.detail),
        };
        output::note(&format!("{change}{detail}"));
    }
    write(&args, &response)
}

/// Checks whether the files can be written, before any cost arises.
fn check_output(args: &ImageArgs) -> Result<(), CliError> {
    let folder = args.output.parent().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() && !folder.is_dir() {
        let text = format!("`{}` is not a folder", folder.display());
        return Err(CliError::new(text));
    }
    if args.force {
        return Ok(());
    }
    let count = args.count();
    let mut paths = (1..=count).map(|number| numbered(&args.output, number, count));
    match paths.find(|path| path.exists()) {
        Some(path) => Err(exists(&path)),
        None => Ok(()),
    }
}

fn request(args: &ImageArgs) -> Result<ImageRequest, CliError> {
    let mut prompt = ImageRequest::new(&*args.prompt);
    let settings: &mut ImagePrompt = prompt.edit();
    settings.n = args.n.and_then(NonZeroU32::new);
    settings.size = args.size;
    settings.seed = args.seed;
    settings.steps = args.steps;
    settings.guidance = args.guidance;
    settings.negative_prompt.clone_from(&args.negative);
    settings.sampler.clone_from(&args.sampler);
    for path in &args.images {
        settings.images.push(input::image(path)?);
    }
    Ok(prompt)
}

fn write(args: &ImageArgs, response: &ImageResponse) -> Result<(), CliError> {
    let mut stdout = anstream::stdout().lock();
    let count = response.images.len();
    // A target may return fewer than the names that were checked.
    let names = count.max(args.count());
    for (number, image) in (1..).zip(&response.images) {
        let path = numbered(&args.output, number, names);
        let mut options = OpenOptions::new();
        options.write(true);
        match args.force {
            true => options.create(true).truncate(true),
            false => options.create_new(true),
        };
        let file = options.open(&path);
        let written = file.and_then(|mut file| file.write_all(&image.data));
        written.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => exists(&path),
            _ => CliError::new(format!("failed to write `{}`: {error}", path.display())),
        })?;
        let size = image.data.header().map_or_else(
            |_| String::new(),
            |header| format!(", {}x{}", header.width, header.height),
        );
        let path = path.display();
        writeln!(stdout, "wrote {path} ({}{size})", image.media_type)?;
    }
    for remote in &response.remote {
        writeln!(stdout, "{}", remote.url)?;
    }
    match (count, response.remote.len()) {
        (0, 1..) => Err(CliError::new(
            "the provider returned URLs, which are not fetched; download them from the addresses above",
        )),
        _ => Ok(()),
    }
}

/// The file name of one of several images: `apple-2.png`.
fn numbered(path: &Path, number: usize, count: usize) -> PathBuf {
    if count <= 1 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(ending) => format!("{stem}-{number}.{}", ending.to_string_lossy()),
        None => format!("{stem}-{number}"),
    };
    path.with_file_name(name)
}

fn exists(path: &Path) -> CliError {
    CliError::new(format!(
        "`{}` exists; give another name, or --force to overwrite it",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_images_are_numbered_before_the_ending() {
        let of = |path: &str, count| numbered(Path::new(path), 2, count);
        assert_eq!(of("a/apple.png", 1), Path::new("a/apple.png"));
        assert_eq!(of("a/apple.png", 3), Path::new("a/apple-2.png"));
        assert_eq!(of("apple", 3), Path::new("apple-2"));
        assert_eq!(of("a.b/c.d.png", 3), Path::new("a.b/c.d-2.png"));
    }
}
