//! The modules of a crate, read from its files.

use std::collections::BTreeMap;
use std::path::Path;

use syn::{Attribute, Item};

/// One module, its items and its child modules, without tests.
#[derive(Default)]
pub(super) struct Module {
    pub(super) items: Vec<Item>,
    pub(super) children: BTreeMap<String, Module>,
}

impl Module {
    /// Reads `src/lib.rs` and the files of its modules.
    pub(super) fn of_library(folder: &Path) -> Self {
        let source = folder.join("src");
        Self::read(&source.join("lib.rs"), &source)
    }

    /// Reads a file whose child modules are in `folder`.
    fn read(file: &Path, folder: &Path) -> Self {
        let text =
            std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        Self::of_items(parsed.items, folder)
    }

    fn of_items(items: Vec<Item>, folder: &Path) -> Self {
        let mut module = Self::default();
        for item in items {
            if let Item::Mod(child) = &item {
                if is_omitted(&child.attrs) {
                    continue;
                }
                let name = child.ident.to_string();
                let inner = folder.join(&name);
                let read = match &child.content {
                    Some((_, items)) => Self::of_items(items.clone(), &inner),
                    None if inner.join("mod.rs").exists() => {
                        Self::read(&inner.join("mod.rs"), &inner)
                    }
                    None => Self::read(&folder.join(format!("{name}.rs")), &inner),
                };
                module.children.insert(name, read);
            }
            module.items.push(item);
        }
        module
    }

    /// The module at a path below this one.
    pub(super) fn at(&self, path: &[String]) -> Option<&Self> {
        path.iter()
            .try_fold(self, |module, name| module.children.get(name))
    }
}

/// Whether an item is only for tests or documentation builds, or hidden.
pub(super) fn is_omitted(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = super::tokens::text(attribute);
        ["#[cfg(test)]", "#[cfg(doctest)]", "#[doc(hidden)]"].contains(&text.as_str())
    })
}
