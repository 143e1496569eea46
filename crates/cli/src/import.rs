//! `majordomo import`: converts the configuration of another gateway.

use std::io::{Read, Write};
use std::path::Path;

use crate::error::CliError;
use crate::tool_args::ImportArgs;
use crate::{new_file, output};

/// Larger files are not read.
const MAX_BYTES: u64 = 4 << 20;

pub(crate) fn run(args: &ImportArgs) -> Result<(), CliError> {
    let name = args.file.display().to_string();
    let text = read(&args.file)?;
    let imported = majordomo_import::import(&text);
    let imported =
        imported.map_err(|error| CliError::new(format!("`{name}` cannot be imported: {error}")))?;
    match &args.output {
        Some(path) => new_file::write(path, &imported.toml, args.force)?,
        None => anstream::stdout().write_all(imported.toml.as_bytes())?,
    }
    let target = args
        .output
        .as_deref()
        .map(Path::display)
        .map(|path| path.to_string());
    let target = target.unwrap_or_else(|| "majordomo.toml".to_owned());
    output::note(&format!(
        "{name}: a configuration of {}, {}next: majordomo check --no-env --config {target}",
        imported.format.name(),
        imported.report,
    ));
    Ok(())
}

fn read(path: &Path) -> Result<String, CliError> {
    let failed = |why: String| CliError::new(format!("failed to read `{}`: {why}", path.display()));
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin()
            .lock()
            .take(MAX_BYTES + 1)
            .read_to_end(&mut bytes),
        false => std::fs::File::open(path)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)),
    };
    read.map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(format!("it has more than {MAX_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8 text".to_owned()))
}
