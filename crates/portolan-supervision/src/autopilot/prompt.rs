//! The prompt of an agent for a phase. The text of issues, commits and people is quoted as data.

use portolan_gates::supervisor::Item;
use portolan_runtime::service::Brief;

/// The maximum length of the reason of a refusal in the prompt, in bytes.
const MAX_REASON_BYTES: usize = 8 << 10;

/// Returns the prompt of a session.
pub(super) fn prompt(item: &Item, brief: &Brief, refused: Option<&str>, answers: &[(String, String)]) -> String {
    let (task, phase) = (&item.task, &brief.phase);
    let mut text = format!("You work on the task `{task}`, which is in the phase `{phase}`.\n");
    if !item.goal.is_empty() {
        text.push_str(&format!("\nThe goal of the task:\n{}\n", quoted(&item.goal)));
    }
    if let Some(prompt) = &brief.prompt {
        text.push_str(&format!("\nWhat this phase is about:\n{}\n", quoted(prompt)));
    }
    if let Some(reason) = refused {
        let end = reason.floor_char_boundary(MAX_REASON_BYTES);
        text.push_str(&format!("\nThe phase is not done yet. It was refused because:\n{}\n", quoted(&reason[..end])));
    }
    for (question, answer) in answers {
        text.push_str(&format!("\nIt was asked:\n{}\nand answered:\n{}\n", quoted(question), quoted(answer)));
    }
    text.push_str(
        "\nDo the work of this phase alone, and then end. Whether it is done is found out in the repository; do not move \
         the task yourself. Say what the task claims with `portolan flow patch`. When only a person can decide something, \
         ask with `portolan supervisor ask` and end: other tasks go on meanwhile.\n",
    );
    text
}

fn quoted(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}
