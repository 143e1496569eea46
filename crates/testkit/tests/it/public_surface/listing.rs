//! What users of a crate can name, one item per line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::{
    Attribute, Fields, ImplItem, Item, ItemEnum, ItemImpl, ItemTrait, TraitItem, Type, UseTree,
    Visibility,
};

use super::modules::{Module, is_omitted};
use super::tokens::text;

/// Lists the public surface of the library in this folder.
pub(super) fn list(folder: &Path) -> String {
    let root = Module::of_library(folder);
    let mut listing = Listing {
        root: &root,
        lines: BTreeSet::new(),
        exports: BTreeMap::new(),
        types: BTreeMap::new(),
        visited: BTreeSet::new(),
    };
    listing.module(&[], "");
    listing.exported_items();
    listing.implementations(&root);
    listing.lines.into_iter().collect::<Vec<_>>().join("\n") + "\n"
}

struct Listing<'a> {
    root: &'a Module,
    lines: BTreeSet<String>,
    /// The public paths of items, by their modules and names.
    exports: BTreeMap<(Vec<String>, String), BTreeSet<String>>,
    /// The shortest public paths of types, by their names.
    types: BTreeMap<String, BTreeSet<String>>,
    /// The modules that were listed, with their public paths: globs may form cycles.
    visited: BTreeSet<(Vec<String>, String)>,
}

