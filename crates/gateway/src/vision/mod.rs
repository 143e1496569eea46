//! The vision proxy: text in the place of images, for models that cannot see.
