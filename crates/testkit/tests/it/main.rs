//! Checks of the workspace as a whole.

mod cited_tests;
mod differences;
mod environment_variables;
mod fault_proxy;
mod features;
mod layout;
mod links;
mod manifests;
mod part_matches;
mod part_selections;
mod public_surface;
