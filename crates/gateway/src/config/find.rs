//! Locates the configuration file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Default file name.
const NAME: &str = "majordomo.toml";

/// Returns the file to load: `given`, `$MAJORDOMO_CONFIG`, `majordomo.toml` in the
/// working directory, or the one in the user's configuration directory. An explicitly
/// named file is returned whether or not it exists; `None` means that there is no
/// configuration.
pub fn find_config(
    given: Option<&Path>,
    environment: &BTreeMap<String, String>,
) -> Option<PathBuf> {
    let named = environment
        .get("MAJORDOMO_CONFIG")
        .filter(|path| !path.is_empty());
    if let Some(path) = given.map(Path::to_path_buf).or(named.map(PathBuf::from)) {
        return Some(path);
    }
    let own = user_folder(environment).map(|folder| folder.join("majordomo").join(NAME));
    [Some(PathBuf::from(NAME)), own]
        .into_iter()
        .flatten()
        .find(|path| path.exists())
}

/// The user's configuration directory.
fn user_folder(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let set = |name: &str| {
        environment
            .get(name)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
    };
    let absolute = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    absolute
        .or_else(|| set("APPDATA").filter(|_| cfg!(windows)))
        .or_else(|| set("HOME").map(|home| home.join(".config")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_given_path_takes_precedence_over_the_variable() {
        let environment = BTreeMap::from([("MAJORDOMO_CONFIG".to_owned(), "b.toml".to_owned())]);
        assert_eq!(
            find_config(Some(Path::new("a.toml")), &environment),
            Some("a.toml".into())
        );
        assert_eq!(find_config(None, &environment), Some("b.toml".into()));
    }

    #[test]
    fn the_user_directory_is_searched_last() {
        let home = tempfile::tempdir().unwrap();
        let set = |name: &str, path: &Path| {
            BTreeMap::from([(name.to_owned(), path.to_str().unwrap().to_owned())])
        };
        assert_eq!(find_config(None, &set("HOME", home.path())), None);
        let folder = home.path().join(".config/majordomo");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(NAME), "").unwrap();
        assert_eq!(
            find_config(None, &set("HOME", home.path())),
            Some(folder.join(NAME))
        );
        let xdg = set("XDG_CONFIG_HOME", &home.path().join(".config"));
        assert_eq!(find_config(None, &xdg), Some(folder.join(NAME)));
    }
}
