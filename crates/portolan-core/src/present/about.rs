//! What is told of an activity at each of its steps: rules, what done means, what to keep in mind.
//!
//! An agent that has lost its context has nothing but the answer that it reads, so that all of it is told every time.

use crate::graph::{Activity, Told};

/// The blocks about an activity, each with its title; `fill` puts values into a text, `is_true` asks for a variable.
pub(super) fn about(activity: &Activity, fill: &dyn Fn(&str) -> String, is_true: &dyn Fn(&str) -> bool) -> Vec<String> {
    let counts = |told: &&Told| told.only_if.as_deref().is_none_or(is_true);
    let told = |texts: &[Told]| -> Vec<String> { texts.iter().filter(counts).map(|told| fill(&told.text)).collect() };
    let plain = |texts: &[String]| -> Vec<String> { texts.iter().map(|text| fill(text)).collect() };
    let blocks = [
        line("About", activity.description.iter().map(|text| fill(text)).collect()),
        lines("Rules", &told(&activity.rules)),
        lines("Done means", &plain(&activity.outcome)),
        lines("Keep in mind", &told(&activity.keep)),
        lines("Notes", &told(&activity.notes)),
        lines("Artifacts", &plain(&activity.artifacts)),
        line("Done with", activity.means.clone()),
        line("Takes", activity.time.iter().cloned().collect()),
    ];
    blocks.into_iter().flatten().collect()
}

fn lines(title: &str, texts: &[String]) -> Option<String> {
    let lines: String = texts.iter().map(|text| format!("\n- {text}")).collect();
    (!texts.is_empty()).then(|| format!("{title}:{lines}"))
}

fn line(title: &str, texts: Vec<String>) -> Option<String> {
    (!texts.is_empty()).then(|| format!("{title}: {}", texts.join(", ")))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn only_if(text: &str, variable: &str) -> Told {
        Told { text: text.to_owned(), only_if: Some(variable.to_owned()) }
    }

    fn always(text: &str) -> Told {
        Told { text: text.to_owned(), only_if: None }
    }

    #[test]
    fn all_that_counts_is_told_and_nothing_else() {
        let activity = Activity {
            description: Some("Look at {issue}.".to_owned()),
            rules: vec![always("Ask."), only_if("Change nothing.", "review"), only_if("Hurry.", "quick")],
            outcome: vec!["{issue} is understood".to_owned()],
            keep: vec![only_if("Nobody sees this.", "none")],
            notes: vec![always("It may be old.")],
            means: vec!["debug".to_owned(), "read::code".to_owned()],
            artifacts: vec![".planning/{issue}.md".to_owned()],
            time: Some("1-4h".to_owned()),
            ..Activity::default()
        };
        let fill = |text: &str| text.replace("{issue}", "PR-7");
        let is_true = |name: &str| name == "review";
        expect![[r#"
            About: Look at PR-7.
            Rules:
            - Ask.
            - Change nothing.
            Done means:
            - PR-7 is understood
            Notes:
            - It may be old.
            Artifacts:
            - .planning/PR-7.md
            Done with: debug, read::code
            Takes: 1-4h
        "#]]
        .assert_eq(&(about(&activity, &fill, &is_true).join("\n") + "\n"));
        assert!(about(&Activity::default(), &fill, &is_true).is_empty());
    }
}
