//! YAML in, the tree or the diagnostics out.

use expect_test::{Expect, expect, expect_file};

use crate::source::{MAX_SOURCE_BYTES, Source, Tree, TreeKind, parse, parse_yaml};

/// Formats every value with the text that its span covers, and every diagnostic with its location.
fn story(text: &str) -> String {
    let source = Source::new("t.yaml", text);
    let (tree, faults) = parse_yaml(&source);
    let mut lines = Vec::new();
    if let Some(tree) = &tree {
        show(&source, "", tree, &mut lines);
    }
    for fault in &faults {
        assert!(["syntax", "too-large"].contains(&fault.code), "{fault:?}");
        let at = fault.span.map(|span| source.location(span.start));
        let at = at.map_or("-".to_owned(), |at| format!("{}:{}", at.line, at.column));
        lines.push(format!("{at} {}\n    help: {}", fault.message, fault.help.as_deref().unwrap_or("-")));
    }
    lines.join("\n") + "\n"
}

fn show(source: &Source, path: &str, tree: &Tree, lines: &mut Vec<String>) {
    let at = source.location(tree.span.start);
    let place = format!("{}:{} {:?}", at.line, at.column, &source.text[tree.span.start..tree.span.end]);
    match &tree.kind {
        TreeKind::Array(items) => {
            lines.push(format!("{path} [] {place}"));
            for (index, item) in items.iter().enumerate() {
                show(source, &format!("{path}/{index}"), item, lines);
            }
        }
        TreeKind::Object(entries) => {
            lines.push(format!("{path} {{}} {place}"));
            for entry in entries {
                let key = &source.text[entry.key.span.start..entry.key.span.end];
                let mark = if key == entry.key.value { String::new() } else { format!("({key})") };
                show(source, &format!("{path}/{}{mark}", entry.key.value), &entry.value, lines);
            }
        }
        _ => lines.push(format!("{path} = {} {place}", tree.value())),
    }
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&story(text));
}

/// Returns the value of a text without its spans.
fn value(text: &str) -> String {
    let (tree, faults) = parse(&Source::new("t.yaml", text));
    assert!(faults.is_empty(), "{text}: {faults:?}");
    tree.expect("a tree").value().to_string()
}

