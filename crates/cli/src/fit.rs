//! `majordomo fit`: what an image becomes on its way to a target.

use std::io::Write;

use majordomo::media::{Bounds, Fitted, Plan, Problem, Stop, Terms, fit_image, plan};
use majordomo::{ImageLimits, Registry, TargetName};

use crate::args::Fit;
use crate::failure::Failure;
use crate::{input, takes};

pub(crate) fn run(args: &Fit) -> Result<(), Failure> {
    let target: TargetName = args.target.parse()?;
    let limits = limits(&target)?;
    let image = input::image(&args.image)?;
    let refused = |problem: Problem| {
        let path = args.image.display();
        Failure::new(format!("`{path}` cannot be sent to {target}: {problem}"))
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
    tell(&target, &limits, &plan, &fitted)?;
    if let Some(path) = &args.output {
        let written = std::fs::write(path, &fitted.data);
        let path = path.display();
        written.map_err(|error| Failure::new(format!("`{path}` cannot be written: {error}")))?;
        writeln!(anstream::stdout(), "written to {path}")?;
    }
    Ok(())
}

fn limits(target: &TargetName) -> Result<ImageLimits, Failure> {
    let provider = Registry::from_env().provider(target.provider())?;
    let takes = provider.model(target.model())?.capabilities();
    let limits = takes.images.clone();
    limits
        .filter(|limits| limits.max_count != Some(0))
        .ok_or_else(|| {
            Failure::new(format!(
                "{target} takes no images; choose a target that does, `majordomo models` says which"
            ))
        })
}

fn tell(
    target: &TargetName,
    limits: &ImageLimits,
    plan: &Plan,
    fitted: &Fitted,
) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    writeln!(stdout, "{target} takes {}", takes::images(limits))?;
    writeln!(stdout, "{plan}")?;
    if let Some(made) = &fitted.conversion {
        writeln!(stdout, "{made}")?;
    }
    Ok(())
}
