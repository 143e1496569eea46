//! How one target would get a request.

use majordomo::{Change, Dialect, Preview, Request};
use majordomo_wire::{Outgoing, Protocol};

use super::TargetPlan;
use crate::state::State;

impl State {
    pub(super) fn target_plan(&self, preview: Preview) -> TargetPlan {
        let name = preview.target;
        let health = self.registry.health().snapshot();
        let mut benched = health.into_iter().filter(|status| {
            status.until_usable.is_some()
                && [name.as_str(), name.provider()].contains(&&*status.subject)
        });
        let benched = benched.next();
        let provider = self.registry.provider(name.provider()).ok();
        let unready = provider.and_then(|provider| provider.ready().err());
        let (changes, passed_over) = match preview.shaped {
            Ok(shaped) => {
                let mut changes = shaped.changes;
                changes.extend(losses(
                    preview.dialect.as_ref(),
                    &shaped.request,
                    name.model(),
                ));
                (changes, None)
            }
            Err(error) => (Vec::new(), Some(error.message().to_owned())),
        };
        TargetPlan {
            target: name.to_string(),
            dialect: preview.dialect.map(|dialect| dialect.to_string()),
            changes: changes.iter().map(Change::to_string).collect(),
            passed_over: passed_over.or(unready.map(|error| error.reason())),
            benched: benched.map(|status| status.reason.unwrap_or_default()),
        }
    }
}

/// What the target's dialect cannot say.
fn losses(dialect: Option<&Dialect>, request: &Request, model: &str) -> Vec<Change> {
    let Some(protocol) = dialect.and_then(Protocol::of) else {
        return Vec::new();
    };
    let written = protocol
        .codec()
        .write_request(request, &Outgoing::new(model));
    written.losses.into_iter().map(Change::from).collect()
}
