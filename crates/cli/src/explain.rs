//! `majordomo explain`: the targets of a spec.

use majordomo::Registry;
use majordomo::health::HealthStatus;
use majordomo::spec::TargetName;

use crate::args::ExplainArgs;
use crate::error::CliError;
use crate::setup::Setup;
use crate::{capabilities, output};

pub(crate) async fn run(args: &ExplainArgs) -> Result<(), CliError> {
    let setup = Setup::load_offline(args.config.config.as_deref())?;
    // clap requires either a spec or a request.
    let chain = setup
        .chain(args.spec.as_deref().unwrap_or_default())
        .await?;
    let registry = setup.state.registry();
    let health = registry.health().snapshot();
    let rows: Vec<[String; 7]> = chain
        .describe()
        .enumerate()
        .map(|(at, (name, takes))| {
            let [images, tools, schemas, context] = capabilities::cells(&takes);
            [
                (at + 1).to_string(),
                name.to_string(),
                images,
                tools,
                schemas,
                context,
                target_state(registry, &health, name),
            ]
        })
        .collect();
    let [images, tools, schemas, context] = capabilities::HEADINGS;
    output::table(
        ["#", "TARGET", images, tools, schemas, context, "HEALTH"],
        &rows,
    )
}

/// Whether a target is ready, or why it is not.
fn target_state(registry: &Registry, health: &[HealthStatus], name: &TargetName) -> String {
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
