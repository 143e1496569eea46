//! Conditions that look into a request, compiled when the configuration is loaded.