#[test]
fn every_value_knows_where_it_stands() {
    check(
        "a: one\nb:\n  - 'tw''o'\n  - \"thr\\u00e9e\"\n  - {x: [1, 2], y}\né→: ü # c\n",
        &expect![[r#"
             {} 1:1 "a: one\nb:\n  - 'tw''o'\n  - \"thr\\u00e9e\"\n  - {x: [1, 2], y}\né→: ü"
            /a = "one" 1:4 "one"
            /b [] 3:3 "- 'tw''o'\n  - \"thr\\u00e9e\"\n  - {x: [1, 2], y}"
            /b/0 = "tw'o" 3:5 "'tw''o'"
            /b/1 = "thrée" 4:5 "\"thr\\u00e9e\""
            /b/2 {} 5:5 "{x: [1, 2], y}"
            /b/2/x [] 5:9 "[1, 2]"
            /b/2/x/0 = 1 5:10 "1"
            /b/2/x/1 = 2 5:13 "2"
            /b/2/y = null 5:18 ""
            /é→ = "ü" 6:5 "ü"
        "#]],
    );
}

#[test]
fn a_block_stands_where_its_header_does() {
    check(
        "a: | # why\n\n  one\n    two\n\nb: &x !!str >-\n  fol\n  ded\nc:\n  - - |+2\n      x\n\n  - |\nd: 1\n",
        &expect![[r#"
         {} 1:1 "a: | # why\n\n  one\n    two\n\nb: &x !!str >-\n  fol\n  ded\nc:\n  - - |+2\n      x\n\n  - |\nd: 1"
        /a = "\none\n  two\n" 1:4 "| # why\n\n  one\n    two"
        /b = "fol ded" 6:13 ">-\n  fol\n  ded"
        /c [] 10:3 "- - |+2\n      x\n\n  - |"
        /c/0 [] 10:5 "- |+2\n      x"
        /c/0/0 = "x\n\n" 10:7 "|+2\n      x"
        /c/1 = "" 13:5 "|"
        /d = 1 14:4 "1"
    "#]],
    );
}

#[test]
fn line_ends_of_every_kind_are_line_ends() {
    check(
        "a: 1\r\nb: |\r\n  x\r\n  y\r\nc:\r\n  - d\r\n",
        &expect![[r#"
         {} 1:1 "a: 1\r\nb: |\r\n  x\r\n  y\r\nc:\r\n  - d"
        /a = 1 1:4 "1"
        /b = "x\ny\n" 2:4 "|\r\n  x\r\n  y"
        /c [] 6:3 "- d"
        /c/0 = "d" 6:5 "d"
    "#]],
    );
}

/// Words whose meanings `words.txt` lists.
const WORDS: &[&str] = &[
    "true",
    "True",
    "FALSE",
    "null",
    "~",
    "",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "tRue",
    "12",
    "-0",
    "+12",
    "012",
    "0o14",
    "0x1F",
    "-0x1F",
    "1_000",
    "0b1",
    "1.5",
    ".5",
    "1.",
    "-.5e3",
    "1e3",
    "1E+3",
    "1e",
    ".",
    "-",
    "+",
    "1.2.3",
    "12:30",
    "2026-01-02",
    "0xffffffffffffffffffffffffffffffff",
    "12345678901234567890123",
    "0.1000",
    "'12'",
    "\"true\"",
    "$.a.b",
    "a#b",
    "a:b",
    "-a",
    "?a",
    ":a",
    "http://x/y?z",
    "!!str 12",
    "! 12",
    "!!int \"12\"",
    "!!float 1",
    "!!null ''",
    "!!seq [1]",
    "!!map {}",
];

#[test]
fn words_mean_what_the_core_schema_says() {
    let lines: Vec<String> = WORDS.iter().map(|word| format!("{word:<12} {}\n", value(&format!("- {word}")))).collect();
    expect_file!["words.txt"].assert_eq(&lines.concat());
}

#[test]
fn what_json_cannot_say_is_reported_and_the_rest_is_read() {
    check(
        "a: .inf\nb: -.Inf\nc: .nan\nd: 1e999\ne: !env HOME\nf: !!int x\ng: !!binary aGk=\nh: !set {a: 1}\n",
        &expect![[r#"
             {} 1:1 "a: .inf\nb: -.Inf\nc: .nan\nd: 1e999\ne: !env HOME\nf: !!int x\ng: !!binary aGk=\nh: !set {a: 1}"
            /a = ".inf" 1:4 ".inf"
            /b = "-.Inf" 2:4 "-.Inf"
            /c = ".nan" 3:4 ".nan"
            /d = null 4:4 "1e999"
            /e = "HOME" 5:9 "HOME"
            /f = "x" 6:10 "x"
            /g = "aGk=" 7:13 "aGk="
            /h {} 8:9 "{a: 1}"
            /h/a = 1 8:13 "1"
            1:4 `.inf` is a number that JSON cannot represent
                help: write another number, or put it in quotes if it is meant as text
            2:4 `-.Inf` is a number that JSON cannot represent
                help: write another number, or put it in quotes if it is meant as text
            3:4 `.nan` is a number that JSON cannot represent
                help: write another number, or put it in quotes if it is meant as text
            4:4 the number `1e999` is too large to compute with
                help: write it as a string, in double quotes
            5:4 the tag `!env` has no meaning here
                help: remove it: values are objects, lists, texts, numbers, booleans and null
            6:10 `x` does not match its tag `!!int`
                help: remove the tag, or write a value that matches it
            7:4 the tag `!!binary` has no meaning here
                help: remove it: values are objects, lists, texts, numbers, booleans and null
            8:4 the tag `!set` has no meaning here
                help: remove it: values are objects, lists, texts, numbers, booleans and null
        "#]],
    );
}

#[test]
fn keys_are_texts() {
    check(
        "1: a\ntrue: b\n~: c\n\"\": d\n'x y': e\n[1]: f\n{x: 1}: g\n: h\n? i\n? j\n: k\n",
        &expect![[r#"
         {} 1:1 "1: a\ntrue: b\n~: c\n\"\": d\n'x y': e\n[1]: f\n{x: 1}: g\n: h\n? i\n? j\n: k"
        /1 = "a" 1:4 "a"
        /true = "b" 2:7 "b"
        /~ = "c" 3:4 "c"
        /("") = "d" 4:5 "d"
        /x y('x y') = "e" 5:8 "e"
        /i = null 10:1 ""
        /j = "k" 11:3 "k"
        6:1 only a text can be a key
            help: write the key as a text before the `:`; a text that begins with `[`, `{` or `?` must be in quotes
        7:1 only a text can be a key
            help: write the key as a text before the `:`; a text that begins with `[`, `{` or `?` must be in quotes
        8:1 only a text can be a key
            help: write the key as a text before the `:`; a text that begins with `[`, `{` or `?` must be in quotes
    "#]],
    );
}

#[test]
fn repeated_keys_stay() {
    check(
        "a: 1\na: 2\n",
        &expect![[r#"
         {} 1:1 "a: 1\na: 2"
        /a = 1 1:4 "1"
        /a = 2 2:4 "2"
    "#]],
    );
}

#[test]
fn aliases_are_what_they_stand_for() {
    check(
        "a: &x {k: [1]}\nb: *x\nc: [*x, &y 2, *y]\n*y : d\n",
        &expect![[r#"
         {} 1:1 "a: &x {k: [1]}\nb: *x\nc: [*x, &y 2, *y]\n*y : d"
        /a {} 1:7 "{k: [1]}"
        /a/k [] 1:11 "[1]"
        /a/k/0 = 1 1:12 "1"
        /b {} 1:7 "{k: [1]}"
        /b/k [] 1:11 "[1]"
        /b/k/0 = 1 1:12 "1"
        /c [] 3:4 "[*x, &y 2, *y]"
        /c/0 {} 1:7 "{k: [1]}"
        /c/0/k [] 1:11 "[1]"
        /c/0/k/0 = 1 1:12 "1"
        /c/1 = 2 3:12 "2"
        /c/2 = 2 3:12 "2"
        /2 = "d" 4:6 "d"
    "#]],
    );
}

#[test]
fn an_anchor_that_is_written_again_counts_from_there_on() {
    assert_eq!(value("- &x 1\n- *x\n- &x 2\n- *x"), "[1,1,2,2]");
}

#[test]
fn merge_keys_bring_what_is_not_written_out() {
    assert_eq!(
        value("x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz:\n  d: 0\n  <<: [*x, *y]\n  a: 9\n"),
        r#"{"x":{"a":1,"b":2},"y":{"b":3,"c":4},"z":{"d":0,"b":2,"c":4,"a":9}}"#
    );
    assert_eq!(value("'<<': 1"), r#"{"<<":1}"#);
    check(
        "<<: 1\na: 2\n",
        &expect![[r#"
         {} 1:1 "<<: 1\na: 2"
        /a = 2 2:4 "2"
        1:1 `<<` merges an object or a list of objects, but this is neither
            help: write `<<: *name`, with `&name` before the object to merge; put `<<` in quotes if it is a key
    "#]],
    );
}

#[test]
fn bombs_do_not_go_off() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..40 {
        let before = format!("*a{}, ", level - 1).repeat(9);
        bomb += &format!("a{level}: &a{level} [{before}]\n");
    }
    check(
        &bomb,
        &expect![[r#"
        6:30 the aliases of the file repeat more than 4194304 bytes
            help: anchor smaller values, or repeat them less often
    "#]],
    );
    let text = "x".repeat(1 << 20);
    check(
        &format!("- &a {text}\n- *a\n- *a\n- *a\n- *a\n"),
        &expect![[r#"
        4:3 the aliases of the file repeat more than 4194304 bytes
            help: anchor smaller values, or repeat them less often
    "#]],
    );
    let nested: String = (0..200).map(|level| format!("&a{level} [")).collect();
    check(
        &format!("{nested}{}{}", "x,".repeat(10_000), "]".repeat(200)),
        &expect![[r#"
        1:968 the aliases of the file repeat more than 4194304 bytes
            help: anchor smaller values, or repeat them less often
    "#]],
    );
    check(
        "a: &a\n  b: [*a]\n",
        &expect![[r#"
        2:7 the alias `*a` is inside the value that it repeats
            help: a value cannot contain itself: write out the intended value
    "#]],
    );
    check(
        "a: &a [*a]\n",
        &expect![[r#"
        1:8 the alias `*a` is inside the value that it repeats
            help: a value cannot contain itself: write out the intended value
    "#]],
    );
}

#[test]
fn aliases_do_not_nest_deeper_than_values() {
    let mut deep = "- &a0 x\n".to_owned();
    for level in 1..100 {
        deep += &format!("- &a{level} [[[[[[*a{}]]]]]]\n", level - 1);
    }
    let found = story(&deep);
    assert_eq!(
        found,
        "87:14 the values nest deeper than 512 levels\n    help: move parts of it into files of their own\n"
    );
    let found = story(&"- ".repeat(600));
    assert_eq!(
        found,
        "1:1025 the values nest deeper than 512 levels\n    help: move parts of it into files of their own\n"
    );
    let found = story(&"[".repeat(600));
    assert!(found.starts_with("1:256 not valid YAML: too many brackets are open"), "{found}");
}

#[test]
fn a_large_text_is_read_in_linear_time_with_its_places() {
    let line = "- {né: \"→\", k: v}\n";
    let text = line.repeat(MAX_SOURCE_BYTES / line.len());
    let source = Source::new("t.yaml", &text);
    let (tree, faults) = parse_yaml(&source);
    assert!(faults.is_empty());
    let TreeKind::Array(items) = tree.expect("a tree").kind else { panic!("a list") };
    let span = items.last().expect("it has items").span;
    assert_eq!(&source.text[span.start..span.end], "{né: \"→\", k: v}");
    let (tree, faults) = parse_yaml(&Source::new("t.yaml", text + line));
    assert!(tree.is_none());
    assert_eq!(faults[0].code, "too-large");
}

#[test]
fn json_is_yaml() {
    let json = "{\n\t\"a\": [1, 2.50, null],\n\t\"b\": \"\\ud83d\\ude00\\/\"\n}";
    assert_eq!(value(json), r#"{"a":[1,2.5,null],"b":"😀/"}"#);
    let name = |name: &str, text: &str| {
        let (tree, faults) = parse(&Source::new(name, text));
        tree.map_or_else(|| faults[0].message.clone(), |tree| tree.value().to_string())
    };
    assert_eq!(name("a.yml", "{a: 1}"), r#"{"a":1}"#);
    assert_eq!(name("stdin", "{a: 1}"), r#"{"a":1}"#);
    assert_eq!(name("stdin", "a: 1"), r#"{"a":1}"#);
    assert_eq!(name("stdin", "{\"a\": 1"), "not valid JSON: unterminated object");
    assert_eq!(name("a.YAML", "{\"a\": 1"), "not valid YAML: the `{` that opens here is not closed");
    assert_eq!(name("a.json", "{a: 1}"), "not valid JSON: expected string for object property");
    assert_eq!(name("a.json", "a: 1"), "not valid JSON: unexpected word");
}

/// Texts that are not valid YAML, or only in part. `faults.txt` lists the diagnostics of each.
const FAULTY: &[&str] = &[
    "a:\n\t- b",
    "a: 1\n\tb: 2",
    "a:\n  b: 1\n  \tc: 2",
    "a: \"open\nb: c\n",
    "a: 'open",
    "a: \"x \\q\"",
    "a: \"\\ud83d\\ude00\"",
    "a: \"x\" y",
    "expr: $.x ? \"a\" : \"b\"",
    "a: b: c",
    "a: 1\n  b: 2",
    "a\nb: 1\n",
    "a: 1\n# c\nb\n\nc: 2",
    "a:\n    b: 2\n  c: 3",
    "a:\n  - b\n - c",
    "- a\nb: 1",
    "a: b\n- c",
    "a: - b",
    "a: [1, 2\nb: 3",
    "a: {x: 1\n",
    "a: {x: 1]",
    "a: ]",
    "a: [x y: z, {b c}",
    "a: *nope",
    "a: *.js",
    "a: @x",
    "a: %x",
    "a: `x`",
    "a: | x\n  y",
    "a: 1 # c\n b",
    "a: 1\n---\nb: 2\n",
    "a: !x!y z",
    "a: \u{1b}[31m",
    "a: b\u{feff}c",
    "a: b\n...\nc",
    "",
    "# only a remark\n",
    "%YAML 1.2\n---\na: 1\n...\n",
    "\u{feff}a: 1\n",
];

#[test]
fn what_is_no_yaml_has_one_fault_in_its_place() {
    let stories: Vec<String> = FAULTY.iter().map(|text| format!("--- {text:?}\n{}", story(text))).collect();
    expect_file!["faults.txt"].assert_eq(&stories.concat());
}

#[test]
fn a_text_that_ends_with_a_backslash_is_not_closed() {
    for text in ["\"\\", "a: [\"}]\\"] {
        let told = story(text);
        assert!(told.contains("that opens here is not closed"), "{told}");
    }
}

#[test]
fn a_list_without_brackets_begins_with_the_whole_of_its_first_character() {
    for text in ["a: \n- \u{85}", "- \u{2028}x: 1", "- - é"] {
        let source = Source::new("a.yaml", text);
        let (tree, _) = parse_yaml(&source);
        let tree = tree.expect("it is YAML");
        let value = tree.get("a").unwrap_or(&tree);
        let head = value.head();
        assert!(source.text.get(head.start..head.end).is_some_and(|head| !head.is_empty()), "{text:?}: {head:?}");
    }
}
