//! Expressions that would take all time or memory there is. Each is evaluated in a process of its own kind: with little
//! address space, on a thread with the stack of a worker, so that what is not bounded ends the process and is seen.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "the test starts a process, looks at its memory, and is told by it what came of an input"
)]

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use portolan_core::expr::{EXPRESSION_BOUNDS, Expr, JsonLogic, Jsonata, Scope};
use serde_json::{Value, json};

/// How much address space the process has, in KiB: the thread's stacks and the program itself included.
const ADDRESS_SPACE_KIB: u64 = 2 << 20;
/// How much one evaluation may make the process grow, in KiB.
const PEAK_KIB: u64 = 1 << 20;
/// How long one evaluation may take: its limit is a second, and the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);
/// The stack of a worker of the runtime.
const STACK_BYTES: usize = 2 << 20;

/// What an input comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// It passes a bound.
    Bounds,
    /// It fails for another reason, or cannot be read.
    Error,
    /// It has a value after all, or passes a bound on a slower machine.
    Either,
}
use End::{Bounds, Either, Error};

const DOUBLE: &str = "$d := function($f, $s, $n) { $n = 0 ? $s : $d($f, $f($s), $n - 1) };";

fn inputs() -> Vec<(End, String)> {
    let mut inputs: Vec<(End, String)> = FIXED.iter().map(|(end, text)| (*end, (*text).to_owned())).collect();
    let doubling = [
        "$s & $s",
        "[$s, $s]",
        "$append($s, $s)",
        "[[$s], [$s]]",
        "{'a': $s, 'b': $s}",
        "$zip($s, $s)",
        "$merge([{'a': $s}, {'b': $s}])",
        "$join([$string($s), $string($s)])",
        "$string([$s, $s])",
        "$map([1, 2], function($i) { $s })",
        "[1, 2].[$s]",
        "[1, 2].$s",
        "$base64encode($string($s))",
        "$encodeUrlComponent($string($s) & '%')",
        "$replace($string($s), /./, '$0$0')",
        "$replace($string($s), 'a', function($m) { 'aa' })",
        "$each({'a': 1, 'b': 2}, function($v) { $s })",
        "$eval('[$s, $s]')",
        "$reduce([1..2], function($a, $b) { [$a, $a] }, $s)",
        "$pad($string($s), 2 * $length($string($s)), 'a')",
        "$split($string($s) & ',a', '')",
        "$spread({'a': $s, 'b': $s})",
        "{'a': $s} ~> |$|{'b': $s}|",
        "[1, 2]{$string($): $s}",
        "$uppercase($string($s)) & $lowercase($string($s))",
        "[$s, $s]^($)",
        "($s; [$s, $s])[]",
        "$sort([$s, $s], function($l, $r) { false })",
    ];
    for body in doubling {
        inputs.push((Either, format!("({DOUBLE} $d(function($s) {{ {body} }}, 'a', 60))")));
        inputs.push((
            Either,
            format!("({DOUBLE} $x := $d(function($s) {{ {body} }}, ['a'], 60); $x = $x and $boolean($x))"),
        ));
    }
    let calls = [
        ("(", ")"),
        ("[", "]"),
        ("{'a': ", "}"),
        ("$string(", ")"),
        ("-", ""),
        ("$f(", ")"),
        ("function($x){", "}"),
        ("1 + ", "1"),
        ("a.(", ")"),
        ("a[", "]"),
        ("1 ? ", ": 1"),
        ("a ~> ", "b"),
        ("$eval(", ")"),
    ];
    for (open, close) in calls {
        for depth in [900, 8_000, 100_000] {
            inputs.push((Either, format!("{}1{}", open.repeat(depth), close.repeat(depth))));
        }
    }
    for (operator, times) in
        [("+", 16_000), ("&", 16_000), (".", 16_000), ("~>", 8_000), (" and ", 4_000), (" ?? ", 4_000), (":=", 8_000)]
    {
        inputs.push((Either, vec!["$x"; times].join(operator)));
    }
    inputs.push((Either, format!("[{}]", vec!["$string([1..1000000])"; 1_000].join(","))));
    inputs
}

