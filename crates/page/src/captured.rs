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
                h3 { "As the client sent them" }
                (pictures("sent", &view.images))
                @for target in &view.targets {
                    h3 { "For " bdi { (target.target) } }
                    @if !target.note.is_empty() { p.hint { (target.note) } }
                    (pictures(&target.target, &target.images))
                }
            }
        }
        @if may_change { (again(view)) }
    }
}

fn pictures(of: &str, images: &[ImageView]) -> Markup {
    html! {
        @if images.is_empty() { p.hint { "No image." } }
        ul.pictures {
            @for (number, image) in (1..).zip(images) {
                li {
                    figure {
                        @if let Some(href) = &image.href {
                            a href=(href) title="the image alone" {
                                img src=(href) alt=(format!("image {number}, {of}")) loading="lazy";
                            }
                        }
                        figcaption { (image.facts) }
                    }
                }
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
            facts: "image/png, 1 × 1".to_owned(),
        };
        let view = CapturedView {
            images: vec![image("/a")],
            targets: vec![TargetImagesView {
                target: "up/m".to_owned(),
                images: vec![image("/b")],
                ..TargetImagesView::default()
            }],
            ..CapturedView::default()
        };
        let html = sections(&view, true).into_string();
        assert!(html.contains("src=\"/a\"") && html.contains("src=\"/b\""));
        assert!(html.contains("id=\"again\""));
        assert!(
            !sections(&view, false)
                .into_string()
                .contains("id=\"again\"")
        );
    }
}
