//! The frame of all screens: head, navigation, notices, sign-out.

use maud::{DOCTYPE, Markup, html};

use crate::assets::path_of;
use crate::bidi;

/// A screen of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Screen {
    /// The live feed.
    Now,
    /// One request.
    Request,
    /// Providers and models.
    Targets,
    /// Routes with their rules and services.
    Routes,
    /// Usage, cost and budgets.
    Usage,
    /// Keys and teams.
    Keys,
    /// Specs side by side.
    Playground,
    /// The configuration.
    Configuration,
    /// Instructions for clients.
    Connect,
    /// Any other page: errors, signing in.
    Other,
}

/// The screens in the navigation, and whether they need the role `operator`.
const NAVIGATION: [(Screen, &str, &str, bool); 8] = [
    (Screen::Now, "/", "Now", false),
    (Screen::Targets, "/targets", "Targets", true),
    (Screen::Routes, "/routes", "Routes", true),
    (Screen::Playground, "/playground", "Playground", true),
    (Screen::Usage, "/usage", "Usage", false),
    (Screen::Keys, "/keys", "Keys", true),
    (Screen::Configuration, "/config", "Configuration", true),
    (Screen::Connect, "/connect", "Connect", false),
];

/// The viewer of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Viewer {
    /// The name of the key that signed in; `None` where no key is needed.
    pub key: Option<String>,
    /// Whether the viewer may change anything.
    pub may_change: bool,
    /// Proves that a change comes from this page; sent with every change.
    pub token: Option<String>,
}

impl Viewer {
    /// A viewer on this machine, who needs no key.
    pub fn local() -> Self {
        Self {
            key: None,
            may_change: true,
            token: None,
        }
    }

    /// A viewer who signed in with a key.
    pub fn signed_in(key: impl Into<String>, may_change: bool, token: impl Into<String>) -> Self {
        Self {
            key: Some(key.into()),
            may_change,
            token: Some(token.into()),
        }
    }
}

/// The frame around a screen.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Frame {
    /// The screen.
    pub screen: Screen,
    /// The gateway's version.
    pub version: String,
    /// The viewer.
    pub viewer: Viewer,
    /// Notices on every screen, such as a stale configuration.
    pub notices: Vec<String>,
    /// Whether requests of any key are captured; `None` for a visitor who may not know.
    pub captures: Option<bool>,
}

impl Frame {
    /// A frame without notices, for a local viewer.
    pub fn new(screen: Screen, version: impl Into<String>) -> Self {
        Self {
            screen,
            version: version.into(),
            viewer: Viewer::local(),
            notices: Vec::new(),
            captures: None,
        }
    }

    /// The same for this viewer.
    #[must_use]
    pub fn seen_by(mut self, viewer: Viewer) -> Self {
        self.viewer = viewer;
        self
    }

    /// The same with these notices.
    #[must_use]
    pub fn with_notices(mut self, notices: Vec<String>) -> Self {
        self.notices = notices;
        self
    }

    /// The same, stating whether requests are captured.
    #[must_use]
    pub fn capturing(mut self, captures: bool) -> Self {
        self.captures = Some(captures);
        self
    }

    /// The whole document.
    pub(crate) fn document(&self, title: &str, content: &Markup) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " · majordomo" }
                    link rel="icon" type="image/svg+xml" href=(path_of("icon.svg"));
                    link rel="stylesheet" href=(path_of("style.css"));
                    script type="module" src=(path_of("main.js")) {}
                }
                body data-worker=(path_of("worker.js")) data-token=[self.viewer.token.as_deref()] {
                    a.skip href="#content" { "Skip to the content" }
                    header.top {
                        a.brand href="/" {
                            img src=(path_of("icon.svg")) alt="" width="20" height="20";
                            "majordomo"
                        }
                        @if self.screen != Screen::Other || self.viewer.key.is_some() {
                            nav aria-label="Screens" { (self.navigation()) }
                        }
                        (self.account())
                    }
                    @for notice in &self.notices {
                        p.notice role="status" { (notice) }
                    }
                    main #content tabindex="-1" { (content) }
                    footer {
                        "majordomo " (self.version)
                        @match self.captures {
                            None => "",
                            Some(false) => " · capture is off",
                            Some(true) => { " · " span.recording { "capture is on for some keys" } },
                        }
                    }
                    p #toast.toast role="status" aria-live="polite" {}
                }
            }
        };
        bidi::visible(page.into_string())
    }

    fn navigation(&self) -> Markup {
        let shown = NAVIGATION.iter().filter(|(_, _, _, operator)| {
            // Offer only screens that the viewer may open.
            !operator || self.viewer.may_change
        });
        html! {
            ul {
                @for (screen, path, name, _) in shown {
                    li {
                        a href=(path) aria-current=[(*screen == self.screen).then_some("page")] {
                            (name)
                        }
                    }
                }
            }
        }
    }

    fn account(&self) -> Markup {
        html! {
            @if let Some(key) = &self.viewer.key {
                p.account {
                    span { (key) @if !self.viewer.may_change { " (viewer)" } }
                    a href="/sign-out" { "Sign out" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_escaped() {
        let hostile = "<script>alert(1)</script>\"'";
        let viewer = Viewer::signed_in(hostile, true, hostile);
        let frame = Frame::new(Screen::Now, hostile)
            .seen_by(viewer)
            .with_notices(vec![hostile.to_owned()]);
        let page = frame.document(hostile, &html! { (hostile) });
        assert!(!page.contains("<script>alert"), "{page}");
        assert_eq!(page.matches("&lt;script&gt;alert").count(), 6, "{page}");
    }

    #[test]
    fn no_element_has_inline_style_or_code() {
        let page = Frame::new(Screen::Now, "1").document("t", &html! {});
        assert!(!page.contains(" style="), "{page}");
        assert!(!page.contains(" on"), "{page}");
    }
}
