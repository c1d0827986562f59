//! The marks of what is checked and what is believed, and what they mean. A tick in a full ring stands for the one and an
//! empty broken ring for the other, so that they differ without colours and whatever fonts there are.

use super::DrawnNode;
use super::svg::{QUIET, written};
use crate::graph::Verification;

/// How wide and how high the legend is, which stands under the drawing.
pub(super) const WIDTH: u32 = 290;
pub(super) const HEIGHT: u32 = 28;

const RADIUS: u32 = 7;
const CHECKED: &str = "#15803d";

/// The mark of a node, on its left border: texts have the room inside, and lines come from above and leave below.
pub(super) fn of(node: &DrawnNode, verification: Verification) -> String {
    ring(node.x.saturating_sub(4), node.y + node.height / 2, verification)
}

/// Both marks with their words, under a drawing of this height.
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
