//! The marks for checked and believed work, and their legend. A tick in a full ring and an empty broken ring differ
//! without colours and in any font.

use super::DrawnNode;
use super::svg::{QUIET, written};
use crate::graph::Verification;

/// The size of the legend under the drawing.
pub(super) const WIDTH: u32 = 290;
pub(super) const HEIGHT: u32 = 28;

const RADIUS: u32 = 7;
const CHECKED: &str = "#15803d";

/// Returns the mark of a node, on its left border: texts are inside, and lines come from above and leave below.
pub(super) fn of(node: &DrawnNode, verification: Verification) -> String {
    ring(node.x.saturating_sub(4), node.y + node.height / 2, verification)
}

/// Returns both marks with their words, under a drawing of this height.
pub(super) fn legend(height: u32) -> String {
    let y = height + 4;
    let word = |x: u32, text: &str| written(x, y + 4, text, "font-size=\"11\"");
    format!(
        "<g>{}{}{}{}</g>\n",
        ring(31, y, Verification::Checked),
        word(44, "checked"),
        ring(115, y, Verification::Believed),
        word(128, "believed, not checked"),
    )
}

fn ring(x: u32, y: u32, verification: Verification) -> String {
    let (colour, dashes) = match verification {
        Verification::Checked => (CHECKED, ""),
        Verification::Believed => (QUIET, " stroke-dasharray=\"2.5 2\""),
    };
    let ring = format!(
        "<circle cx=\"{x}\" cy=\"{y}\" r=\"{RADIUS}\" fill=\"#ffffff\" stroke=\"{colour}\" stroke-width=\"1.4\"{dashes}/>"
    );
    match verification {
        Verification::Checked => {
            let from = x.saturating_sub(3);
            format!("{ring}<path d=\"M{from} {y}l2 3 4-6\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>")
        }
        Verification::Believed => ring,
    }
}
