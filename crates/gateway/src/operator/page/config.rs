//! The running configuration.

use majordomo_page::{ConfigView, Screen};

use super::PageContext;

pub(super) fn render(context: &PageContext<'_>) -> String {
    let source = &context.state.config().source;
    let view = ConfigView {
        name: source.name().to_owned(),
        lines: source.masked_lines(),
    };
    majordomo_page::config(&context.frame(Screen::Configuration), &view)
}