const FIXED: &[(End, &str)] = &[
    (Bounds, "$pad('x', 1e12)"),
    (Bounds, "$pad('x', -1e12)"),
    (Bounds, "$pad('x', 1e9)"),
    (Bounds, "'x' ~> $pad(1e12)"),
    (Bounds, "('x').$pad(1e12)"),
    (Bounds, "($p := $pad; $p('x', 1e12))"),
    (Bounds, "($p := $pad(?, 1e12); $p('x'))"),
    (Bounds, "$map(['x'], function($s) { $pad($s, 1e12) })"),
    (Error, "($pad ~> $length)('x', 1e12)"),
    (Bounds, "$pad[0]('x', 1e12)"),
    (Bounds, "$eval(\"$pad('x', 1e12)\")"),
    (Bounds, "$map([\"$pad('x', 1e12)\"], $eval)"),
    (Bounds, "($e := $eval; $e(\"$pad('x', 1e12)\"))"),
    (Bounds, "$eval('$eval(\"$pad(1, 1e12)\")', 'x')"),
    (Bounds, "{'p': $pad}.p('x', 1e12)"),
    (Bounds, "[$pad][0]('x', 1e12)"),
    (Bounds, "function($p) { $p('x', 1e12) }($pad)"),
    (Bounds, "(true ? $pad : 1)('x', 1e12)"),
    (Bounds, "$string([1..5000000])"),
    (Bounds, "$string([1..1000000])"),
    (Bounds, "[1..1000000].$string($) ~> $join('')"),
    (Bounds, "$map([1..100], function($i) { [1..1000000] })"),
    (Bounds, "[1..1e14]"),
    (Bounds, "[0..9007199254740991]"),
    (Bounds, "[1..1000000].[1..1000000]"),
    (Bounds, "[1..1000000].{'a': $$, 'b': [1..1000]}"),
    (Either, "[1..1000000].{'a': 1, 'b': 2, 'c': 3}"),
    (Bounds, "$map([1..1000000], function($i) { $map([1..1000000], function($j) { $j }) })"),
    (Bounds, "$join($map([1..1000000], function($i) { 'abcdefgh' }), $pad('', 1000))"),
    (Bounds, "$formatNumber(1, $pad('', 1000000, '0'))"),
    (Bounds, "$formatNumber(1e300, '0', {'grouping-separator': $pad('', 2000)})"),
    (Bounds, "$formatInteger(1, $pad('', 1000000, '0'))"),
    (Either, "$formatInteger(1e300, 'w')"),
    (Either, "$formatInteger(1e300, 'I')"),
    (Either, "$formatInteger(1e15, 'A')"),
    (Either, "$formatInteger(99999999999, 'I')"),
    (Either, "$fromMillis(0, '[Y,1000000000-1000000000]')"),
    (Either, "$fromMillis(0, '[Y,999999-999999]')"),
    (Either, "$fromMillis(0, '[f,99999999-99999999]')"),
    (Either, "$fromMillis(1e308)"),
    (Either, "$toMillis('2020', '[Y,1000000000-*]')"),
    (Bounds, "$fromMillis(0, $pad('', 5000, '[Y]'))"),
    (Either, "$round(1.5, 1000000000)"),
    (Either, "$round(1.5, -1000000000)"),
    (Either, "$power(10, 308) * 10"),
    (Either, "$formatBase(1e300, 2)"),
    (Bounds, "$replace($pad('', 4000000, 'a'), 'a', $pad('', 4000000, 'b'))"),
    (Bounds, "$replace($pad('', 4000000, 'a'), /a/, $pad('', 4000000, 'b'))"),
    (Bounds, "$replace($pad('', 4000000, 'a'), /a+/, $pad('', 4000000, '$0'))"),
    (Bounds, "$replace($pad('', 4000000, 'a'), /a/, function($m) { $pad('', 4000000, 'b') })"),
    (
        Bounds,
        "$replace($pad('', 4000000, 'a'), function($s) { {'match': 'a', 'start': 0, 'end': 1, 'groups': [], 'next': function() { 1 }} }, 'b')",
    ),
    (
        Bounds,
        "($n := function() { {'match': 'a', 'start': 0, 'end': 1, 'groups': [], 'next': $n} }; $replace('abc', function($s) { $n() }, 'b'))",
    ),
    (
        Bounds,
        "($n := function() { {'match': 'a', 'start': 0, 'end': 1, 'groups': [], 'next': $n} }; $match('abc', function($s) { $n() }))",
    ),
    (Bounds, "$pad('', 4000000, 'a').$replace('a', $pad('', 4000000, 'b'))"),
    (Bounds, "$split($pad('', 4000000, 'a'), '')"),
    (Bounds, "$split($pad('', 4000000, 'a'), /a/)"),
    (Bounds, "$match($pad('', 4000000, 'a'), /a/)"),
    (Bounds, "$pad('', 4000000, 'a').$match(/a/)"),
    (Either, "$match($pad('', 100000, 'a'), /(a*)*b/)"),
    (Either, "$match($pad('', 100000, 'a'), /(a|a)*b/)"),
    (Either, "$contains($pad('', 1000000, 'a'), /^(a+)+$/)"),
    (Either, "$match('a', /((((a{1000}){1000}){1000}){1000})/)"),
    (Either, "$map([1..1000], function($i) { $match('a', /(a{500}){500}/) })"),
    (Bounds, "$map([1..1000000], function($i) { $pad('', 1000000) })"),
    (Bounds, "$map([1..1000000], function($i) { $uppercase($pad('', 1000000, 'a')) })"),
    (Bounds, "($s := $pad('', 4000000, 'a'); $map([1..100000], function($i) { $substring($s, 1) }))"),
    (Bounds, "($s := $pad('', 4000000, 'a'); $map([1..100000], function($i) { $s & 'b' }))"),
    (Bounds, "($s := $pad('', 4000000, 'a'); [1..1000000].$s)"),
    (Bounds, "($a := [1..1000000]; $map([1..1000000], function($i) { $a }))"),
    (Bounds, "($a := [1..1000000]; [1..1000000].[$a])"),
    (Bounds, "($a := [1..1000000]; $map([1..1000], function($i) { $reverse($a) }))"),
    (Bounds, "($a := [1..1000000]; $map([1..1000], function($i) { $filter($a, function($v) { true }) }))"),
    (Bounds, "($a := [1..1000000]; $map([1..1000], function($i) { $a[true] }))"),
    (Bounds, "($a := [1..1000000]; $map([1..1000], function($i) { $append($a, 1) }))"),
    (Bounds, "($a := [1..1000000]; $zip($a, $a, $a, $a, $a, $a, $a, $a))"),
    (Bounds, "$distinct([1..1000000].($string($) & 'x'))"),
    (Either, "$count($distinct([1..100000]))"),
    (Bounds, "$sort([1..1000000], function($a, $b) { $a < $b })"),
    (Either, "$sort([1..1000000])"),
    (Either, "$shuffle([1..1000000])"),
    (Either, "$merge([1..1000000].{$string($): $})"),
    (Either, "[1..1000000]{$string($): $}"),
    (Either, "[1..300000]{$string($): $} ~> $each(function($v, $k) { $k & $v })"),
    (Bounds, "($o := [1..100000].{'a': $}; {'o': $o} ~> |o|{'b': 1}|)"),
    (Bounds, "($f := function($n) { $f($n + 1) }; $f(0))"),
    (Bounds, "($f := function($n) { 1 + $f($n + 1) }; $f(0))"),
    (Bounds, "($f := function($n) { [$f($n + 1)] }; $f(0))"),
    (Bounds, "($f := function($n) { $g($n) }; $g := function($n) { $f($n) }; $f(0))"),
    (Bounds, "($f := function($n) { $map([1, 2], $f) }; $f(0))"),
    (Bounds, "($f := function($n) { $n.$f($) }; $f({'a': 1}))"),
    (Bounds, "(function($f) { $f($f) })(function($f) { $f($f) })"),
    (Bounds, "($e := \"$eval($e)\"; $eval($e))"),
    (Bounds, "($e := \"1 + $eval($e)\"; $eval($e))"),
    (Bounds, "$reduce([1..1000000], function($a, $b) { $append($a, $b) })"),
    (Bounds, "$reduce([1..1000000], function($a, $b) { $a & $b }, '')"),
    (Bounds, "[1..1000]@$a.[1..1000]@$b.[1..1000]@$c.{'a': $a}"),
    (Error, "[1..1000].(%.%.%; [1..1000000])"),
    (Bounds, "($a := [1..100000].{'k': $}; $a@$x.$a@$y[$x.k = $y.k].{'x': $x})"),
    (Either, "([1..1000000].{'a': [1, 2, 3]}).a.a.a"),
    (Either, "**.**.**.**"),
    (Either, "($x := [1..100000].{'a': {'b': {'c': 1}}}; $x.**.**)"),
    (Either, "$lookup([1..1000000].{'a': [1..3]}, 'a')"),
    (Bounds, "$base64encode($pad('', 4000000, 'a'))"),
    (Bounds, "$encodeUrl($pad('', 4000000, 'é'))"),
    (Bounds, "$encodeUrlComponent($pad('', 2000000, '%'))"),
    (Either, "$decodeUrlComponent($pad('', 4000000, '%41'))"),
    (Either, "$base64decode($pad('', 4000000, 'A'))"),
    (Either, "$parseInteger($pad('', 900, '9'), '0')"),
    (Either, "$number($pad('', 1000000, '9'))"),
    (Either, "$number('0x' & $pad('', 1000000, 'f'))"),
    (Either, "$length($pad('', 4000000, 'é'))"),
    (Either, "$sum([1..1000000])"),
    (Error, "function($x) { $x }"),
    (Error, "[1..3].(function($x) { $x })"),
];

