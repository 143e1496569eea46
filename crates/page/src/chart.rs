//! Charts as inline SVG, themed by the style sheet.
//!
//! Each mark has its exact value as a title, and the numbers are repeated in a table for
//! screen readers. The policy of the page forbids style attributes, so geometry is set by
//! attributes and colour by classes.

use maud::{Markup, html};

/// One bar of a chart over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// When, such as `14:03`.
    pub label: String,
    /// The bar's height.
    pub value: f64,
    /// The exact value with its unit, such as `12 requests`.
    pub text: String,
}

/// A part of a strip, from `start` to `end`, both between 0 and 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// Where it begins.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
    /// Its label, such as `14:03 to 14:08: rate limited (429)`.
    pub text: String,
}

const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 36.0;
/// Widest bar of a chart over time.
const WIDEST: f64 = 10.0;

/// Bars over time, oldest first, with their sum as text.
pub(crate) fn bars(class: &str, title: &str, total: &str, bars: &[Bar]) -> Markup {
    let highest = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let step = WIDTH / bars.len().max(1) as f64;
    // Few bars are not wider than many.
    let width = (step - 1.0).clamp(1.0, WIDEST);
    let rows: Vec<_> = bars.iter().filter(|bar| bar.value > 0.0).collect();
    html! {
        figure.chart {
            figcaption { span { (title) } strong { (total) } }
            svg class=(class) viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none"
                aria-hidden="true" {
                @for (index, bar) in bars.iter().enumerate() {
                    @let height = match highest > 0.0 {
                        // Even the smallest value is visible.
                        true if bar.value > 0.0 => (bar.value / highest * HEIGHT).max(1.5),
                        _ => 0.0,
                    };
                    rect x=(tenth(index as f64 * step + (step - width) / 2.0))
                        y=(tenth(HEIGHT - height)) width=(tenth(width)) height=(tenth(height)) {
                        title { (bar.label) ": " (bar.text) }
                    }
                }
            }
            (table(title, &rows))
        }
    }
}

/// The remainder of an amount after each step of a window. `whole` is the amount, and
/// `elapsed` the elapsed part of the window.
pub(crate) fn burn_down(
    title: &str,
    total: &str,
    left: &[Bar],
    whole: f64,
    elapsed: Option<f64>,
) -> Markup {
    let over = WIDTH * elapsed.unwrap_or(1.0).clamp(0.02, 1.0);
    let step = over / left.len().max(1) as f64;
    html! {
        figure.chart {
            figcaption { span { (title) } strong { (total) " used" } }
            svg.left viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none"
                aria-hidden="true" {
                @for (index, bar) in left.iter().enumerate() {
                    @let height = (bar.value / whole.max(1.0) * HEIGHT).clamp(0.0, HEIGHT);
                    rect x=(tenth(index as f64 * step)) y=(tenth(HEIGHT - height))
                        width=(tenth(step.max(0.5))) height=(tenth(height)) {
                        title { (bar.label) ": " (bar.text) }
                    }
                }
                line.even x1="0" y1="0" x2=(WIDTH) y2=(HEIGHT) {}
            }
            (table(title, &left.iter().collect::<Vec<_>>()))
        }
    }
}

/// The values for screen readers. A table grows beyond its height, so a box hides it.
fn table(title: &str, bars: &[&Bar]) -> Markup {
    html! {
        div.visually-hidden {
            table {
                caption { (title) }
                @for bar in bars { tr { th scope="row" { (bar.label) } td { (bar.text) } } }
            }
        }
    }
}

/// A bar that illustrates the number next to it.
pub(crate) fn share(share: f64) -> Markup {
    let width = (share.clamp(0.0, 1.0) * 100.0).max(if share > 0.0 { 1.0 } else { 0.0 });
    html! {
        svg.share viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
            rect x="0" y="0" width=(tenth(width)) height="10" {}
        }
    }
}

/// A strip of time in which some parts are marked.
pub(crate) fn strip(title: &str, segments: &[Segment]) -> Markup {
    html! {
        svg.strip viewBox=(format!("0 0 {WIDTH} 10")) preserveAspectRatio="none" role="img"
            aria-label=(title) {
            rect.calm x="0" y="0" width=(WIDTH) height="10" {}
            @for segment in segments {
                @let start = segment.start.clamp(0.0, 1.0);
                @let end = segment.end.clamp(start, 1.0);
                // What began just now is visible, too.
                @let width = ((end - start) * WIDTH).max(1.5);
                rect.marked x=(tenth((start * WIDTH).min(WIDTH - width))) y="0"
                    width=(tenth(width)) height="10" {
                    title { (segment.text) }
                }
            }
        }
    }
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, value: f64) -> Bar {
        Bar {
            label: label.to_owned(),
            value,
            text: format!("{value} requests"),
        }
    }

    #[test]
    fn the_highest_bar_fills_the_chart_and_a_small_one_stays_visible() {
        let svg = bars(
            "requests",
            "Requests",
            "1,001",
            &[bar("a", 1000.0), bar("b", 1.0), bar("c", 0.0)],
        );
        let svg = svg.into_string();
        assert!(svg.contains(r#"height="36""#), "{svg}");
        assert!(svg.contains(r#"height="1.5""#), "{svg}");
        assert!(svg.contains("<title>b: 1 requests</title>"), "{svg}");
        assert_eq!(svg.matches("<tr>").count(), 2, "a table of what happened");
    }

    #[test]
    fn a_strip_stays_within_its_bounds() {
        let segment = Segment {
            start: -1.0,
            end: 7.0,
            text: "<script>".to_owned(),
        };
        let now = Segment {
            start: 1.0,
            end: 1.0,
            text: String::new(),
        };
        let svg = strip("Benches", &[now]).into_string();
        assert!(svg.contains(r#"x="238.5" y="0" width="1.5""#), "{svg}");
        let svg = strip("Benches", &[segment]).into_string();
        assert!(svg.contains(r#"width="240""#), "{svg}");
        assert!(svg.contains("&lt;script&gt;"), "{svg}");
    }
}
