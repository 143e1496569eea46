//! One plot: the requests of each service over time, stacked.

use std::fmt::Write;

use majordomo_balance::Tactic;

use crate::traffic::{MINUTES, SERVICES, SLICE};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 160.0;
const LEFT: f64 = 36.0;
const TOP: f64 = 24.0;
/// Distinguishable with colour blindness, on light and dark pages.
const COLOURS: [&str; 3] = ["#0072b2", "#e69f00", "#cc79a7"];

pub(crate) fn draw(tactic: Tactic, slices: &[[u32; 3]]) -> String {
    let most = slices.iter().map(|slice| slice.iter().sum::<u32>()).max();
    let most = f64::from(most.unwrap_or(1).max(1));
    let x = |slice: usize| LEFT + WIDTH * slice as f64 / slices.len() as f64;
    let y = |count: f64| TOP + HEIGHT * (1.0 - count / most);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" \
         font-family=\"sans-serif\" font-size=\"11\" fill=\"#777\">\n\
         <title>{tactic}: requests of each service over {MINUTES} minutes</title>\n\
         <text x=\"{LEFT}\" y=\"15\" font-size=\"13\">{tactic}</text>\n",
        LEFT + WIDTH + 10.0,
        TOP + HEIGHT + 74.0,
    );
    let mut floor = vec![0.0; slices.len()];
    for (service, colour) in COLOURS.iter().enumerate() {
        let mut upper = String::new();
        let mut lower = Vec::new();
        for (slice, counts) in slices.iter().enumerate() {
            let bottom = floor[slice];
            let top = bottom + f64::from(counts[service]);
            floor[slice] = top;
            // Steps: each slice is as wide as its time.
            let _ = write!(
                upper,
                "{:.0},{:.0} {:.0},{:.0} ",
                x(slice),
                y(top),
                x(slice + 1),
                y(top)
            );
            lower.push(format!(
                "{:.0},{:.0} {:.0},{:.0}",
                x(slice + 1),
                y(bottom),
                x(slice),
                y(bottom)
            ));
        }
        lower.reverse();
        let _ = writeln!(
            svg,
            "<polygon fill=\"{colour}\" points=\"{upper}{}\"/>",
            lower.join(" ")
        );
    }
    axes(&mut svg, most, x(slices.len()));
    legend(&mut svg);
    svg.push_str("</svg>\n");
    svg
}

fn axes(svg: &mut String, most: f64, right: f64) {
    let bottom = TOP + HEIGHT;
    let _ = writeln!(
        svg,
        "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#777\"/>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.1}/s</text>\n\
         <text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\">0</text>",
        LEFT - 4.0,
        TOP + 9.0,
        most / SLICE as f64,
        LEFT - 4.0,
    );
    for minute in 0..=MINUTES {
        let at = LEFT + WIDTH * minute as f64 / MINUTES as f64;
        let _ = writeln!(
            svg,
            "<text x=\"{at:.0}\" y=\"{}\" text-anchor=\"middle\">{minute}:00</text>",
            bottom + 14.0
        );
    }
}

fn legend(svg: &mut String) {
    let top = TOP + HEIGHT + 32.0;
    for (row, (kind, colour)) in (0_u8..).zip(SERVICES.iter().zip(COLOURS)) {
        let y = top + 15.0 * f64::from(row);
        let _ = writeln!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{y}\">{}: {}</text>",
            y - 9.0,
            LEFT + 16.0,
            kind.name,
            kind.about
        );
    }
}
