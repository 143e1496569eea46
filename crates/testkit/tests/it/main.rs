//! Checks of the workspace as a whole.

mod cited_tests;
mod differences;
mod environment_variables;
mod features;
mod layout;
mod part_matches;
mod public_surface;
