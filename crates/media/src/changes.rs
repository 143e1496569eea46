//! The changes to a request's images, for the attempt log.

use std::fmt;

use majordomo_llm::Change;

use crate::fit_image::Conversion;
use crate::human::{Dimensions, human_bytes};

impl Conversion {
    /// The operation on the image.
    fn verbs(&self) -> Vec<&'static str> {
        let done = [
            (self.from.is_animated(), "stilled"),
            (self.from.upright() != (self.width, self.height), "resized"),
            (self.from.format != self.format, "converted"),
            (!self.from.orientation.is_upright(), "rotated"),
            (self.flattened, "flattened"),
        ];
        let mut verbs: Vec<_> = done
            .iter()
            .filter(|(was, _)| *was)
            .map(|(_, verb)| *verb)
            .collect();
        if verbs.is_empty() {
            verbs.push("re-encoded");
        }
        verbs
    }
}

/// Collects [`Change`]s, one per verb.
#[derive(Default)]
pub(crate) struct Changes(Vec<Change>);

impl Changes {
    /// Records that an image was re-encoded.
    pub(crate) fn converted(&mut self, image: usize, conversion: &Conversion) {
        for verb in conversion.verbs() {
            self.add(verb, format!("image {image}: {conversion}"));
        }
    }

    /// Records that bytes after the end of an image are not sent.
    pub(crate) fn trimmed(&mut self, image: usize, bytes: u64) {
        let bytes = human_bytes(bytes);
        self.add("trimmed", format!("image {image}: {bytes} after its end"));
    }

    /// Records that an image is sent unchanged under its sniffed type.
    pub(crate) fn renamed(&mut self, image: usize, from: &str, to: &str) {
        self.add(
            "relabelled",
            format!("image {image}: {from} is actually {to}"),
        );
    }

    pub(crate) fn into_vec(self) -> Vec<Change> {
        self.0
    }

    fn add(&mut self, verb: &str, detail: String) {
        match self.0.iter_mut().find(|change| change.verb == verb) {
            Some(change) => {
                change.count = change.count.map(|count| count + 1);
                change.detail.push_str("; ");
                change.detail.push_str(&detail);
            }
            None => self
                .0
                .push(Change::new("image", verb).times(1).detail(detail)),
        }
    }
}

/// `4000×3000 jpeg 3.7 MB → 1568×1176 jpeg 0.3 MB`, with remarks that the numbers do not show.
impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = &self.from;
        write!(
            f,
            "{} {} {} → {} {} {}",
            Dimensions(from.width, from.height),
            from.format,
            human_bytes(self.from_bytes),
            Dimensions(self.width, self.height),
            self.format,
            human_bytes(self.bytes),
        )?;
        if !from.orientation.is_upright() {
            f.write_str(", rotated upright")?;
        }
        if from.is_animated() {
            write!(f, ", the first of {} frames", from.frames)?;
        }
        if self.flattened {
            f.write_str(", transparency flattened onto white")?;
        }
        Ok(())
    }
}
