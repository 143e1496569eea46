//! `majordomo fit`: shows how an image is adapted for a target.

use std::io::Write;

use majordomo::llm::ImageLimits;
use majordomo::media::{Bounds, Fitted, Plan, Problem, Stop, Terms, fit_image, plan};
use majordomo::spec::TargetName;

use crate::args::FitArgs;
use crate::error::CliError;
use crate::setup::Setup;
use crate::{capabilities, input};

pub(crate) fn run(args: &FitArgs) -> Result<(), CliError> {
    let target: TargetName = args.target.parse()?;
    let limits = limits(args, &target)?;
    let image = input::image(&args.image)?;
    let refused = |problem: Problem| {
        let path = args.image.display();
        CliError::new(format!("cannot send `{path}` to {target}: {problem}"))
    };
    let terms = Terms::of(&limits, 1);
    let plan = plan(&image.data, &image.media_type, &terms).map_err(refused)?;
    let fitted = fit_image(
        &image.data,
        &image.media_type,
        &terms,
        &Bounds::default(),
        &Stop::new(),
    )
    .map_err(refused)?;
    print(&target, &limits, &plan, &fitted)?;
    if let Some(path) = &args.output {
        let written = std::fs::write(path, &fitted.data);
        let path = path.display();
        written.map_err(|error| CliError::new(format!("failed to write `{path}`: {error}")))?;
        writeln!(anstream::stdout(), "wrote {path}")?;
    }
    Ok(())
}

fn limits(args: &FitArgs, target: &TargetName) -> Result<ImageLimits, CliError> {
    let setup = Setup::load_offline(args.config.config.as_deref())?;
    let provider = setup.state.registry().provider(target.provider())?;
    let takes = provider.model(target.model())?.capabilities();
    let limits = takes.images.clone();
    limits
        .filter(|limits| limits.max_count != Some(0))
        .ok_or_else(|| {
            CliError::new(format!(
                "{target} takes no images; run `majordomo models` to find a target that does"
            ))
        })
}

fn print(
    target: &TargetName,
    limits: &ImageLimits,
    plan: &Plan,
    fitted: &Fitted,
) -> Result<(), CliError> {
    let mut stdout = anstream::stdout().lock();
    writeln!(stdout, "{target} takes {}", capabilities::images(limits))?;
    writeln!(stdout, "{plan}")?;
    if let Some(made) = &fitted.conversion {
        writeln!(stdout, "{made}")?;
    }
    Ok(())
}