impl Listing<'_> {
    /// Lists the module at `path`, whose public name is `public`.
    fn module(&mut self, path: &[String], public: &str) {
        if !self.visited.insert((path.to_vec(), public.to_owned())) {
            return;
        }
        let Some(module) = self.root.at(path) else {
            return;
        };
        for item in &module.items {
            match item {
                Item::Mod(child) if is_public(&child.vis) && !is_omitted(&child.attrs) => {
                    let name = child.ident.to_string();
                    self.line(&child.attrs, format!("mod {public}{name}"));
                    let mut inner = path.to_vec();
                    inner.push(name.clone());
                    self.module(&inner, &format!("{public}{name}::"));
                }
                Item::Use(used) if is_public(&used.vis) && !is_omitted(&used.attrs) => {
                    for (target, name) in flatten(&used.tree, Vec::new()) {
                        self.reexport(path, target, &name, public, &used.attrs);
                    }
                }
                item => self.export(item, path, public, None),
            }
        }
    }

    /// Lists what `pub use target as name` in the module at `path` exports.
    fn reexport(
        &mut self,
        path: &[String],
        target: Vec<String>,
        name: &str,
        public: &str,
        attributes: &[Attribute],
    ) {
        let Some(inside) = self.resolve(path, &target) else {
            let from = target.join("::");
            self.line(attributes, format!("use {public}{name} = {from}"));
            return;
        };
        if name == "*" {
            self.module(&inside, public);
            return;
        }
        if self.root.at(&inside).is_some() {
            self.line(attributes, format!("mod {public}{name}"));
            self.module(&inside, &format!("{public}{name}::"));
            return;
        }
        let Some((last, parent)) = inside.split_last() else {
            return;
        };
        let Some(module) = self.root.at(parent) else {
            return;
        };
        for item in &module.items {
            if let Item::Use(used) = item {
                for (target, known) in flatten(&used.tree, Vec::new()) {
                    if known == *last {
                        self.reexport(parent, target, name, public, attributes);
                    }
                }
            } else if name_of(item).as_ref() == Some(last) {
                self.export(item, parent, public, Some(name));
            }
        }
    }

    /// The path from the crate's root, unless it leads out of the crate.
    fn resolve(&self, from: &[String], target: &[String]) -> Option<Vec<String>> {
        let mut base = from.to_vec();
        let mut rest = target;
        match rest.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                base.pop();
                rest = &rest[1..];
            }
            first => {
                let here = self.root.at(from)?;
                let known = here.children.contains_key(first)
                    || (rest.len() == 1
                        && here
                            .items
                            .iter()
                            .any(|item| name_of(item).is_some_and(|n| n == first)));
                if !known {
                    return None;
                }
            }
        }
        base.extend(rest.iter().filter(|name| *name != "*").cloned());
        Some(base)
    }

    /// Notes that users can name an item of a module, by its own or another name.
    fn export(&mut self, item: &Item, module: &[String], public: &str, renamed: Option<&str>) {
        let Some(own) = name_of(item) else { return };
        let path = format!("{public}{}", renamed.unwrap_or(&own));
        let paths = self.exports.entry((module.to_vec(), own)).or_default();
        paths.insert(path);
    }

    /// Lists each exported item under its shortest path; the others refer to it.
    fn exported_items(&mut self) {
        for ((module, own), paths) in std::mem::take(&mut self.exports) {
            let length = |path: &&String| (path.matches("::").count(), path.len());
            let Some(shortest) = paths.iter().min_by_key(length) else {
                continue;
            };
            let before = self.lines.len();
            let items = self
                .root
                .at(&module)
                .map_or(&[][..], |module| &module.items);
            for item in items {
                if name_of(item).as_ref() == Some(&own) {
                    self.item(item, &own, shortest);
                }
            }
            if self.lines.len() > before {
                for path in paths.iter().filter(|path| *path != shortest) {
                    self.lines.insert(format!("use {path} = {shortest}"));
                }
            }
        }
    }

    /// Lists a public item.
    fn item(&mut self, item: &Item, own: &str, path: &str) {
        let mut known = || {
            let paths = self.types.entry(own.to_owned()).or_default();
            paths.insert(path.to_owned());
        };
        match item {
            Item::Struct(item) if is_listed(&item.vis, &item.attrs) => {
                known();
                self.line(
                    &item.attrs,
                    format!("struct {path}{}", text(&item.generics)),
                );
                self.fields(path, &item.fields, true);
            }
            Item::Enum(item) if is_listed(&item.vis, &item.attrs) => {
                known();
                self.enumeration(path, item);
            }
            Item::Trait(item) if is_listed(&item.vis, &item.attrs) => {
                known();
                self.interface(path, item);
            }
            Item::Type(item) if is_listed(&item.vis, &item.attrs) => {
                let generics = text(&item.generics);
                self.line(
                    &item.attrs,
                    format!("type {path}{generics} = {}", text(&item.ty)),
                );
            }
            Item::Const(item) if is_listed(&item.vis, &item.attrs) => {
                self.line(&item.attrs, format!("const {path}: {}", text(&item.ty)));
            }
            Item::Static(item) if is_listed(&item.vis, &item.attrs) => {
                self.line(&item.attrs, format!("static {path}: {}", text(&item.ty)));
            }
            Item::Fn(item) if is_listed(&item.vis, &item.attrs) => {
                let signature = signature(&item.sig, path);
                self.line(&item.attrs, signature);
            }
            _ => {}
        }
    }

    fn enumeration(&mut self, path: &str, item: &ItemEnum) {
        self.line(&item.attrs, format!("enum {path}{}", text(&item.generics)));
        for variant in item.variants.iter().filter(|v| !is_omitted(&v.attrs)) {
            let path = format!("{path}::{}", variant.ident);
            self.line(&variant.attrs, format!("variant {path}"));
            self.fields(&path, &variant.fields, false);
        }
    }

    fn interface(&mut self, path: &str, item: &ItemTrait) {
        let above = text(&item.supertraits);
        let colon = if above.is_empty() { "" } else { ": " };
        let generics = text(&item.generics);
        self.line(&item.attrs, format!("trait {path}{generics}{colon}{above}"));
        for inner in &item.items {
            match inner {
                TraitItem::Fn(method) if !is_omitted(&method.attrs) => {
                    let name = format!("{path}::{}", method.sig.ident);
                    let default = match &method.default {
                        Some(_) => " (provided)",
                        None => " (required)",
                    };
                    let line = signature(&method.sig, &name) + default;
                    self.line(&method.attrs, line);
                }
                TraitItem::Type(inner) => {
                    self.line(&inner.attrs, format!("type {path}::{}", inner.ident));
                }
                TraitItem::Const(inner) => {
                    let line = format!("const {path}::{}: {}", inner.ident, text(&inner.ty));
                    self.line(&inner.attrs, line);
                }
                _ => {}
            }
        }
    }

    /// Lists public fields; those of a variant are always public.
    fn fields(&mut self, path: &str, fields: &Fields, own_visibility: bool) {
        for (at, field) in fields.iter().enumerate() {
            if (own_visibility && !is_public(&field.vis)) || is_omitted(&field.attrs) {
                continue;
            }
            let name = field.ident.as_ref();
            let name = name.map_or_else(|| at.to_string(), ToString::to_string);
            self.line(
                &field.attrs,
                format!("field {path}::{name}: {}", text(&field.ty)),
            );
        }
    }

    /// Lists the methods and traits of the public types, wherever they are implemented.
    fn implementations(&mut self, module: &Module) {
        for item in &module.items {
            if let Item::Impl(item) = item
                && !is_omitted(&item.attrs)
            {
                self.implementation(item);
            }
        }
        for child in module.children.values() {
            self.implementations(child);
        }
    }

    fn implementation(&mut self, item: &ItemImpl) {
        let Some(paths) = type_name(&item.self_ty).and_then(|name| self.types.get(&name)) else {
            return;
        };
        for path in paths.clone() {
            if let Some((_, implemented, _)) = &item.trait_ {
                let generics = text(&item.generics);
                let line = format!("impl{generics} {} for {path}", text(implemented));
                self.line(&item.attrs, line);
                continue;
            }
            for inner in &item.items {
                match inner {
                    ImplItem::Fn(method) if is_listed(&method.vis, &method.attrs) => {
                        let name = format!("{path}::{}", method.sig.ident);
                        self.line(&method.attrs, signature(&method.sig, &name));
                    }
                    ImplItem::Const(inner) if is_listed(&inner.vis, &inner.attrs) => {
                        let line = format!("const {path}::{}: {}", inner.ident, text(&inner.ty));
                        self.line(&inner.attrs, line);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Adds a line, with the attributes that matter to users after it.
    fn line(&mut self, attributes: &[Attribute], line: String) {
        let notable = attributes.iter().filter(|attribute| {
            let path = attribute.path();
            ["cfg", "derive", "non_exhaustive", "must_use", "deprecated"]
                .iter()
                .any(|name| path.is_ident(name))
        });
        let notes: String = notable.map(|known| format!(" {}", text(known))).collect();
        self.lines.insert(line + &notes);
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn is_listed(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    is_public(visibility) && !is_omitted(attributes)
}

/// A function's signature with its path instead of its name.
fn signature(signature: &syn::Signature, path: &str) -> String {
    let name = signature.ident.to_string();
    let text = text(signature);
    text.replacen(&format!("fn {name}"), &format!("fn {path}"), 1)
}

fn name_of(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Const(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Mod(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

/// The name of the type that an `impl` is for.
fn type_name(of: &Type) -> Option<String> {
    match of {
        Type::Path(path) => Some(path.path.segments.last()?.ident.to_string()),
        Type::Reference(reference) => type_name(&reference.elem),
        _ => None,
    }
}

/// The imported paths of a `use`, with the names that they get.
fn flatten(tree: &UseTree, mut before: Vec<String>) -> Vec<(Vec<String>, String)> {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before)
        }
        UseTree::Name(name) if name.ident == "self" => {
            let last = before.last().cloned().unwrap_or_default();
            vec![(before, last)]
        }
        UseTree::Name(name) => {
            before.push(name.ident.to_string());
            vec![(before, name.ident.to_string())]
        }
        UseTree::Rename(rename) => {
            before.push(rename.ident.to_string());
            vec![(before, rename.rename.to_string())]
        }
        UseTree::Glob(_) => {
            before.push("*".to_owned());
            vec![(before, "*".to_owned())]
        }
        UseTree::Group(group) => {
            let trees = group.items.iter();
            trees
                .flat_map(|tree| flatten(tree, before.clone()))
                .collect()
        }
    }
}
