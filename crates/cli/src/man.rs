//! Man pages, which are not part of the shipped binary.
//!
//! `MAJORDOMO_MAN_PAGES=DIR cargo test -p majordomo-cli --bin majordomo man_pages` writes
//! them.

use std::path::PathBuf;

use crate::args;

#[test]
fn man_pages_of_all_commands_are_written_and_render() {
    let temporary = tempfile::tempdir().expect("a folder");
    let given = std::env::var_os("MAJORDOMO_MAN_PAGES").map(PathBuf::from);
    let folder = given.unwrap_or_else(|| temporary.path().to_owned());
    std::fs::create_dir_all(&folder).expect("a folder");
    clap_mangen::generate_to(args::command(), &folder).expect("pages");
    let pages = majordomo_testkit::files(&folder);
    let names: Vec<String> = pages
        .iter()
        .filter_map(|page| Some(page.file_name()?.to_str()?.to_owned()))
        .collect();
    let mut commands = args::command();
    commands.build();
    for command in commands.get_subcommands().filter(|it| !it.is_hide_set()) {
        let page = format!("majordomo-{}.1", command.get_name());
        assert!(
            names.contains(&page) || command.get_name() == "help",
            "{page}: {names:?}"
        );
    }
    if !majordomo_testkit::installed("groff") {
        return;
    }
    for page in &pages {
        let render = std::process::Command::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-z"])
            .arg(page)
            .output()
            .expect("groff runs");
        let complaints = String::from_utf8_lossy(&render.stderr);
        assert!(
            render.status.success() && complaints.is_empty(),
            "{}: {complaints}",
            page.display()
        );
    }
}
