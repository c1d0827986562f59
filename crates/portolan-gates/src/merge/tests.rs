//! Text in, text out: files before and after, the declarations, and the ruling of the gate.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use portolan_core::source::Source;

/// A branch as a test describes it.
#[derive(Clone, Default)]
struct Case {
    diff: Diff,
    declared: Declarations,
    evidence: Evidence,
    policy: Policy,
}

fn text(text: &str) -> Text {
    if text == "-" { Text::Absent } else { Text::Of(text.to_owned()) }
}

fn branch(subject: &str) -> Case {
    let commit = DeclaringCommit { id: "0a3b87a2d6be".into(), message: subject.into() };
    let evidence = Evidence { author: Some("ann".into()), head: "0a3b87a2d6be".into(), ..Evidence::default() };
    Case { declared: Declarations { commits: vec![commit], ..Declarations::default() }, evidence, ..Case::default() }
}

impl Case {
    /// Adds a file before and after; `-` means that there is none.
    fn file(self, path: &str, before: &str, after: &str) -> Case {
        self.renamed(path, path, before, after)
    }

    fn renamed(mut self, from: &str, path: &str, before: &str, after: &str) -> Case {
        let from = (from != path).then(|| from.to_owned());
        let (added, deleted) = (after.lines().count() as u64, before.lines().count() as u64);
        let change = FileChange { path: path.into(), from, before: text(before), after: text(after), added, deleted };
        self.diff.files.push(change);
        self
    }

    fn policy(mut self, policy: &str) -> Case {
        let (read, faults) = Policy::read(&Source::new("merge-policy.yaml", policy));
        assert_eq!(faults, []);
        self.policy = read.expect("it has no faults");
        self
    }

    fn reviewed(mut self, by: &str, commit: &str, approves: bool) -> Case {
        self.evidence.reviews.push(PersonReview { by: by.into(), approves, commit: commit.into() });
        self
    }

    fn ruling(&self) -> Ruling {
        gate(&self.diff, &self.declared, &self.policy, &self.evidence)
    }

    fn says(&self) -> String {
        let ruling = self.ruling();
        let mut said = format!("{:?} {}\n", ruling.verdict, ruling.score);
        for reason in ruling.reasons {
            said +=
                &format!("{:?} {}:{} {}: {}\n", reason.verdict, reason.path, reason.line, reason.code, reason.message);
        }
        said
    }
}

fn check(case: &Case, expected: &Expect) {
    expected.assert_eq(&case.says());
}

