//! The built-in provider that answers without anybody behind it.
