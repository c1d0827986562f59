use expect_test::{Expect, expect};

use super::*;
use portolan_core::source::Source;

/// Returns the faults of guidelines, each with its position and its help.
fn faults_text(text: &str) -> String {
    let source = Source::new("guidelines.yaml", text);
    let (_, faults) = read(&source);
    let told = faults.iter().map(|fault| {
        let place = fault.span.map_or_else(String::new, |span| {
            let at = source.location(span.start);
            format!("{}:{} ", at.line, at.column)
        });
        format!("{place}{}: {}; {}\n", fault.code, fault.message, fault.help.as_deref().unwrap_or("-"))
    });
    told.collect()
}

#[track_caller]
fn says(text: &str, expected: Expect) {
    expected.assert_eq(&faults_text(text));
}

#[track_caller]
fn rules(text: &str) -> Guidelines {
    assert_eq!(faults_text(text), "", "{text}");
    read(&Source::new("guidelines.yaml", text)).0
}

const EVERYTHING: &str = r#"
integration: [develop, "release/*"]
commitDirectly: true
strict: true
branches: {prefixes: [feat/, "wip-"], pattern: "{prefix}{issue}-{slug}"}
issues: {provider: pattern, projects: [ABC, X2], allowClosed: true, allowShared: true, allowClosingKeywords: false}
specs:
  required: true
  folders: [specs, docs/specs/]
  pattern: "**/*.md"
  exempt: [wip-]
  headings: [Goal, "Not a goal: really"]
  namesIssue: true
commits:
  types: [feat, fix]
  scopes: [core, "a b"]
  requireScope: true
  maxHeader: 72
  ignoreGenerated: false
  requireReference: false
  cleanTree: off
pullRequests: {forge: file, folder: reviews, allowDraft: true, stopAtOpen: true, openAtStop: true}
typecheck:
  commands: [[cargo, check, --locked], [npx, --no-install, tsc, "--noEmit"]]
  maxAgeSeconds: 300
  timeoutSeconds: 20
review: {model: "openai:m@http://127.0.0.1:8080/v1", timeoutSeconds: 60}
policies: {branchMatchesPrefix: off, I-6: warn, no-verify: warn, removalsMatchIntent: block}
bypass: {I-3: never, commit-must-reference-issue: human-only, I-13: never, I-6: agent, others: never}
"#;

#[test]
fn every_rule_can_be_written_down() {
    let read = rules(EVERYTHING);
    let usual = Guidelines::default();
    assert_eq!(read.integration, ["develop", "release/*"]);
    assert!(read.commit_directly && read.strict);
    assert_eq!(read.branches.pattern.as_deref(), Some("{prefix}{issue}-{slug}"));
    assert_eq!(read.issues.provider, IssueProvider::Pattern { projects: vec!["ABC".into(), "X2".into()] });
    assert_eq!(read.specs.headings, ["Goal", "Not a goal: really"]);
    assert_ne!(read.specs, usual.specs);
    assert_eq!(read.commits.max_header, Some(72));
    assert_eq!(read.commits.clean_tree, Level::Off);
    assert_eq!(read.pull_requests.forge, Forge::Files { folder: "reviews".into() });
    assert_eq!(read.typecheck.commands.as_ref().map(Vec::len), Some(2));
    assert_eq!((read.typecheck.max_age_seconds, read.typecheck.timeout_seconds), (Some(300), 20));
    assert_eq!(read.review.model.as_deref(), Some("openai:m@http://127.0.0.1:8080/v1"));
    assert_eq!(read.review.timeout_seconds, 60);
    assert_eq!(read.level(&["branchMatchesPrefix"]), Level::Off);
    assert_eq!((read.who("I-3"), read.who("commit-must-reference-issue")), (Who::Never, Who::HumanOnly));
}

#[test]
fn what_is_written_is_read_as_the_same() {
    for text in [
        EVERYTHING,
        "",
        "typecheck: {commands: []}",
        "issues: {provider: file, folder: a b}",
        "issues: {provider: offline}\nbranches: {prefixes: []}",
        "specs: {headings: ['on', \"1\", 'a \"b\" \\ c', '...', 'ü: #']}",
    ] {
        let meant = rules(text);
        let written = write(&meant);
        assert_eq!(rules(&written), meant, "{written}");
    }
    assert_eq!(write(&Guidelines::default()), "");
}

