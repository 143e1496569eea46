//! Permissions of files with secrets, and the ledger.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use majordomo_gateway::ledger::{StorePlace, StoreSchema};
use majordomo_gateway::{Config, find_config};

use super::finding::Findings;
use crate::tool_args::DoctorArgs;

/// Whether other users can read a file; `None` on systems without such permissions.
#[cfg(unix)]
fn others_read(path: &Path) -> Option<bool> {
    use std::os::unix::fs::PermissionsExt;
    let about = std::fs::metadata(path);
    Some(about.is_ok_and(|about| about.permissions().mode() & 0o004 != 0))
}

#[cfg(not(unix))]
fn others_read(_path: &Path) -> Option<bool> {
    None
}

pub(super) fn permissions(
    args: &DoctorArgs,
    config: &Config,
    environment: &BTreeMap<String, String>,
    findings: &mut Findings,
) {
    let file = find_config(args.config.config.as_deref(), environment);
    let file = file.filter(|_| config.source.holds_secrets());
    let tls = config.server.tls.as_ref().map(|tls| tls.key.clone());
    for path in file.into_iter().chain(tls) {
        let shown = path.display();
        match others_read(&path) {
            None => findings.skip(
                "permissions",
                format!("{shown} holds a secret; who can read it is not checked on this system"),
            ),
            Some(true) => findings.warn(
                "permissions",
                format!("{shown} holds a secret and every user of this machine can read it"),
                format!("chmod o-r {shown}, or keep keys in variables: `${{NAME}}`"),
            ),
            Some(false) => findings.ok("permissions", format!("{shown} is closed to other users")),
        }
    }
}

/// Whether requests can be recorded.
pub(super) fn ledger(place: Option<StorePlace>) -> Findings {
    const SUBJECT: &str = "ledger";
    let mut findings = Findings::default();
    let Some(place) = place else {
        findings.warn(
            SUBJECT,
            "requests are not recorded",
            "set `store` in [ledger], or HOME for the default folder",
        );
        return findings;
    };
    if let StorePlace::Folder(folder) = &place
        && !folder.exists()
    {
        match writable(existing(folder)) {
            Ok(()) => findings.ok(SUBJECT, format!("{} will be created", folder.display())),
            Err(error) => findings.broken(
                SUBJECT,
                format!("{} cannot be created: {error}", folder.display()),
                "make a folder above it writable, or set `store` in [ledger]",
            ),
        }
        return findings;
    }
    if let StorePlace::Folder(folder) = &place
        && let Err(error) = writable(folder)
    {
        findings.broken(
            SUBJECT,
            format!("{} cannot be written: {error}", folder.display()),
            "make it writable for the user who runs majordomo, or set `store` in [ledger]",
        );
        return findings;
    }
    // Opening it would migrate it, under a gateway of an older version as well.
    match place.schema() {
        Ok(StoreSchema::Older) => findings.ok(
            SUBJECT,
            format!("{place} is of an older version; the next start migrates it"),
        ),
        Ok(StoreSchema::Missing) => findings.ok(SUBJECT, format!("{place} will be filled")),
        Ok(_) => findings.ok(SUBJECT, format!("{place} matches this version")),
        Err(error) => findings.broken(
            SUBJECT,
            format!("{place}: {error}"),
            "a newer majordomo may have written it; `majordomo ledger verify` has details",
        ),
    }
    findings
}

/// The nearest folder that exists.
fn existing(folder: &Path) -> &Path {
    folder
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(folder)
}

/// Creates a file and removes it.
fn writable(folder: &Path) -> std::io::Result<()> {
    let probe: PathBuf = folder.join(format!(".majordomo-doctor-{}", std::process::id()));
    std::fs::File::create_new(&probe)?;
    std::fs::remove_file(&probe)
}