#[test]
fn what_nothing_announces_blocks() {
    let case = branch("feat: more")
        .file("src/a.rs", "pub fn kept() {}\npub fn gone() {}\npub(crate) fn inner() {}\n", "pub async fn kept() {}\n")
        .file("src/old.rs", "pub fn old() {}\n", "-")
        .file("docs/new.md", "-", "words\n");
    check(
        &case,
        &expect![[r#"
        Block 0
        Block src/a.rs:2 unannounced: the public name `gone` is removed, which is not announced
        Block src/old.rs:1 unannounced: `src/old.rs` is deleted, which is not announced
    "#]],
    );
    check(
        &branch("feat!: less").file("a.rs", "pub struct Gone;\n", ""),
        &expect![[r#"
        Pass 1
    "#]],
    );
    check(
        &branch("feat: less\n\nBREAKING CHANGE: it is gone").file("a.rs", "pub struct Gone;\n", ""),
        &expect![[r#"
        Pass 1
    "#]],
    );
    check(
        &branch("feat!: less").file("a.rs", "pub struct Gone;\n", "-"),
        &expect![[r#"
        Block 0
        Block a.rs:1 unannounced: `a.rs` is deleted, which is not announced
    "#]],
    );
}

#[test]
fn what_is_announced_passes_and_what_is_not_there_is_told() {
    let said = "fix: less\n\nRemoves: src/old/**, gone\nremoves: `src/b.rs#other`\nRemoves: nothing\nRemoves: **\n```\nRemoves: x\n```\n";
    let case = branch(said)
        .file("src/old/a.rs", "pub fn a() {}\n", "-")
        .file("src/a.rs", "pub fn gone() {}\npub fn other() {}\n", "")
        .file("src/b.rs", "pub fn other() {}\n", "");
    check(
        &case,
        &expect![[r#"
        Block 0.75
        Block src/a.rs:2 unannounced: the public name `other` is removed, which is not announced
        Pass commit 0a3b87a:5 unmatched: `nothing` was announced as a removal, but nothing of that name is removed
        Pass commit 0a3b87a:6 blanket: `**` is too general to announce anything
    "#]],
    );
}

#[test]
fn a_list_of_removals_in_a_specification_announces() {
    let mut case =
        branch("fix: less").file("src/a.go", "package a\nfunc Gone() {}\ntype Old struct {}\n", "package a\n");
    case.declared.specs =
        vec![("specs/1.md".into(), "# One\n- Old\n## Removals\n- the function `Gone`\n## Else\n- Old\n".into())];
    check(
        &case,
        &expect![[r#"
        Block 0.5
        Block src/a.go:3 unannounced: the public name `Old` is removed, which is not announced
    "#]],
    );
}

#[test]
fn tests_assertions_and_skips_count() {
    let before = "#[test]\nfn one() {\n    assert!(a);\n    assert_eq!(a, b);\n}\n#[tokio::test]\nasync fn two() {\n    assert!(b);\n}\n#[test]\nfn three() {}\n";
    let after = "#[test]\nfn one() {\n    assert!(a);\n}\n#[ignore]\n#[test]\nfn three() {}\n";
    check(
        &branch("fix: x").file("src/a.rs", before, after),
        &expect![[r#"
        Block 0
        Block src/a.rs:4 unannounced: 1 of the assertions of the test `one` are removed, which is not announced
        Block src/a.rs:5 unannounced: the test `three` is skipped, which is not announced
        Block src/a.rs:7 unannounced: the test `two` is removed, which is not announced
    "#]],
    );
    let (before, after) = (
        "describe('d', () => {\n  it('adds', () => {\n    expect(1).toBe(1);\n  });\n  test(`multiplies`, f);\n});\nexport const x = 1, y = 2;\nexport { a, b as c };\n",
        "describe('d', () => {\n  it.skip('adds', () => {\n    expect(1).toBe(1);\n  });\n  // test(`multiplies`, f);\n});\nexport const x = 1;\nexport { a };\n",
    );
    check(
        &branch("fix: x").file("src/a.test.ts", before, after),
        &expect![[r#"
        Block 0
        Block src/a.test.ts:2 unannounced: the test `adds` is skipped, which is not announced
        Block src/a.test.ts:5 unannounced: the test `multiplies` is removed, which is not announced
        Block src/a.test.ts:8 unannounced: the public name `c` is removed, which is not announced
    "#]],
    );
    let before = "class Api:\n    def get(self):\n        pass\n    def _own(self):\n        pass\ndef test_it():\n    assert 1\n";
    let after = "class Api:\n    pass\n@pytest.mark.skip\ndef test_it():\n    pass  # noqa\n";
    check(
        &branch("fix: x").file("test_a.py", before, after),
        &expect![[r#"
        Block 0
        Block test_a.py:2 unannounced: the public name `get` is removed, which is not announced
        Block test_a.py:3 unannounced: the test `test_it` is skipped, which is not announced
        Block test_a.py:5 unannounced: a rule is loosened with `noqa`, which is not announced
        Block test_a.py:7 unannounced: 1 of the assertions of the test `test_it` are removed, which is not announced
    "#]],
    );
    let before = "func TestA(t *testing.T) {\n\tt.Fatal(1)\n}\nfunc (s *S) Close() {}\nfunc inner() {}\n";
    check(
        &branch("fix: x").file("a_test.go", before, "func TestA(t *testing.T) {\n\tt.Skip()\n}\n"),
        &expect![[r#"
        Block 0
        Block a_test.go:2 unannounced: 1 of the assertions of the test `TestA` are removed, which is not announced
        Block a_test.go:2 unannounced: the test `TestA` is skipped, which is not announced
        Block a_test.go:4 unannounced: the public name `Close` is removed, which is not announced
    "#]],
    );
}

#[test]
fn jobs_dependencies_and_strictness_count() {
    let jobs = "on: push\njobs:\n  test:\n    runs-on: x\n    steps:\n      - run: make\n  lint:\n    runs-on: x\n";
    let fewer = "on: push\njobs:\n  test:\n    runs-on: x\n    continue-on-error: true\n";
    let case = branch("chore: x").file(".github/workflows/ci.yml", jobs, fewer).reviewed("bob", "0a3b87a2d6be", true);
    check(
        &case,
        &expect![[r#"
        Block 0
        Block .github/workflows/ci.yml:5 unannounced: a rule is loosened with `continue-on-error`, which is not announced
        Block .github/workflows/ci.yml:7 unannounced: the job `lint` is removed, which is not announced
    "#]],
    );
    let case = branch("chore: x")
        .file(
            "Cargo.toml",
            "[dependencies]\nserde.workspace = true\nold = \"1\"\n[lints.clippy]\nall = \"deny\"\n",
            "[dependencies]\nserde = \"1\"\n[lints.clippy]\nall = \"allow\"\n",
        )
        .file(
            "package.json",
            "{\n  \"scripts\": {\n    \"test\": \"x\"\n  },\n  \"devDependencies\": {\n    \"a\": \"1\"\n  }\n}\n",
            "{\n  \"version\": \"1\"\n}\n",
        )
        .file("go.mod", "module x\nrequire (\n\ta.b/c v1.0.0\n)\nrequire d.e/f v1\n", "module x\nrequire d.e/f v2\n")
        .file("requirements.txt", "flask==1\nold>=2\n", "flask==2\n")
        .file(
            "tsconfig.json",
            "{\n  \"strict\": true,\n  \"noEmit\": true\n}\n",
            "{\n  \"strict\": false,\n  \"noEmit\": true\n}\n",
        );
    check(
        &case,
        &expect![[r#"
        Block 0
        Block Cargo.toml:3 unannounced: the dependency `old` is removed, which is not announced
        Block Cargo.toml:5 unannounced: the rule `all` is removed, which is not announced
        Block go.mod:3 unannounced: the dependency `a.b/c` is removed, which is not announced
        Block package.json:3 unannounced: the job `test` is removed, which is not announced
        Block package.json:6 unannounced: the dependency `a` is removed, which is not announced
        Block requirements.txt:2 unannounced: the dependency `old` is removed, which is not announced
        Block tsconfig.json:2 unannounced: a rule is loosened with `strict`, which is not announced
        Block tsconfig.json:2 unannounced: the rule `strict` is removed, which is not announced
    "#]],
    );
}

#[test]
fn what_moves_is_not_gone_where_the_change_only_moves_things() {
    let moved = |subject: &str| {
        branch(subject)
            .file("src/a.rs", "pub fn one() {}\npub fn two() {}\n", "pub fn two() {}\n")
            .file("src/b.rs", "", "pub fn one() {}\n")
            .file("src/c.rs", "pub fn three() {}\n", "-")
            .file("src/d.rs", "-", "pub fn three() {}\n")
    };
    check(
        &moved("refactor: apart"),
        &expect![[r#"
        Pass 1
    "#]],
    );
    check(
        &moved("feat: apart"),
        &expect![[r#"
        Block 0
        Block src/a.rs:1 unannounced: the public name `one` is removed, which is not announced
        Block src/c.rs:1 unannounced: `src/c.rs` is deleted, which is not announced
    "#]],
    );
    let twice = branch("refactor: x").file("a.rs", "pub fn new() {}\n", "").file("b.rs", "pub fn new() {}\n", "").file(
        "c.rs",
        "",
        "pub fn new() {}\n",
    );
    check(
        &twice,
        &expect![[r#"
        Block 0.5
        Block b.rs:1 unannounced: the public name `new` is removed, which is not announced
    "#]],
    );
}

const ZONES: &str = "zones:
  kernel:
    paths: [\"src/engine/**\"]
    require: human-review
  loose:
    paths: [docs/**, \"src/engine/notes/**\"]
    require: gate-pass-or-human
  rest:
    paths: [src/**]
    require: gate-pass
shapes:
  feature:
    evidence: [scope, owasp]
verdicts:
  thresholds: {minScopeMatch: 0, maxZoneLines: 3}
  autoMerge: {enabled: true, excludeZones: [kernel]}
";

#[test]
fn zones_need_what_they_need() {
    let kernel =
        branch("fix: x").policy(ZONES).file("src/engine/a.rs", "", "one\n").file("src/a.rs", "", "1\n2\n3\n4\n");
    check(
        &kernel,
        &expect![[r#"
        HumanReview 1
        HumanReview src/a.rs:1 zone-lines: 4 lines of the zone `rest` change, more than 3
        HumanReview src/engine/a.rs:1 kernel: `src/engine/a.rs` belongs to the zone `kernel`, and this commit has not been approved by anyone else
    "#]],
    );
    check(
        &kernel.clone().reviewed("bob", "0a3b87a2d6be", true),
        &expect![[r#"
        Pass 1
    "#]],
    );
    for (by, commit, approves) in
        [("Ann", "0a3b87a2d6be", true), ("bob", "1111111", true), ("bob", "0a3b87a2d6be", false)]
    {
        assert_eq!(
            kernel.clone().reviewed(by, commit, approves).ruling().verdict,
            MergeVerdict::HumanReview,
            "{by} {commit}"
        );
    }
    let torn = kernel.reviewed("bob", "0a3b87a2d6be", true).reviewed("eve", "0", false);
    assert_eq!(torn.ruling().verdict, MergeVerdict::HumanReview, "somebody asks for changes");
    let other = branch("fix: x").policy(ZONES).file("src/engine/notes/a.rs", "pub fn a() {}\n", "").file(
        "elsewhere",
        "",
        "1\n",
    );
    check(
        &other,
        &expect![[r#"
        HumanReview 0
        HumanReview elsewhere:1 kernel: `elsewhere` belongs to the zone `unmatched`, and this commit has not been approved by anyone else
        HumanReview src/engine/notes/a.rs:1 unannounced: the public name `a` is removed, which is not announced
    "#]],
    );
    check(
        &other.reviewed("bob", "0a3b87a2d6be", true),
        &expect![[r#"
        Pass 0
        Pass src/engine/notes/a.rs:1 unannounced: the public name `a` is removed, which is not announced
    "#]],
    );
    let own = branch("fix: x").file(".portolan/merge-policy.yaml", ZONES, "").renamed(
        ".github/workflows/a.yml",
        "a.yml",
        "jobs:\n  a:\n",
        "jobs:\n  a:\n",
    );
    check(
        &own,
        &expect![[r#"
        Block 0
        Block .github/workflows/a.yml:2 unannounced: the job `a` is removed, which is not announced
        HumanReview .github/workflows/a.yml:1 kernel: `.github/workflows/a.yml` belongs to the zone `guards`, and this commit has not been approved by anyone else
        HumanReview .portolan/merge-policy.yaml:1 kernel: `.portolan/merge-policy.yaml` belongs to the zone `guards`, and this commit has not been approved by anyone else
    "#]],
    );
}

#[test]
fn evidence_that_is_missing_is_missing() {
    let mut case = branch("feat: x").policy(ZONES).file("src/a.rs", "", "1\n");
    check(
        &case,
        &expect![[r#"
        HumanReview 1
        HumanReview .portolan/merge-policy.yaml:13 evidence: the evidence `owasp` is missing
    "#]],
    );
    case.evidence.findings.insert("owasp".into(), MergeFinding { is_ok: false, summary: "an injection".into() });
    check(
        &case,
        &expect![[r#"
        Block 1
        Block .portolan/merge-policy.yaml:13 evidence: `owasp` failed: an injection
    "#]],
    );
    case.evidence.findings.insert("owasp".into(), MergeFinding { is_ok: true, summary: String::new() });
    assert_eq!((case.ruling().verdict, case.ruling().auto_merge), (MergeVerdict::Pass, true));
}

#[test]
fn what_cannot_be_compared_is_looked_at() {
    let mut case = branch("fix: x").file("src/a.rs", "1", "2").file("logo.png", "1", "2");
    for change in &mut case.diff.files {
        change.after = Text::Unread;
    }
    check(
        &case,
        &expect![[r#"
        HumanReview 1
        HumanReview src/a.rs:1 unread: `src/a.rs` cannot be compared: it is not text, or is too long
    "#]],
    );
}

#[test]
fn a_policy_says_where_it_is_wrong() {
    let faults = |text: &str| {
        let source = Source::new("merge-policy.yaml", text);
        let (policy, faults) = Policy::read(&source);
        assert!(policy.is_none(), "{text}");
        let line = |fault: &portolan_core::diagnostic::Diagnostic| {
            fault.span.map_or(0, |span| source.location(span.start).line)
        };
        let told = faults
            .iter()
            .map(|fault| format!("{}: {}; {}\n", line(fault), fault.message, fault.help.clone().unwrap_or_default()));
        told.collect::<String>()
    };
    let wrong = "zone: {}\nzones:\n  a: {paths: 3, require: human}\n  b: {}\nshapes:\n  feature: {evidence: [owsap]}\n  epic: {}\nverdicts:\n  thresholds: {minScopeMatch: 2, maxFindings: -1}\n  autoMerge: {enabled: 1, excludeZones: [c]}\n";
    expect![[r#"
        1: a merge policy has no `zone`; did you mean `zones`?
        1: `excludeZones` names `c`, which is not a zone; 
        3: zone `a` has no `paths`, so nothing belongs to it; 
        3: `paths` must be a list of texts, but is a number; 
        3: `require` cannot be `human`; did you mean `human-review`?
        4: zone `b` has no `paths`, so nothing belongs to it; 
        6: `evidence` cannot be `owsap`; did you mean `owasp`?
        7: `shapes` has no `epic`; the allowed fields are `feature`, `fix`, `refactor`, `test`, `docs` and `chore`
        9: `minScopeMatch` must be a number from 0 to 1; 
        9: `maxFindings` must be a whole number, 0 or more; 
        10: `enabled` must be true or false; 
    "#]]
    .assert_eq(&faults(wrong));
    expect![[r#"
        1: a merge policy must be an object, but is an array; 
    "#]]
    .assert_eq(&faults("[]"));
    assert!(Policy::read(&Source::new("merge-policy.yaml", ZONES)).1.is_empty());
}

proptest! {
    #[test]
    fn a_rename_removes_nothing(body in "(pub fn [a-z]{1,5}\\(\\) \\{\\}\n|#\\[test\\]\nfn [a-z]{1,5}\\(\\) \\{\n    assert!\\(x\\);\n\\}\n){0,6}") {
        let case = branch("feat: x").renamed("src/a.rs", "src/b.rs", &body, &body);
        prop_assert_eq!(case.says(), "Pass 1\n");
    }

    #[test]
    fn the_order_of_files_does_not_matter(names in prop::collection::vec("[a-c]{1,2}", 1..6), seed in any::<prop::sample::Index>()) {
        let mut case = branch("refactor: x");
        for (at, name) in names.iter().enumerate() {
            let body = format!("pub fn {name}() {{}}\n");
            let (before, after) = if at % 2 == 0 { (body.as_str(), "") } else { ("", body.as_str()) };
            case = case.file(&format!("src/{at}.rs"), before, after);
        }
        let said = case.says();
        let turn = seed.index(case.diff.files.len());
        case.diff.files.rotate_left(turn);
        prop_assert_eq!(case.says(), said);
    }

    #[test]
    fn whatever_a_file_holds_it_is_read(path in "(a\\.rs|a\\.ts|a\\.py|a\\.go|Cargo\\.toml|package\\.json|go\\.mod|\\.github/workflows/a\\.yml)", before in "[pub fnexrtaslif{}\\[\\]()#:@\"'`.=, \n\té]{0,80}", after in "\\PC{0,40}") {
        branch("fix: x").file(&path, &before, &after).ruling();
    }
}
