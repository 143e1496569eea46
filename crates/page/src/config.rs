//! The running configuration, and a form that compares a candidate with it.

use maud::html;

use crate::Frame;

/// The running configuration.
#[derive(Clone, Debug, Default)]
pub struct ConfigView {
    /// The file's name.
    pub name: String,
    /// Its lines with secrets masked.
    pub lines: Vec<String>,
}

/// Renders the configuration.
pub fn config(frame: &Frame, view: &ConfigView) -> String {
    let content = html! {
        h1 { "Configuration" }
        section {
            h2 { "What runs" }
            @if view.lines.is_empty() {
                div.empty {
                    h2 { "No file" }
                    p { "The gateway runs with its defaults." }
                }
            } @else {
                p.hint {
                    code { (view.name) } ". Secrets and comments are masked. The gateway reads the \
                    file again when it changes."
                }
                div.scroll.source tabindex="0" role="region" aria-label="The running configuration" {
                    ol.lines {
                        @for line in &view.lines { li { code { (line) } } }
                    }
                }
            }
        }
        section {
            h2 { "Check a candidate" }
            p.hint {
                "Paste a file, or choose one. It is compared with what runs and then forgotten. \
                 Nothing is written here: a browser that could change where keys are sent would be \
                 one too many. Variables of the environment and other files are not read."
            }
            form #candidate method="post" action="/api/config/check" {
                label for="candidate-text" { "Candidate" }
                textarea #candidate-text name="text" rows="12" spellcheck="false" autocomplete="off" {}
                div.controls {
                    button.primary type="submit" { "Check" }
                    label for="candidate-file" { "File" }
                    input #candidate-file type="file" accept=".toml,text/plain";
                }
                noscript { p.hint { "This form needs JavaScript; " code { "majordomo check" } " does the same." } }
            }
            div #candidate-report aria-live="polite" {}
        }
    };
    frame.document("Configuration", &content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Screen;

    #[test]
    fn lines_are_text_and_without_a_file_the_page_says_so() {
        let frame = Frame::new(Screen::Configuration, "1");
        let view = ConfigView {
            name: "majordomo.toml".to_owned(),
            lines: vec!["a = \"<b>\"".to_owned()],
        };
        assert!(config(&frame, &view).contains("a = &quot;&lt;b&gt;&quot;"));
        assert!(config(&frame, &ConfigView::default()).contains("runs with its defaults"));
    }
}
