//! The public interface of the codecs.

mod chroma;
mod scale;
