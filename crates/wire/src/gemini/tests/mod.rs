//! The dialect's behaviour, one file per direction.
