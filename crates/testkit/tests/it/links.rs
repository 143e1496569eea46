//! Links between the repository's pages lead somewhere.
//!
//! Every relative link of a Markdown file names a file that exists and, after `#`, a heading
//! of it. Addresses of other sites are not checked: tests need no network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Folders that are not ours.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

fn root() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    folder.canonicalize().expect("the repository")
}

/// All Markdown files below a folder.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !path.is_symlink() && !SKIPPED.contains(&&*name) {
            pages(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

/// The lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    })
}

/// The anchor that GitHub and mdBook give a heading.
fn slug(heading: &str) -> String {
    let mut slug = String::new();
    for letter in heading.trim().chars() {
        match letter {
            ' ' => slug.push('-'),
            '-' | '_' => slug.push(letter),
            letter if letter.is_alphanumeric() => slug.extend(letter.to_lowercase()),
            _ => {}
        }
    }
    slug
}

/// A heading's text without the addresses of its links.
fn heading_text(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        text.push_str(&rest[..at]);
        rest = rest[at..].split_once(')').map_or("", |(_, rest)| rest);
    }
    text + rest
}

fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for line in prose(text) {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if !(1..=6).contains(&level) || !title.starts_with(' ') {
            continue;
        }
        let slug = slug(&heading_text(title));
        let times = seen.entry(slug.clone()).or_default();
        anchors.insert(match *times {
            0 => slug,
            n => format!("{slug}-{n}"),
        });
        *times += 1;
    }
    anchors
}

/// The addresses of a page's links and images. A link's text may span lines, its address does
/// not.
fn links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose(text) {
        let mut code = false;
        let mut rest = line;
        while let Some(at) = rest.find(['`', ']']) {
            let (here, after) = rest[at..].split_at(1);
            code ^= here == "`";
            // A link's text may end with code.
            if here == "]" && !code && after.starts_with('(') {
                let address = after[1..].split([')', ' ']).next().unwrap_or_default();
                links.push(address.to_owned());
            }
            rest = after;
        }
    }
    links
}

/// A path without `.` and `..`.
fn normalized(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

/// The problem with a link of a page, if any.
fn problem(page: &Path, link: &str, root: &Path) -> Option<String> {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match path.is_empty() {
        true => page.to_owned(),
        false => normalized(&page.parent()?.join(path)),
    };
    if !target.starts_with(root) {
        return Some("leads out of the repository".to_owned());
    }
    if !target.exists() {
        return Some("there is no such file".to_owned());
    }
    if anchor.is_empty() || target.extension().is_none_or(|end| end != "md") {
        return None;
    }
    let text = std::fs::read_to_string(&target).ok()?;
    (!anchors(&text).contains(anchor)).then(|| format!("there is no heading #{anchor}"))
}

#[test]
fn every_link_between_pages_leads_to_a_file_and_a_heading() {
    let root = root();
    let mut found = Vec::new();
    pages(&root, &mut found);
    assert!(found.len() > 50, "{} pages", found.len());
    let mut problems = Vec::new();
    let mut checked = 0;
    for page in &found {
        let text = std::fs::read_to_string(page).expect("a page");
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            if let Some(problem) = problem(page, &link, &root) {
                let name = page.strip_prefix(&root).unwrap_or(page).display();
                problems.push(format!("{name}: ({link}): {problem}"));
            }
        }
    }
    assert!(checked > 200, "{checked} links");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn links_and_headings_are_found_as_readers_see_them() {
    let text = "# A `code` title: [x](y.md)\n## Twice\n## Twice\n```sh\n# no heading\n[no](link)\n```\n\
                see [a](b.md#c), `[not](one)`, [`code`](d.md) and ![e](f.png \"title\")\n";
    let expected = ["a-code-title-x", "twice", "twice-1"].map(str::to_owned);
    assert_eq!(anchors(text), expected.into());
    assert_eq!(links(text), ["y.md", "b.md#c", "d.md", "f.png"]);
}
