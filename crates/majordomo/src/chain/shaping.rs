//! Shapes a request for one target, to send it or to preview it.

use majordomo_llm::{Change, ModelExt, Request, Result};

use super::fit_output::limit_output;
use super::{ChainConfig, ChainTarget, Shaped, TargetView, capability_check};

/// Whether shapes may call models.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ShapeMode {
    Send,
    Preview,
}

/// Runs the shapes that apply to a target and checks that the result fits it.
pub(super) async fn shape_for(
    target: &ChainTarget,
    config: &ChainConfig,
    shaped: Shaped,
    mode: ShapeMode,
) -> Result<Shaped> {
    let mut shaped = shape_capable(target, config, shaped, mode).await?;
    let left = capability_check::check_window(&shaped.request, target)?;
    limit_output(&mut shaped, &target.model().capabilities(), left);
    Ok(shaped)
}

/// Like [`shape_for`], for a request that may be too long.
pub(super) async fn shape_capable(
    target: &ChainTarget,
    config: &ChainConfig,
    mut shaped: Shaped,
    mode: ShapeMode,
) -> Result<Shaped> {
    let capabilities = target.model().capabilities();
    let dialect = target.model().dialect();
    let view = TargetView {
        name: target.name(),
        capabilities: &capabilities,
        dialect: dialect.as_ref(),
    };
    if !capabilities.structured && shaped.request.instruct_schema() {
        shaped.changes.push(Change::new("schema", "instructed"));
    }
    for shape in &config.shapes {
        if !shape.concerns(&shaped.request, view) {
            continue;
        }
        let next = match mode {
            ShapeMode::Send => shape.shape(shaped.request, view).await?,
            ShapeMode::Preview => shape.preview(shaped.request, view).await?,
        };
        shaped.request = next.request;
        shaped.changes.extend(next.changes);
    }
    capability_check::check_capabilities(&shaped.request, target, &capabilities)?;
    Ok(shaped)
}

/// The reduced request of the first shape that offers one.
pub(super) fn reduce_request(
    targets: &[ChainTarget],
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
