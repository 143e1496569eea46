//! The playground.

use std::collections::BTreeSet;

use majordomo_page::{PlaygroundView, Screen};

use super::{PageContext, connect};
use crate::ledger_sink::now_millis;

pub(super) async fn render(context: &PageContext<'_>) -> String {
    let keys = context.server.keys();
    let now = now_millis();
    let usable = keys.all().filter(|key| key.usable(now).is_ok());
    // A key with several secrets occurs once for each.
    let names: BTreeSet<&str> = usable.map(|key| key.name()).collect();
    let models = connect::models(context).await;
    let asked = context.parameter("model");
    let view = PlaygroundView {
        base: connect::base(context),
        keys: match keys.is_keyless() {
            true => Vec::new(),
            false => names.into_iter().map(str::to_owned).collect(),
        },
        first: match asked.is_empty() {
            true => models.first().cloned().unwrap_or_default(),
            false => asked,
        },
        models,
    };
    majordomo_page::playground(&context.frame(Screen::Playground), &view)
}
