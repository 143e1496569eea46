//! The request that one target would receive.

use majordomo::chain::Preview;
use majordomo::llm::Change;

use super::TargetPlan;
use crate::state::GatewayState;

impl GatewayState {
    pub(super) fn target_plan(&self, preview: Preview) -> TargetPlan {
        let name = preview.target;
        let health = self.registry.health();
        let about = [name.provider(), name.as_str()];
        let mut known = about.iter().filter_map(|subject| health.status(subject));
        let benched = known.find(|status| status.until_usable.is_some());
        let (changes, passed_over) = match preview.shaped {
            Ok(shaped) => (shaped.changes, None),
            Err(error) => (Vec::new(), Some(error.message().to_owned())),
        };
        TargetPlan {
            target: name.to_string(),
            dialect: preview.dialect.map(|dialect| dialect.to_string()),
            changes: changes.iter().map(Change::to_string).collect(),
            passed_over,
            benched: benched.map(|status| {
                let cause = status.cause.as_ref();
                cause.map(ToString::to_string).unwrap_or_default()
            }),
        }
    }
}
