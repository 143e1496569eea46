//! The playground: one prompt on up to four specs, side by side.

use maud::{Markup, html};

use crate::Frame;

/// Dialects to choose from: a name for the script, and one for people.
const DIALECTS: [(&str, &str); 5] = [
    ("chat", "OpenAI Chat Completions"),
    ("responses", "OpenAI Responses"),
    ("messages", "Anthropic Messages"),
    ("gemini", "Gemini"),
    ("ollama", "Ollama"),
];

/// Languages of the equivalent code.
const LANGUAGES: [(&str, &str); 4] = [
    ("curl", "curl"),
    ("python", "Python"),
    ("typescript", "TypeScript"),
    ("rust", "Rust"),
];

/// Specs side by side.
const COLUMNS: usize = 4;

/// The data for the playground.
#[derive(Clone, Debug, Default)]
pub struct PlaygroundView {
    /// The base URL of the clients' listener, for the code.
    pub base: String,
    /// Names that can be requested.
    pub models: Vec<String>,
    /// Keys that can be charged; empty if none is needed.
    pub keys: Vec<String>,
    /// The spec of the first column.
    pub first: String,
}

/// Renders the playground.
pub fn playground(frame: &Frame, view: &PlaygroundView) -> String {
    let content = html! {
        h1 { "Playground" }
        noscript { p.hint { "The playground needs JavaScript; " code { "majordomo chat" } " does something similar." } }
        form #playground data-base=(view.base) data-keys[!view.keys.is_empty()] {
            div.controls {
                label for="dialect" { "Dialect" }
                select #dialect name="dialect" {
                    @for (value, name) in DIALECTS { option value=(value) { (name) } }
                }
                @if !view.keys.is_empty() {
                    label for="charged" { "Charged to" }
                    select #charged name="key" required {
                        option value="" { "choose a key" }
                        @for key in &view.keys { option value=(key) { (key) } }
                    }
                }
                label for="max-tokens" { "Longest answer" }
                input #max-tokens.short name="max_tokens" inputmode="numeric" value="1024";
            }
            div.prompt {
                label for="prompt" { "Prompt" }
                textarea #prompt name="prompt" rows="4" required { "Say hello in one short sentence." }
                p.hint {
                    "Images: drop or paste them here, or "
                    label for="choose-images" { "choose files" } " "
                    input #choose-images type="file" accept="image/*" multiple;
                }
                div #images.thumbnails aria-live="polite" {}
                (more())
            }
            div.controls {
                button.primary #run type="submit" { "Send" }
                button #stop type="button" hidden { "Stop" }
                button #add type="button" { "Compare with another" }
            }
            datalist #models { @for model in &view.models { option value=(model) {} } }
            div.columns { @for number in 1..=COLUMNS { (column(number, &view.first)) } }
        }
        (code())
    };
    frame.document("Playground", &content)
}

fn more() -> Markup {
    html! {
        details {
            summary { "System prompt, tools, schema" }
            label for="system" { "System prompt" }
            textarea #system name="system" rows="2" {}
            label for="tools" { "Tools, as a JSON list of name, description and parameters" }
            textarea #tools name="tools" rows="3" spellcheck="false"
                placeholder="[{\"name\": \"weather\", \"parameters\": {\"type\": \"object\", \"properties\": {\"city\": {\"type\": \"string\"}}}}]" {}
            label for="schema" { "JSON schema of the answer" }
            textarea #schema name="schema" rows="3" spellcheck="false" placeholder="{\"type\": \"object\"}" {}
        }
    }
}

fn column(number: usize, first: &str) -> Markup {
    let spec = if number == 1 { first } else { "" };
    html! {
        section.column hidden[number > 1] aria-label={ "Column " (number) } {
            label for={ "spec-" (number) } { "Spec " (number) }
            input id={ "spec-" (number) } name="spec" list="models" autocomplete="off" value=(spec);
            p.state role="status" {}
            div.answer tabindex="0" role="region" aria-label={ "Answer " (number) } {}
            p.figures.hint {}
        }
    }
}

fn code() -> Markup {
    html! {
        section #code hidden {
            h2 { "The same as code" }
            div.controls role="group" aria-label="Language" {
                @for (value, name) in LANGUAGES {
                    button type="button" data-language=(value) aria-pressed="false" { (name) }
                }
                button #copy-code type="button" data-copy="" { "Copy" }
            }
            pre tabindex="0" { code #code-text {} }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Screen;

    #[test]
    fn with_keys_one_must_be_named_and_without_keys_there_is_no_choice() {
        let frame = Frame::new(Screen::Playground, "1");
        let mut view = PlaygroundView::default();
        assert!(!playground(&frame, &view).contains("Charged to"));
        view.keys = vec!["laptop".to_owned()];
        let html = playground(&frame, &view);
        assert!(html.contains("Charged to") && html.contains(">laptop</option>"));
        assert_eq!(html.matches("class=\"column\"").count(), COLUMNS);
    }
}