#[test]
fn nothing_written_is_as_usual() {
    for text in ["", "\n\n", "# nothing yet\n  # at all\n", "{}", "specs: {}\npolicies: {}\n", "specs:\nintegration:\n"]
    {
        assert_eq!(rules(text), Guidelines::default(), "{text}");
    }
    assert_eq!(rules("integration: trunk").integration, ["trunk"]);
    assert_eq!(
        rules("issues: {provider: file}").issues.provider,
        IssueProvider::Files { folder: ".portolan/issues".into() }
    );
}

#[test]
fn one_word_or_one_for_each_says_who_gets_past_rules() {
    let who = |text: &str| {
        let rules = rules(text);
        ["I-3", "I-6", "I-13"].map(|rule| rules.who(rule))
    };
    assert_eq!(who(""), [Who::HumanOnly, Who::HumanOnly, Who::Never]);
    assert_eq!(who("bypass: agent"), [Who::Anyone, Who::Anyone, Who::Never]);
    assert_eq!(who("bypass: anyone"), who("bypass: agent"), "as earlier files say it");
    assert_eq!(who("bypass: never"), [Who::Never; 3]);
    assert_eq!(who("bypass: {I-3: agent}"), [Who::Anyone, Who::HumanOnly, Who::Never]);
    assert_eq!(who("bypass: {I-3: human-only, others: agent}"), [Who::HumanOnly, Who::Anyone, Who::Never]);
    for text in ["bypass: agent", "bypass: {I-3: human-only, others: agent}", "bypass: {I-3: agent}", "bypass: never"] {
        assert_eq!(rules(&write(&rules(text))), rules(text), "{text}");
    }
}

/// Returns the examples of the page, in order.
fn examples() -> Vec<String> {
    let page = include_str!("../../../../docs/guidelines.md");
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.map(str::to_owned).collect()
}

#[test]
fn the_page_tells_every_key_with_its_default() {
    let [usual, other] = &examples()[..] else { panic!("two examples") };
    assert_eq!(rules(usual), Guidelines::default());
    let other = rules(other);
    assert_eq!(other.issues.provider, IssueProvider::Pattern { projects: vec!["SHOP".into()] });
    assert_eq!((other.who("I-3"), other.who("I-6")), (Who::Anyone, Who::HumanOnly));
    // The fault of an unknown field lists the known ones.
    let keys = |section: &str| {
        let text = if section.is_empty() { "zzz: 1".to_owned() } else { format!("{section}: {{zzz: 1}}") };
        let said = faults_text(&text);
        let listed = said.split("the fields here are").nth(1).unwrap_or_default().to_owned();
        listed.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    };
    for section in ["", "branches", "issues", "specs", "commits", "pullRequests", "typecheck", "review"] {
        let keys = keys(section);
        assert!(!keys.is_empty(), "{section}");
        for key in keys {
            let indent = if section.is_empty() { "\n" } else { "\n  " };
            let told = usual.contains(&format!("{indent}{key}:")) || ["folder", "projects"].contains(&key.as_str());
            assert!(told, "the page does not tell `{section}.{key}`");
        }
    }
}

