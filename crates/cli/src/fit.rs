//! `majordomo fit`: shows how an image is adapted for a target.

use std::io::Write;

use majordomo::llm::ImageLimits;
use majordomo::media::{Bounds, Fitted, Plan, Problem, Stop, Terms, fit_image, plan};
use majordomo::spec::TargetName;

use crate::args::FitArgs;
use crate::error::CliError;
use crate::setup::Setup;
use crate::{capabilities, input};

pub(crate) async fn run(args: &FitArgs) -> Result<(), CliError> {
    let (target, limits) = limits(args).await?;
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

/// The target that a name stands for, and what it accepts.
async fn limits(args: &FitArgs) -> Result<(TargetName, ImageLimits), CliError> {
    let setup = Setup::load_offline(args.config.config.as_deref())?;
    let chain = setup.chain(&args.target).await?;
    let targets: Vec<_> = chain.describe().collect();
    let [(target, takes)] = &targets[..] else {
        let names: Vec<&str> = targets.iter().map(|(name, _)| name.as_str()).collect();
        return Err(CliError::new(format!(
            "`{}` has {} targets, and an image is adapted for each: name one of {}",
            args.target,
            names.len(),
            names.join(", ")
        )));
    };
    let limits = takes.images.clone();
    let limits = limits.filter(|limits| limits.max_count != Some(0));
    let limits = limits.ok_or_else(|| {
        CliError::new(format!(
            "{target} takes no images; run `majordomo models` to find a target that does"
        ))
    })?;
    Ok(((*target).clone(), limits))
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
