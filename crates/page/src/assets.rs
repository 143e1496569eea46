//! Style, scripts and icon, embedded with content-hashed paths and compressed.

/// A file that the page needs.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Asset {
    /// Its name in the source.
    pub name: &'static str,
    /// The path at which it is served, which changes with the content.
    pub path: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// Its content.
    pub body: &'static [u8],
    /// Its content, compressed.
    pub gzip: &'static [u8],
}

static ASSETS: &[Asset] = &include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// All assets.
pub fn assets() -> &'static [Asset] {
    ASSETS
}

/// The asset that is served at a path.
pub fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

/// The path of the asset with this name.
pub(crate) fn path_of(name: &str) -> &'static str {
    let asset = ASSETS.iter().find(|asset| asset.name == name);
    asset.map_or("", |asset| asset.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_import_names_an_asset_that_is_served() {
        for module in ASSETS.iter().filter(|asset| asset.name.ends_with(".js")) {
            let text = std::str::from_utf8(module.body).unwrap();
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = line.split('"').nth(1).expect("a quoted specifier");
                let path = format!("/assets/{}", from.trim_start_matches("./"));
                assert!(asset(&path).is_some(), "{} imports {from}", module.name);
            }
        }
    }

    #[test]
    fn all_assets_together_take_less_than_150_kilobytes_on_the_wire() {
        let sum: usize = ASSETS.iter().map(|asset| asset.gzip.len()).sum();
        assert!(sum < 150_000, "{sum}");
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        for asset in ASSETS {
            let text = std::str::from_utf8(asset.body).unwrap();
            let links = text.matches("://").count();
            let namespaces = text.matches("http://www.w3.org/").count();
            assert_eq!(links, namespaces, "{}", asset.name);
        }
    }
}
