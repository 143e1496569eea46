//! A request made to fit one target, in earnest or for a preview.

use majordomo_agent::schema_to_instructions;
use majordomo_llm::{Change, Request, Result};

use super::{ChainConfig, Shaped, Target, TargetView, fit};

/// Whether somebody may be asked on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Earnest {
    Yes,
    No,
}

/// Runs the shapes that concern a target and checks what is left.
pub(super) async fn shape_for(
    target: &Target,
    config: &ChainConfig,
    mut shaped: Shaped,
    earnest: Earnest,
) -> Result<Shaped> {
    let capabilities = target.model().capabilities();
    let dialect = target.model().dialect();
    let view = TargetView {
        name: target.name(),
        capabilities: &capabilities,
        dialect: dialect.as_ref(),
    };
    if !capabilities.structured && schema_to_instructions(&mut shaped.request) {
        shaped.changes.push(Change::new("schema", "instructed"));
    }
    for shape in &config.shapes {
        if !shape.concerns(&shaped.request, view) {
            continue;
        }
        let next = match earnest {
            Earnest::Yes => shape.shape(shaped.request, view).await?,
            Earnest::No => shape.preview(shaped.request, view).await?,
        };
        shaped.request = next.request;
        shaped.changes.extend(next.changes);
    }
    fit::check(&shaped.request, target, &capabilities)?;
    Ok(shaped)
}

/// A lesser request that somebody may take, where a shape knows one.
pub(super) fn reduced(
    targets: &[Target],
    config: &ChainConfig,
    request: &Request,
) -> Option<Shaped> {
    let known: Vec<_> = targets
        .iter()
        .map(|target| (target.model().capabilities(), target.model().dialect()))
        .collect();
    let views: Vec<_> = targets
        .iter()
        .zip(&known)
        .map(|(target, (capabilities, dialect))| TargetView {
            name: target.name(),
            capabilities,
            dialect: dialect.as_ref(),
        })
        .collect();
    let mut shapes = config.shapes.iter();
    shapes.find_map(|shape| shape.reduce(request, &views))
}
