//! `[[teams]]`: keys that share limits and are reported together.

use std::collections::HashSet;

use super::limits::read_policy;
use super::reader::Section;
use crate::keys::TeamEntry;

pub(super) fn read_teams(sections: Vec<Section<'_>>) -> Vec<TeamEntry> {
    let mut entries = Vec::new();
    let mut names = HashSet::new();
    for mut section in sections {
        let reader = section.reader;
        let span = section.span.clone();
        let name = section.require("name", "name the team: `name = \"search\"`");
        let name = name.and_then(|field| field.non_empty());
        let limits = read_policy(&mut section);
        section.finish();
        let Some(name) = name else {
            continue;
        };
        if !names.insert(name.value.clone()) {
            let message = format!("duplicate team {}", name.shown());
            reader.report(name.span, message, "give each team a unique name");
            continue;
        }
        entries.push(TeamEntry {
            name: name.value,
            limits: limits.into(),
            span,
        });
    }
    entries
}
