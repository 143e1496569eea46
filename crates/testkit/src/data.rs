//! What a test needs and the repository does not hold: recorded data, servers.
//!
//! A test that cannot run must not look like one that passed. Tests ask here, and
//! nowhere else, for variables that name such things; `tests/data.rs` sees to that.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// With `1`, what is missing is a failure.
const STRICT: &str = "MAJORDOMO_TEST_STRICT";
/// A file that gets a line for each test that did not run; `./test` reads it.
const SKIPS: &str = "MAJORDOMO_TEST_SKIPS";

/// The folder that a variable names. Without one the test is skipped, which is told
/// to `./test`, or fails where `MAJORDOMO_TEST_STRICT` is `1`.
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

/// The address, or the like, of something that a part of `./test` starts and names
/// in this variable. Elsewhere the test has nothing to do: the part is what is
/// counted, and skipped or not.
pub fn started(variable: &str) -> Option<String> {
    let value = std::env::var(variable).ok();
    if value.is_none() {
        eprintln!("{variable} is not set: a part of ./test of its own sets it and runs this");
    }
    value
}

fn find(variable: &str, environment: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = environment(variable).filter(|folder| !folder.is_empty());
    if let Some(folder) = folder {
        return Some(PathBuf::from(folder));
    }
    let strict = environment(STRICT).is_some_and(|strict| strict == "1");
    assert!(
        !strict,
        "{variable} is not set, and {STRICT}=1 allows no test to be skipped"
    );
    eprintln!("skipped: {variable} is not set");
    if let Some(file) = environment(SKIPS) {
        let test = std::thread::current();
        let test = test.name().unwrap_or("a test").to_owned();
        let opened = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(file);
        let mut file = opened.expect("the file of skips can be written");
        // One write, because several processes append.
        let line = format!("{test}\t{variable} is not set\n");
        file.write_all(line.as_bytes())
            .expect("the file of skips can be written");
    }
    None
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
    fn a_folder_that_is_named_is_found_strict_or_not() {
        for strict in ["0", "1"] {
            let environment = with(&[("DATA", "/somewhere"), (STRICT, strict)]);
            assert_eq!(find("DATA", environment), Some("/somewhere".into()));
        }
    }

    #[test]
    #[should_panic(expected = "DATA is not set, and MAJORDOMO_TEST_STRICT=1")]
    fn missing_data_fails_where_nothing_may_be_skipped() {
        find("DATA", with(&[(STRICT, "1")]));
    }

    #[test]
    #[should_panic(expected = "DATA is not set")]
    fn an_empty_name_is_no_folder() {
        find("DATA", with(&[("DATA", ""), (STRICT, "1")]));
    }

    #[test]
    fn a_skipped_test_is_told_by_its_name() {
        let name = format!("majordomo-skips-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let told = with(&[(SKIPS, file.to_str().expect("a name"))]);
        assert_eq!(find("DATA", &told), None);
        assert_eq!(find("OTHER", &told), None);
        let text = std::fs::read_to_string(&file).expect("lines were written");
        std::fs::remove_file(&file).expect("the file is there");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].contains("a_skipped_test_is_told_by_its_name"));
        assert!(lines[0].ends_with("\tDATA is not set"), "{text}");
    }
}
