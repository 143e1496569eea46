//! A page with a single message, such as an error.

use maud::html;

use crate::Frame;

/// Renders a heading and a sentence.
pub fn message(frame: &Frame, heading: &str, text: &str) -> String {
    let content = html! {
        section.message {
            h1 { (heading) }
            p { (text) }
            p { a href="/" { "Back to the live feed" } }
        }
    };
    frame.document(heading, &content)
}
