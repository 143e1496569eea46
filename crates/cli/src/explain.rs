//! `majordomo explain`: the flat chain of a spec.

use majordomo::{HealthStatus, Registry, TargetName};

use crate::args::Explain;
use crate::failure::Failure;
use crate::{paint, takes};

pub(crate) fn run(args: &Explain) -> Result<(), Failure> {
    let registry = Registry::from_env();
    // Either this or a request is there.
    let chain = registry.parse(args.spec.as_deref().unwrap_or_default())?;
    let health = registry.health().snapshot();
    let rows: Vec<[String; 7]> = chain
        .describe()
        .enumerate()
        .map(|(at, (name, takes))| {
            let [images, tools, schemas, context] = takes::cells(&takes);
            [
                (at + 1).to_string(),
                name.to_string(),
                images,
                tools,
                schemas,
                context,
                state(&registry, &health, name),
            ]
        })
        .collect();
    let [images, tools, schemas, context] = takes::HEADINGS;
    paint::table(
        ["#", "TARGET", images, tools, schemas, context, "HEALTH"],
        &rows,
    )
}

/// Whether a target would be asked, and if not, why not.
fn state(registry: &Registry, health: &[HealthStatus], name: &TargetName) -> String {
    if let Ok(provider) = registry.provider(name.provider())
        && let Err(error) = provider.ready()
    {
        return error.reason();
    }
    let concerns = |status: &&HealthStatus| {
        status.until_usable.is_some()
            && [name.as_str(), name.provider()].contains(&status.subject.as_str())
    };
    match health.iter().find(concerns) {
        Some(benched) => match &benched.cause {
            Some(cause) => format!("benched: {cause}"),
            None => "benched".to_owned(),
        },
        None => "ready".to_owned(),
    }
}
