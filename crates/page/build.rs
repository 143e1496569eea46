//! Names every asset after its content and compresses it, so that the gateway serves it
//! as it is and browsers keep it for ever.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

/// The assets: a module comes after those that it imports, whose names it contains.
const ASSETS: [(&str, &str); 16] = [
    ("style.css", "text/css; charset=utf-8"),
    ("icon.svg", "image/svg+xml"),
    ("worker.js", "text/javascript; charset=utf-8"),
    ("events.js", "text/javascript; charset=utf-8"),
    ("actions.js", "text/javascript; charset=utf-8"),
    ("feed.js", "text/javascript; charset=utf-8"),
    ("explain.js", "text/javascript; charset=utf-8"),
    ("connect.js", "text/javascript; charset=utf-8"),
    ("keys.js", "text/javascript; charset=utf-8"),
    ("config.js", "text/javascript; charset=utf-8"),
    ("dialects.js", "text/javascript; charset=utf-8"),
    ("snippets.js", "text/javascript; charset=utf-8"),
    ("playground.js", "text/javascript; charset=utf-8"),
    ("again.js", "text/javascript; charset=utf-8"),
    ("zoom.js", "text/javascript; charset=utf-8"),
    ("main.js", "text/javascript; charset=utf-8"),
];

fn main() {
    println!("cargo::rerun-if-changed=assets");
    let source = Path::new("assets");
    let target = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let target = Path::new(&target);
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let mut table = String::from("[\n");
    for (name, media_type) in ASSETS {
        let mut text = fs::read_to_string(source.join(name)).expect("an asset of the list");
        for (imported, hashed) in &names {
            text = text.replace(&format!("\"./{imported}\""), &format!("\"./{hashed}\""));
        }
        let hash = blake3::hash(text.as_bytes()).to_hex();
        let (stem, ending) = name.split_once('.').expect("a name with an ending");
        let hashed = format!("{stem}.{}.{ending}", &hash[..16]);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text.as_bytes()).expect("memory");
        let gzip = encoder.finish().expect("memory");
        fs::write(target.join(name), &text).expect("OUT_DIR can be written");
        fs::write(target.join(format!("{name}.gz")), gzip).expect("OUT_DIR can be written");
        writeln!(
            table,
            "Asset {{ name: {name:?}, path: \"/assets/{hashed}\", media_type: {media_type:?}, \
             body: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}\")), \
             gzip: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.gz\")) }},"
        )
        .expect("memory");
        names.insert(name, hashed);
    }
    table.push(']');
    fs::write(target.join("assets.rs"), table).expect("OUT_DIR can be written");
}
