//! The configuration file: read, checked, explained, reloaded.
