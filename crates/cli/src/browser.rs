//! Opens a page in the user's browser.

use std::process::{Command, Stdio};

/// The program that opens an address with the user's default application.
#[cfg(target_os = "macos")]
const OPENER: &[&str] = &["open"];
#[cfg(windows)]
const OPENER: &[&str] = &["rundll32", "url.dll,FileProtocolHandler"];
#[cfg(not(any(target_os = "macos", windows)))]
const OPENER: &[&str] = &["xdg-open"];

/// Opens an address; a machine without a browser only gets a warning.
pub(crate) fn open(url: &str) {
    let [program, arguments @ ..] = OPENER else {
        return;
    };
    let started = Command::new(program)
        .args(arguments)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        // Reaped in the background: the opener may live as long as the browser.
        Ok(mut opener) => {
            std::thread::spawn(move || opener.wait());
        }
        Err(error) => tracing::warn!(reason = %error, "cannot open a browser; open {url} yourself"),
    }
}
