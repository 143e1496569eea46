//! Test dependencies outside the repository: recorded data and servers.
//!
//! A test that cannot run must not look like one that passed. Only this module reads the
//! variables that name such dependencies; `tests/it/environment_variables.rs` checks that.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// With `1`, missing data is a failure.
const STRICT: &str = "MAJORDOMO_TEST_STRICT";
/// A file that receives a line for each skipped test; `./test` reads it.
const SKIPS: &str = "MAJORDOMO_TEST_SKIPS";

/// The folder named by a variable. Without it the test is skipped, which is reported to
/// `./test`, or fails if `MAJORDOMO_TEST_STRICT` is `1`.
///
/// ```no_run
/// # fn test() {
/// let Some(folder) = majordomo_testkit::data("MAJORDOMO_RECORDINGS") else {
///     return;
/// };
/// assert!(folder.is_dir());
/// # }
/// ```
pub fn data(variable: &str) -> Option<PathBuf> {
    find(variable, |name| std::env::var_os(name))
}

/// The address of a server that a part of `./test` starts and names in this variable.
/// Elsewhere the test does nothing, because the part as a whole is counted as run or skipped.
pub fn started(variable: &str) -> Option<String> {
    let value = std::env::var(variable).ok();
    if value.is_none() {
        eprintln!("{variable} is not set: a separate part of ./test sets it and runs this test");
    }
    value
}

/// Whether a program is in `PATH`. Without it the test is skipped, as by [`data`].
pub fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !found {
        skip(&format!("{program} is not installed"), |name| {
            std::env::var_os(name)
        });
    }
    found
}

fn find(variable: &str, environment: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = environment(variable).filter(|folder| !folder.is_empty());
    if let Some(folder) = folder {
        return Some(PathBuf::from(folder));
    }
    skip(&format!("{variable} is not set"), environment);
    None
}

/// Records that the current test is skipped, or fails it in strict mode.
fn skip(why: &str, environment: impl Fn(&str) -> Option<OsString>) {
    let strict = environment(STRICT).is_some_and(|strict| strict == "1");
    assert!(
        !strict,
        "{why}, and {STRICT}=1 allows no test to be skipped"
    );
    eprintln!("skipped: {why}");
    if let Some(file) = environment(SKIPS) {
        let test = std::thread::current();
        let test = test.name().unwrap_or("a test").to_owned();
        let opened = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(file);
        let mut file = opened.expect("the skip list is writable");
        // A single write, because several processes append.
        let line = format!("{test}\t{why}\n");
        file.write_all(line.as_bytes())
            .expect("the skip list is writable");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + use<> {
        let pairs: Vec<(String, OsString)> = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), OsString::from(value)))
            .collect();
        move |name| {
            let found = pairs.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        }
    }

    #[test]
    fn a_named_folder_is_found_strict_or_not() {
        for strict in ["0", "1"] {
            let environment = with(&[("DATA", "/somewhere"), (STRICT, strict)]);
            assert_eq!(find("DATA", environment), Some("/somewhere".into()));
        }
    }

    #[test]
    #[should_panic(expected = "DATA is not set, and MAJORDOMO_TEST_STRICT=1")]
    fn missing_data_fails_in_strict_mode() {
        find("DATA", with(&[(STRICT, "1")]));
    }

    #[test]
    #[should_panic(expected = "DATA is not set")]
    fn an_empty_variable_names_no_folder() {
        find("DATA", with(&[("DATA", ""), (STRICT, "1")]));
    }

    #[test]
    fn a_skipped_test_is_listed_by_name() {
        let name = format!("majordomo-skips-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let environment = with(&[(SKIPS, file.to_str().expect("a name"))]);
        assert_eq!(find("DATA", &environment), None);
        assert_eq!(find("OTHER", &environment), None);
        let text = std::fs::read_to_string(&file).expect("lines were written");
        std::fs::remove_file(&file).expect("the file exists");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].contains("a_skipped_test_is_listed_by_name"));
        assert!(lines[0].ends_with("\tDATA is not set"), "{text}");
    }
}
