//! Capabilities of a target, as text.

use majordomo::Capabilities;
use majordomo::llm::{ByteCount, ImageLimits};

/// Column headings of [`cells`].
pub(crate) const HEADINGS: [&str; 4] = ["IMAGES", "TOOLS", "SCHEMAS", "CONTEXT"];

/// Capabilities as table cells.
pub(crate) fn cells(takes: &Capabilities) -> [String; 4] {
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let images = match &takes.images {
        Some(ImageLimits {
            max_count: Some(most),
            ..
        }) => format!("up to {most}"),
        images => yes(images.is_some()),
    };
    let context = takes.context_window;
    let context = context.map_or_else(|| "unknown".to_owned(), |tokens| tokens.to_string());
    [images, yes(takes.tools), yes(takes.structured), context]
}

/// Image limits as one line.
pub(crate) fn images(limits: &ImageLimits) -> String {
    let mut list = Vec::new();
    if !limits.types.is_empty() {
        list.push(limits.types.join(", "));
    }
    if let Some(most) = limits.max_count {
        list.push(format!("at most {most} per request"));
    }
    let counted = match limits.counted {
        ByteCount::Raw => "",
        ByteCount::Base64 => " of base64",
    };
    if let Some(most) = limits.max_bytes {
        list.push(format!("{most} bytes{counted} each"));
    }
    if let Some(most) = limits.max_total_bytes {
        list.push(format!("{most} bytes{counted} in total"));
    }
    if let Some(most) = limits.max_px {
        list.push(format!("{most} pixels per side"));
    }
    if let Some(patches) = limits.patches {
        let (most, size) = (patches.max, patches.size);
        list.push(format!("{most} patches of {size}×{size} pixels"));
    }
    if let Some(many) = limits.many {
        let (above, most) = (many.above, many.max_px);
        list.push(format!("{most} pixels per side above {above} images"));
    }
    if list.is_empty() {
        return "any image".to_owned();
    }
    list.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use majordomo::llm::{ManyImages, PatchLimit};

    #[test]
    fn every_limit_is_listed() {
        let limits = ImageLimits::default()
            .with_max_count(Some(5))
            .with_max_bytes(Some(100))
            .with_counted(ByteCount::Base64)
            .with_max_total_bytes(Some(400))
            .with_max_px(Some(8000))
            .with_patches(Some(PatchLimit { size: 32, max: 9 }))
            .with_many(Some(ManyImages {
                above: 20,
                max_px: 2000,
            }))
            .with_types(vec!["image/png".into(), "image/jpeg".into()]);
        assert_eq!(
            images(&limits),
            "image/png, image/jpeg; at most 5 per request; 100 bytes of base64 each; \
             400 bytes of base64 in total; 8000 pixels per side; 9 patches of 32×32 pixels; \
             2000 pixels per side above 20 images"
        );
        assert_eq!(images(&ImageLimits::default()), "any image");
    }

    #[test]
    fn unknown_is_not_no() {
        assert_eq!(
            cells(&Capabilities::default()),
            ["yes", "yes", "yes", "unknown"]
        );
        let small = Capabilities::text_only().with_context_window(Some(8192));
        assert_eq!(cells(&small), ["no", "yes", "yes", "8192"]);
    }
}
