//! The public interface of the codecs.

mod scale;
