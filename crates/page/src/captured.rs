//! The captured content of a request: its images before and after, and a form to send it
//! again.

use maud::{Markup, html};

/// A captured request.
#[derive(Clone, Debug, Default)]
pub struct CapturedView {
    /// The id, under which its content is.
    pub id: String,
    /// The dialect's path.
    pub path: String,
    /// The key that sent it, which is charged for sending it again unless another key is
    /// named.
    pub key: Option<String>,
    /// Keys that can be charged.
    pub keys: Vec<String>,
    /// Names that can be requested.
    pub models: Vec<String>,
    /// Images as the client sent them.
    pub images: Vec<ImageView>,
    /// Images as each target receives them.
    pub targets: Vec<TargetImagesView>,
    /// Why the images cannot be shown.
    pub problem: Option<String>,
    /// Whether it can be sent again: it generates, and its body is whole.
    pub repeatable: bool,
}

/// The images that a target receives.
#[derive(Clone, Debug, Default)]
pub struct TargetImagesView {
    /// The target.
    pub target: String,
    /// The changes made for it, or why it would be skipped.
    pub note: String,
    /// What it receives of each image that was sent, in order; empty if it would be skipped.
    pub images: Vec<ImageView>,
}

/// An image, or what stands for it.
#[derive(Clone, Debug, Default)]
pub struct ImageView {
    /// Where its bytes are; `None` if there are none to show.
    pub href: Option<String>,
    /// The text that a target receives instead.
    pub description: Option<String>,
    /// Type, pixels, bytes and tokens.
    pub facts: String,
}

/// The sections of the request's screen.
pub(crate) fn sections(view: &CapturedView, may_change: bool) -> Markup {
    html! {
        @if let Some(problem) = &view.problem { p.problem { (problem) } }
        @if !view.images.is_empty() {
            section #pictures {
                h2 { "Images" }
                (notes(&view.targets))
                @for (index, image) in view.images.iter().enumerate() {
                    @if view.images.len() > 1 { h3 { "Image " (index + 1) } }
                    ul.pictures {
                        (version(index, "as the client sent it", None, image))
                        @for target in &view.targets {
                            @if let Some(image) = target.images.get(index) {
                                (version(index, "for", Some(&target.target), image))
                            }
                        }
                    }
                }
            }
        }
        @if may_change && view.repeatable { (again(view)) }
    }
}

/// What was changed for each target, and which ones would be skipped.
fn notes(targets: &[TargetImagesView]) -> Markup {
    html! {
        @for target in targets.iter().filter(|target| !target.note.is_empty()) {
            p.hint { bdi { (target.target) } ": " (target.note) }
        }
    }
}

/// One form of an image: as it was sent, or as a target receives it.
fn version(index: usize, of: &str, target: Option<&String>, image: &ImageView) -> Markup {
    let alt = match target {
        Some(target) => format!("image {}, {of} {target}", index + 1),
        None => format!("image {}, {of}", index + 1),
    };
    html! {
        li {
            figure {
                figcaption { (of) @if let Some(target) = target { " " strong { bdi { (target) } } } }
                @if let Some(href) = &image.href {
                    a href=(href) data-zoom=(alt) { img src=(href) alt=(alt) loading="lazy"; }
                } @else if let Some(text) = &image.description {
                    blockquote tabindex="0" { (text) }
                }
                p.hint { (image.facts) }
            }
        }
    }
}

fn again(view: &CapturedView) -> Markup {
    html! {
        section #again-section {
            h2 { "Send again" }
            p.hint {
                "Its body was captured. It is sent again with another spec and charged to the key; \
                 both answers are shown side by side."
            }
            form #again.controls data-id=(view.id) {
                label for="again-spec" { "Spec" }
                input #again-spec name="spec" list="again-models" autocomplete="off" required;
                datalist #again-models { @for model in &view.models { option value=(model) {} } }
                label for="again-key" { "Charged to" }
                select #again-key name="key" {
                    @for key in &view.keys {
                        option value=(key) selected[view.key.as_ref() == Some(key)] { (key) }
                    }
                }
                button.primary type="submit" { "Send again" }
            }
            div #again-answers.columns hidden {
                section.column aria-label="The captured answer" {
                    p.state { "captured" }
                    div.answer tabindex="0" role="region" aria-label="The captured answer" {}
                }
                section.column aria-label="The new answer" {
                    p.state role="status" {}
                    div.answer tabindex="0" role="region" aria-label="The new answer" {}
                    p.figures.hint {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_shown_for_each_target_and_only_an_operator_sends_again() {
        let image = |href: &str| ImageView {
            href: Some(href.to_owned()),
            description: None,
            facts: "image/png, 1 × 1".to_owned(),
        };
        let view = CapturedView {
            images: vec![image("/a")],
            targets: vec![
                TargetImagesView {
                    target: "up/m".to_owned(),
                    images: vec![image("/b")],
                    ..TargetImagesView::default()
                },
                TargetImagesView {
                    target: "up/blind".to_owned(),
                    images: vec![ImageView {
                        description: Some("[image: a <b>cat</b>]".to_owned()),
                        ..ImageView::default()
                    }],
                    ..TargetImagesView::default()
                },
            ],
            repeatable: true,
            ..CapturedView::default()
        };
        let html = sections(&view, true).into_string();
        assert!(html.contains("src=\"/a\"") && html.contains("src=\"/b\""));
        assert!(html.contains("[image: a &lt;b&gt;cat&lt;/b&gt;]"), "{html}");
        assert!(html.contains("id=\"again\""));
        assert!(
            !sections(&view, false)
                .into_string()
                .contains("id=\"again\"")
        );
    }
}