fn data() -> Value {
    json!({ "a": { "b": [1, 2, 3] }, "text": "x".repeat(1_000), "rows": vec![json!({ "k": "x", "v": 1 }); 1_000] })
}

/// How many processes share the inputs: most of them take their whole second.
const SHARES: usize = 3;

#[test]
fn nothing_takes_all_time_or_memory_1() {
    share(0);
}

#[test]
fn nothing_takes_all_time_or_memory_2() {
    share(1);
}

#[test]
fn nothing_takes_all_time_or_memory_3() {
    share(2);
}

/// Every input of a share, in a process that goes on after the one that ended the last.
fn share(share: usize) {
    if std::env::var_os(CHILD).is_some() {
        let child = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || endure(share)).expect("a thread");
        return child.join().expect("no input makes it panic");
    }
    let inputs = inputs();
    let mut wrong = String::new();
    let mut from = share;
    while from < inputs.len() {
        let limited = format!(
            "ulimit -v {ADDRESS_SPACE_KIB}; exec \"$0\" --exact nothing_takes_all_time_or_memory_{} --nocapture",
            share + 1
        );
        let done = Command::new("sh")
            .args(["-c", &limited])
            .arg(std::env::current_exe().expect("this test"))
            .env(CHILD, from.to_string())
            .output()
            .expect("a shell");
        let told = String::from_utf8_lossy(&done.stdout).into_owned();
        for line in told.lines().filter_map(|line| line.strip_prefix("hostile ")) {
            let told: Outcome = serde_json::from_str(line).expect("an outcome");
            judge(&inputs[told.nth], &told, &mut wrong);
            from = told.nth + SHARES;
        }
        if !done.status.success() && from < inputs.len() {
            let _ = writeln!(wrong, "{}: the process ended with {}", clip(&inputs[from].1), done.status);
            from += SHARES;
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Tells the child from the parent, and the child where to begin.
const CHILD: &str = "EXPRESSIONS_HOSTILE_CHILD";

#[derive(serde::Serialize, serde::Deserialize)]
struct Outcome {
    nth: usize,
    code: String,
    message: String,
    ms: u64,
    peak_kib: u64,
}

fn judge((end, text): &(End, String), told: &Outcome, wrong: &mut String) {
    let is = match told.code.as_str() {
        EXPRESSION_BOUNDS => Bounds,
        "value" => Either,
        _ => Error,
    };
    let ended = *end == Either || is == *end;
    if std::env::var_os("EXPRESSIONS_HOSTILE_SHOW").is_some() {
        println!(
            "{:>6} ms {:>7} MiB {:>18} {}  <- {}",
            told.ms,
            told.peak_kib >> 10,
            told.code,
            clip(&told.message),
            clip(text)
        );
    }
    if !ended || told.ms > PATIENCE.as_millis() as u64 || told.peak_kib > PEAK_KIB {
        let Outcome { code, message, ms, peak_kib, .. } = told;
        let _ = writeln!(wrong, "{}: {code} {message}, {ms} ms, {} MiB", clip(text), peak_kib >> 10);
    }
}

/// Evaluates the inputs from the one that the parent names, telling of each.
fn endure(share: usize) {
    let from: usize = std::env::var(CHILD).expect("a number").parse().expect("a number");
    let data = data();
    for (nth, (_, text)) in inputs().iter().enumerate().skip(from).filter(|(nth, _)| nth % SHARES == share) {
        let before = forget_peak();
        let begun = Instant::now();
        let (code, message) = match Jsonata::parse(text) {
            Err(fault) => ("parse".to_owned(), fault.message),
            Ok(expression) => match Expr::Jsonata(expression).eval(&Scope::of(&data)) {
                Ok(_) => ("value".to_owned(), String::new()),
                Err(fault) => (fault.code.to_owned(), fault.message),
            },
        };
        let ms = begun.elapsed().as_millis() as u64;
        let outcome = Outcome { nth, code, message, ms, peak_kib: peak().saturating_sub(before) };
        println!("hostile {}", serde_json::to_string(&outcome).expect("it can be written"));
    }
}

fn peak() -> u64 {
    memory("VmHWM:")
}

fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("it tells the peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Begins a new peak; where the process may not, the old one stands and the later inputs look cheaper.
fn forget_peak() -> u64 {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    memory("VmRSS:")
}

fn clip(text: &str) -> String {
    if text.chars().count() > 110 {
        format!("{}…", text.chars().take(110).collect::<String>())
    } else {
        text.to_owned()
    }
}

#[test]
fn a_hostile_rule_is_a_fault() {
    let nested = (0..300).fold(json!(true), |inner, _| json!({ "!": [inner] }));
    assert!(JsonLogic::parse(&nested).expect_err("too deep").message.contains("deeper"));
    let xs: Vec<u32> = (0..10_000).collect();
    let data = json!({ "xs": xs, "s": "x".repeat(1 << 20) });
    let rules = [
        json!({ "map": [{ "var": "xs" }, { "map": [{ "var": "$$.xs" }, 1] }] }),
        json!({ "reduce": [{ "var": "xs" }, { "merge": [{ "var": "accumulator" }, { "var": "accumulator" }] }, [1]] }),
        json!({ "reduce": [{ "var": "xs" }, { "cat": [{ "var": "accumulator" }, { "var": "accumulator" }] }, "x"] }),
        json!({ "reduce": [{ "var": "xs" }, [{ "var": "accumulator" }, { "var": "accumulator" }], "x"] }),
        json!({ "map": [{ "merge": [{ "var": "xs" }] }, { "cat": vec![json!({ "var": "" }); 1_000] }] }),
    ];
    for rule in rules {
        let parsed = JsonLogic::parse(&rule).expect("it is a rule");
        let fault = Expr::Logic(parsed).eval(&Scope::of(&data));
        assert!(
            fault.as_ref().is_ok_and(|value| value.is_some())
                || fault.is_err_and(|fault| fault.code == EXPRESSION_BOUNDS),
            "{rule}"
        );
    }
    // One text, taken ten thousand times.
    let taken = json!({ "map": [{ "var": "xs" }, { "cat": ["a", { "var": "$string(1)" }] }] });
    assert!(Expr::Logic(JsonLogic::parse(&taken).expect("it is a rule")).eval(&Scope::of(&data)).is_ok());
}