#[test]
fn all_faults_are_told_at_once() {
    says(
        "specs: {require: true, pattern: 'specs/{a,b}.md'}\nintegraton: main\nstrict: yes\n\
         policies:\n  I-16: off\n  noverify: warn\n  I-6: of\n  I-4: false\nbypass: {I-13: agent, I-3: human, other: never}\n",
        expect![[r#"
            1:9 unknown-field: `specs` has a field `require`, which has no meaning here; did you mean `required`?
            1:33 bad-value: `pattern` contains the invalid value `specs/{a,b}.md`; only `*`, `?` and `**` are wildcards here; write a glob such as `specs/**/*.md`
            2:1 unknown-field: the file has a field `integraton`, which has no meaning here; did you mean `integration`?
            3:9 wrong-type: `strict` of the file must be `true` or `false`, but is a string; -
            5:3 unknown-rule: `policies` names `I-16`, which is not a rule; did you mean `I-1`?
            6:3 unknown-rule: `policies` names `noverify`, which is not a rule; did you mean `no-verify`?
            7:8 unknown-value: `I-6` of `policies` is `of`, which is not one of its values; did you mean `off`?
            8:8 unknown-value: `I-4` of `policies` is a boolean, which is not one of its values; write one of `block`, `warn` and `off`
            9:16 always-kept: `I-13` cannot be relaxed: bypasses are always recorded; remove the line
            9:28 unknown-value: `I-3` of `bypass` is `human`, which is not one of its values; did you mean `human-only`?
            9:35 unknown-rule: `bypass` names `other`, which is not a rule; did you mean `others`?
        "#]],
    );
}

#[test]
fn what_cannot_be_meant_is_told() {
    says(
        "integration: ['release/*', 'a b']\nbranches: {prefixes: [feat/, '', '-x', 'a..b/', 'feat '], pattern: '{prefix}{nr}'}\n\
         issues: {provider: github, folder: x, projects: [abc]}\nspecs: {folders: [/etc, ../x], exempt: [docs]}\n\
         commits: {types: ['a b'], scopes: [''], maxHeader: 0}\npullRequests: {folder: x}\n",
        expect![[r#"
            1:14 no-integration: `integration` does not name a branch that work can begin from; name one that is not a glob, such as `main`
            1:28 bad-value: `integration` contains the invalid value `a b`; write a branch name, or a glob such as `release/*`
            2:30 bad-value: `prefixes` contains the invalid value ``; write text that a branch name can begin with, such as `feat/`
            2:34 bad-value: `prefixes` contains the invalid value `-x`; write text that a branch name can begin with, such as `feat/`
            2:40 bad-value: `prefixes` contains the invalid value `a..b/`; write text that a branch name can begin with, such as `feat/`
            2:49 bad-value: `prefixes` contains the invalid value `feat `; write text that a branch name can begin with, such as `feat/`
            2:68 bad-value: `pattern` contains the invalid value `{prefix}{nr}`; build it from `{prefix}`, `{issue}`, `{slug}` and characters that a branch name can contain
            3:36 unknown-field: `folder` does not apply here; it applies only to files; set `provider: file`
            3:49 unknown-field: `projects` does not apply here; it applies only to keys; set `provider: pattern`
            4:19 bad-value: `folders` contains the invalid value `/etc`; write a folder relative to the project, without `..`
            4:25 bad-value: `folders` contains the invalid value `../x`; write a folder relative to the project, without `..`
            4:41 unknown-prefix: `exempt` names `docs`, but no branch can begin with it; the prefixes of `branches` are `feat/`
            5:19 bad-value: `types` contains the invalid value `a b`; write one word, such as `feat`
            5:36 bad-value: `scopes` contains the invalid value ``; write only what goes between the parentheses
            5:52 wrong-type: `maxHeader` of `commits` must be a whole number from 10 to 1000, but is `0`; -
            6:24 unknown-field: `folder` does not apply here; it applies only to files; set `forge: file`
        "#]],
    );
}

#[test]
fn commands_are_words_and_no_lines() {
    says(
        "typecheck: {commands: npm run check, timeoutSeconds: 601}",
        expect![[r#"
            1:23 wrong-type: `commands` of `typecheck` must be a list of commands, each a list of strings; commands are not run in a shell; write `- [npm, run, check]`
            1:54 wrong-type: `timeoutSeconds` of `typecheck` must be a whole number from 1 to 600, but is `601`; -
        "#]],
    );
    says(
        "review: {model: gpt-4o, timeoutSeconds: 0}",
        expect![[r#"
            1:17 bad-value: `model` contains the invalid value `gpt-4o`; write it as `provider:model`, such as `anthropic:claude-sonnet-4-5`
            1:41 wrong-type: `timeoutSeconds` of `review` must be a whole number from 1 to 3600, but is `0`; -
        "#]],
    );
    says(
        "typecheck: {commands: ['tsc | cat', [], [''], [make, 1]]}",
        expect![[r#"
            1:24 wrong-type: `commands` of `typecheck` must be a list of commands, each a list of strings; commands are not run in a shell; write `- [cargo, check, --workspace]`
            1:37 wrong-type: `commands` of `typecheck` must be a list of commands, each a list of strings; commands are not run in a shell; write `- [cargo, check, --workspace]`
            1:41 wrong-type: `commands` of `typecheck` must be a list of commands, each a list of strings; commands are not run in a shell; write `- [cargo, check, --workspace]`
            1:47 wrong-type: `commands` of `typecheck` must be a list of commands, each a list of strings; commands are not run in a shell; write `- [cargo, check, --workspace]`
        "#]],
    );
}

#[test]
fn no_text_is_too_much() {
    for text in ["[", "a", "1", "&a [*a]", "a: b: c", "\u{0}", "{\"specs\": [", "policies: [a]", "bypass: x"] {
        let _told = faults_text(text);
    }
    let many: String = (0..2_000).map(|at| format!("x{at}: 1\n")).collect();
    assert_eq!(faults_text(&many).lines().count(), 2_000);
}

#[test]
fn the_rules_of_xcoder_are_taken_over() {
    let settings = Source::new(
        ".claude/settings.json",
        r#"{"permissions": {"allow": ["x"]}, "workflow": {"type": "solo", "integrationBranch": "main", "commitDirectly": true,
          "branchPrefixes": ["feat/", "fix/"], "qaLoop": {"enabled": true}}, "quality": {"minQaScore": 85}}"#,
    );
    let guidelines = Source::new(
        ".xcoder/guidelines.yaml",
        "specify: {specRequired: true, specPath: docs/specs, specPattern: '^.*[.]md$'}\n\
         prioritize: {source: github}\n\
         branched: {off: develop, prefix: [feat/], namingPattern: '{prefix}{issue}-{slug}'}\n\
         commit: {conventional: true, types: [feat], requireIssueRef: false, issueRefPatterns: ['#\\d+'], allowEmpty: false}\n\
         qa: {typecheck: npx tsc --noEmit, test: npm test, verdictTtlMinutes: 5, coverageMin: 80}\n\
         maintain: {refactorLocThreshold: 500}\n\
         workflow: {commitDirectly: false, requirePr: false}\n\
         policies: {branch-prefix: off, no-edit-on-integration: warn, some-other: block}\n",
    );
    let imported = xcoder::import(Some(&guidelines), Some(&settings));
    expect![[r#"
        integration: [develop]
        branches:
          prefixes: [feat/]
          pattern: "{prefix}{issue}-{slug}"
        specs:
          required: true
          folders: [docs/specs]
        commits:
          types: [feat]
          requireReference: false
        typecheck:
          commands: [[npx, tsc, "--noEmit"]]
          maxAgeSeconds: 300
        policies:
          branchMatchesPrefix: off
          no-edit-on-integration: warn
          prOpenedBeforeIdle: off
          pullRequestMerged: off
    "#]]
    .assert_eq(&write(&imported.rules));
    assert_eq!(rules(&write(&imported.rules)), imported.rules);
    let notes = imported.notes.iter().map(|(source, note)| {
        let place = source.place(note.span.map_or(0, |span| span.start));
        format!("{place} {}; {}\n", note.message, note.help.as_deref().unwrap_or("-"))
    });
    expect![[r#"
        .claude/settings.json:1:48 `workflow.type` is not imported; it has no counterpart here
        .claude/settings.json:2:48 `workflow.qaLoop` is not imported; it has no counterpart here
        .claude/settings.json:2:90 `quality.minQaScore` is not imported; it has no counterpart here
        .xcoder/guidelines.yaml:1:53 `specify.specPattern` is not imported; only `*`, `?` and `**` are wildcards here; write a glob such as `specs/**/*.md`
        .xcoder/guidelines.yaml:2:14 `prioritize.source` is not imported; it has no counterpart here
        .xcoder/guidelines.yaml:4:69 `commit.issueRefPatterns` is not imported; `#1`, `GH-1`, issue addresses and keys such as `ABC-1` are recognised here without patterns
        .xcoder/guidelines.yaml:4:97 `commit.allowEmpty` is not imported; it has no counterpart here
        .xcoder/guidelines.yaml:5:35 `qa.test` is not imported; give a phase an acceptance check that runs it
        .xcoder/guidelines.yaml:5:73 `qa.coverageMin` is not imported; give a phase an acceptance check that runs it
        .xcoder/guidelines.yaml:6:12 `maintain.refactorLocThreshold` is not imported; it has no counterpart here
        .xcoder/guidelines.yaml:8:62 `policies.some-other` is not imported; there is no rule of that name whose level can be changed
    "#]]
    .assert_eq(&notes.collect::<String>());
}
