//! Signing in with a key, and signing out.

use maud::html;

use crate::Frame;

/// Renders the form. `problem` is the reason for which the last attempt failed; `back` is the
/// screen to return to, a path of this page.
pub fn sign_in(frame: &Frame, problem: Option<&str>, back: &str) -> String {
    let content = html! {
        section.message {
            h1 { "Sign in" }
            p {
                "Paste a key whose role is " code { "viewer" } " or " code { "operator" } ". "
                code { "majordomo key new NAME --role operator" } " creates one."
            }
            @if let Some(problem) = problem {
                p.problem role="alert" { (problem) }
            }
            form.sign-in method="post" action="/sign-in" {
                input type="hidden" name="back" value=(back);
                label for="key" { "Key" }
                input #key name="key" type="password" required autocomplete="current-password"
                    autofocus;
                button.primary type="submit" { "Sign in" }
            }
        }
    };
    frame.document("Sign in", &content)
}

/// Renders the form that ends a session. `token` proves that it comes from this page.
pub fn sign_out(frame: &Frame, token: &str) -> String {
    let content = html! {
        section.message {
            h1 { "Sign out" }
            form.sign-in method="post" action="/sign-out" {
                input type="hidden" name="token" value=(token);
                button.primary type="submit" { "Sign out" }
            }
        }
    };
    frame.document("Sign out", &content)
}
