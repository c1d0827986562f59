//! Activities: variables, conditions, questions whose answers have effects, loops.

use expect_test::expect;

use super::story;

/// An activity of one step with three exits.
const THREE_WAYS: &str = r#"
    var n number = 0
    start > a(activity) > work > leave(switch); a -skipped-> leave
    leave -[n >= 2]-> many; leave -[n == 1]-> one; leave > none
    many > done; one > done; none > done
"#;

#[test]
fn the_first_condition_that_holds_chooses_the_way_and_the_default_comes_last() {
    story(
        THREE_WAYS,
        r#"passed{"n":1} passed"#,
        expect![[r#"
                       work
        passed{"n":1}  one  n = 1, leave → one
        passed         done = success
    "#]],
    );
    story(
        THREE_WAYS,
        r#"passed{"n":7}"#,
        expect![[r#"
                       work
        passed{"n":7}  many  n = 7, leave → many
    "#]],
    );
    story(
        THREE_WAYS,
        "passed",
        expect![[r#"
                work
        passed  none  leave → none
    "#]],
    );
    story(
        THREE_WAYS,
        r#"[with {"n":2}] passed"#,
        expect![[r#"
                work
        passed  many  leave → many
    "#]],
    );
}

#[test]
fn where_no_condition_holds_and_there_is_no_default_a_person_is_asked() {
    let workflow = "lenient: var n number = 0; start > a(activity) > work > leave(switch); a -skipped-> leave; leave -[n == 1]-> done";
    story(
        workflow,
        "passed",
        expect![[r#"
                    work
            passed  leave? no progress <- none of the conditions `n == 1` holds, and there is no default
        "#]],
    );
}

#[test]
fn values_that_are_none_of_a_variable_change_nothing() {
    story(
        THREE_WAYS,
        r#"passed{"n":"2","m":1} passed{"n":null} passed{"n":2}"#,
        expect![[r#"
                                   work
            passed{"n":"2","m":1}  work  refused bad_outputs: the step does not give `m`; leave out what the step is not declared to give
            passed{"n":null}       work  refused bad_outputs: the outputs do not match the variables: `n` must be a number, but is null; give each a value of its type, and leave out what is not a variable
            passed{"n":2}          many  n = 2, leave → many
        "#]],
    );
    story(
        THREE_WAYS,
        r#"[with {"n":"2","x":1}]"#,
        expect![[r#"
        refused bad_input: the variables are not valid for `story`: `n` must be a number, but is a string; there is no variable `x`; give each a value of its type, and leave out what the workflow does not name
    "#]],
    );
    story(
        "var n number required; start > a(activity) > done; a -skipped-> done",
        "",
        expect![[r#"
        refused bad_input: the variables are not valid for `story`: `n` is required; give each a value of its type, and leave out what the workflow does not name
    "#]],
    );
}

#[test]
fn work_in_an_activity_is_done_or_passed_over_and_does_not_fail() {
    let workflow = "start > a(activity) > maybe(optional) > must > done; a -skipped-> done; maybe -skipped-> must";
    story(
        workflow,
        "failed skipped skipped passed",
        expect![[r#"
                 maybe
        failed   maybe  refused no_matching_edge: `failed` is not an outcome of `maybe`; report one of `passed` and `skipped` [passed, skipped]
        skipped  must
        skipped  must   refused no_matching_edge: `skipped` is not an outcome of `must`; report one of `passed` [passed]
        passed   done = success
    "#]],
    );
    story(
        workflow,
        "passed passed",
        expect![[r#"
                maybe
        passed  must
        passed  done = success
    "#]],
    );
}

#[test]
fn an_answer_sets_variables_leaves_activities_out_and_leads_elsewhere() {
    let workflow = r#"
        var mode string = "full"
        start > a(activity) > plan > how(ask quick,full,stop) > b(activity); a -skipped-> b
        how -quick-> b; how -full-> b; how -stop-> c
        effect how quick sets mode=quick skips b
        effect how stop sets mode=none
        b > build > c(activity); b -skipped-> c
        c > say > done; c -skipped-> done
    "#;
    story(
        workflow,
        "passed @maybe @quick passed",
        expect![[r#"
                plan
        passed  how?
        @maybe  how?  refused no_matching_edge: `maybe` is not an outcome of `how`; report one of `quick`, `full` and `stop` [quick, full, stop]
        @quick  say   mode = "quick", skips b
        passed  done = success
    "#]],
    );
    story(
        workflow,
        "passed full passed passed",
        expect![[r#"
                plan
        passed  how?
        full    build
        passed  say
        passed  done = success
    "#]],
    );
    story(
        workflow,
        "passed @stop",
        expect![[r#"
                plan
        passed  how?
        @stop   say  mode = "none"
    "#]],
    );
    story(
        workflow,
        "[verified] passed quick @quick",
        expect![[r#"
                plan
        passed  how?
        quick   how?  refused needs_person: `how` asks a person, and an answer from an agent does not count here; stop and let the person answer
        @quick  say   mode = "quick", skips b
    "#]],
    );
}

#[test]
fn what_is_left_as_done_sets_its_variables() {
    let workflow = r#"
        var n number
        start > a(activity sets n=1) > work(sets n=2) > leave(switch sets n=3) > done; a -skipped-> leave
        leave -[n == 3]-> three!failure
    "#;
    story(
        workflow,
        "passed",
        expect![[r#"
                work
        passed  three = failure  n = 2, n = 3, leave → three
    "#]],
    );
}

#[test]
fn coming_back_to_an_activity_begins_it_again() {
    let workflow = r#"
        var again boolean = true
        start > a(activity) > one > sure(ask yes,no) > leave(switch); a -skipped-> leave
        sure -yes-> leave; sure -no-> leave
        effect sure yes sets again=false
        leave -[again]-> a; leave > done
    "#;
    story(
        workflow,
        "passed @no passed @yes",
        expect![[r#"
                one
        passed  sure?
        @no     one             leave → a
        passed  sure?
        @yes    done = success  again = false, leave → done
    "#]],
    );
}

fn looping(words: &str) -> String {
    format!(
        r#"
        var items array = ["x", "y", "z"]
        var n number = 0
        start > a(activity) > l({words}); a -skipped-> after
        l -pass-> body(in l); body > end(repeat l in l) > l; l > after > done
        "#
    )
}

#[test]
fn a_loop_goes_through_its_items() {
    story(
        &looping("forEach items"),
        "passed passed passed passed",
        expect![[r#"
                l#1/body
        passed  l#2/body
        passed  l#3/body
        passed  after  l Done after 3
        passed  done = success
    "#]],
    );
    story(
        &looping("forEach items"),
        r#"[with {"items":[]}] passed"#,
        expect![[r#"
                after
        passed  done = success
    "#]],
    );
    story(
        &looping("forEach items"),
        r#"[with {"items":[1]}] passed passed"#,
        expect![[r#"
                l#1/body
        passed  after  l Done after 1
        passed  done = success
    "#]],
    );
    story(
        &looping("forEach items most 2 continues"),
        "passed passed passed",
        expect![[r#"
                    l#1/body
            passed  l#2/body
            passed  after <- "l" was ended after 2 passes, the maximum allowed  l Limit after 2
            passed  done = success
        "#]],
    );
    story(
        &looping("forEach items stop n!=0"),
        r#"passed passed{"n":1} passed"#,
        expect![[r#"
                       l#1/body
        passed         l#2/body
        passed{"n":1}  after  n = 1, l Broken after 2
        passed         done = success
    "#]],
    );
    story(
        &looping("forEach n"),
        "@failed",
        expect![[r#"
                 l? no progress <- `n` is not an array but a number
        @failed  l = failure
    "#]],
    );
    story(
        &looping("forEach nobody"),
        "@failed",
        expect![[r#"
                 l? no progress <- `nobody` has no value, but the loop iterates over its items
        @failed  l = failure
    "#]],
    );
}

#[test]
fn a_loop_goes_on_while_its_condition_holds() {
    story(
        &looping("while n<2"),
        r#"passed{"n":1} passed{"n":2} passed"#,
        expect![[r#"
                       l#1/body
        passed{"n":1}  l#2/body  n = 1
        passed{"n":2}  after     n = 2, l Done after 2
        passed         done = success
    "#]],
    );
    story(
        &looping("while n<2"),
        r#"[with {"n":2}] passed"#,
        expect![[r#"
                after
        passed  done = success
    "#]],
    );
    story(
        &looping("doWhile n<2"),
        r#"[with {"n":2}] passed passed"#,
        expect![[r#"
                l#1/body
        passed  after  l Done after 1
        passed  done = success
    "#]],
    );
    story(
        &looping("doWhile n<2 most 2 continues"),
        "passed passed passed",
        expect![[r#"
                    l#1/body
            passed  l#2/body
            passed  after <- "l" was ended after 2 passes, the maximum allowed  l Limit after 2
            passed  done = success
        "#]],
    );
}

#[test]
fn a_loop_that_is_cut_off_at_its_limit_has_failed() {
    for kind in ["forEach items", "while n<2", "doWhile n<2"] {
        story(
            &looping(&format!("{kind} most 2")),
            "passed passed @passed passed passed @failed",
            expect![[r#"
                         l#1/body
                passed   l#2/body
                passed   l? budget spent <- "l" was ended after 2 passes, the maximum allowed  l Limit after 2
                @passed  l#1/body
                passed   l#2/body
                passed   l? budget spent <- "l" was ended after 2 passes, the maximum allowed  l Limit after 2
                @failed  l = failure
            "#]],
        );
    }
    story(
        &looping("doWhile n<2 most 2"),
        r#"passed passed @passed passed{"n":2} passed"#,
        expect![[r#"
                           l#1/body
            passed         l#2/body
            passed         l? budget spent <- "l" was ended after 2 passes, the maximum allowed  l Limit after 2
            @passed        l#1/body
            passed{"n":2}  after                                                                 n = 2, l Done after 1
            passed         done = success
        "#]],
    );
}

#[test]
fn giving_up_in_a_pass_ends_the_flow_that_the_loop_stands_in() {
    story(
        r#"
            var items array = [1, 2]
            var n number = 0
            start > a(activity) > l(forEach items); a -skipped-> done
            l -pass-> m(doWhile n<2 most 1 in l); l > done
            m -pass-> body(in l/m); body > o(repeat m in l/m) > m; m > p(repeat l in l) > l
        "#,
        "passed @failed",
        expect![[r#"
                     l#1/m#1/body
            passed   l#1/m? budget spent <- "m" was ended after 1 passes, the maximum allowed  m Limit after 1
            @failed  l = failure
        "#]],
    );
}

#[test]
fn loops_stand_in_loops_and_a_pass_sees_its_own_item() {
    let workflow = r#"
        var rows array = [["a", "b"], []]
        var last string
        start > a(activity) > l(forEach rows as row); a -skipped-> done
        l -pass-> m(forEach row as cell in l); l > done
        m -pass-> look(switch in l/m); look > body(in l/m) > n(repeat m in l/m) > m; m > tidy(in l) > o(repeat l in l) > l
        look -[cell == b]-> special(in l/m); special > n
    "#;
    story(
        workflow,
        "passed passed passed passed",
        expect![[r#"
                l#1/m#1/body
        passed  l#1/m#2/special  look → special
        passed  l#1/tidy         m Done after 2
        passed  l#2/tidy         m Done after 0
        passed  done = success   l Done after 2
    "#]],
    );
}

#[test]
fn a_question_in_a_loop_is_asked_at_every_pass_and_may_lead_out_of_it() {
    let workflow = r#"
        var items array = [1, 2, 3]
        start > a(activity) > l(forEach items); a -skipped-> b
        l -pass-> work(in l); work > ok(ask yes,no,leave in l); end(repeat l in l) > l; l > b(activity)
        ok -yes-> end; ok -no-> work; ok -leave-> b
        b > last > done; b -skipped-> done
    "#;
    story(
        workflow,
        "passed @yes passed @no passed @leave passed",
        expect![[r#"
                l#1/work
        passed  l#1/ok?
        @yes    l#2/work
        passed  l#2/ok?
        @no     l#2/work
        passed  l#2/ok?
        @leave  last
        passed  done = success
    "#]],
    );
}

#[test]
fn a_workflow_is_handed_variables_and_gives_them_back() {
    let workflow = r#"
        var issue string = "7"
        var found number
        var other string = "mine"
        start > a(activity) > sub(runs child passes issue,found,other) > check(switch) > done; a -skipped-> done
        check -[found == 3]-> three!failure
        where child:
        var issue string = "none"
        var found number = 0
        var other number = 1
        start > c(activity) > look(switch) > work > done; c -skipped-> done
        look -[issue == "7"]-> seven; seven > done
    "#;
    story(
        workflow,
        r#"passed{"found":3}"#,
        expect![[r#"
                           sub/seven
        passed{"found":3}  three = failure  found = 3, issue = "7", found = 3, check → three
    "#]],
    );
}

#[test]
fn a_question_that_nobody_answers_answers_itself_in_time() {
    let workflow = r#"
        var n number
        start > a(activity) > ok(ask yes,no else no) > leave(switch) > done; a -skipped-> leave
        ok -yes-> leave; ok -no-> leave; effect ok no sets n=0
        leave -[n == 0]-> never; never > done
    "#;
    story(
        workflow,
        "early late late",
        expect![[r#"
                   ok?
            early  ok?                                                        nothing new
            late   never <- "ok" was not answered in time: it counts as "no"  n = 0, leave → never
            late   never <- "ok" was not answered in time: it counts as "no"  nothing new
        "#]],
    );
    story(
        workflow,
        "[verified] late",
        expect![[r#"
                  ok?
            late  ok?  nothing new
        "#]],
    );
    story(
        workflow,
        "@yes late",
        expect![[r#"
              ok?
        @yes  done = success  leave → done
        late  done = success  nothing new
    "#]],
    );
}

#[test]
fn the_agent_asks_what_the_workflow_does_not_and_goes_on_with_the_answer() {
    let workflow = "start > a(activity) > work > more > done; a -skipped-> done";
    story(
        workflow,
        "ask:left,right passed @left passed",
        expect![[r#"
                        work
        ask:left,right  work? raised
        passed          work? raised  refused no_matching_edge: `passed` is not an outcome of `work`; report one of `left` and `right` [left, right]
        @left           work <- which?: `left`
        passed          more
    "#]],
    );
    story(
        workflow,
        "[verified] ask:left,right left @right",
        expect![[r#"
                        work
        ask:left,right  work? raised
        left            work? raised  refused needs_person: `work` asks a person, and an answer from an agent does not count here; stop and let the person answer
        @right          work <- which?: `right`
    "#]],
    );
    story(
        workflow,
        "ask:only ask:a,a ask:a,b ask:a,b",
        expect![[r#"
                  work
        ask:only  work          refused bad_input: a question must have 2 to 20 options, but this one has 1; give the answers that the person can choose from
        ask:a,a   work          refused bad_input: the option `a` is given twice; give each option once
        ask:a,b   work? raised
        ask:a,b   work? raised  refused out_of_place: nothing can be asked at `work`: no work is in progress there; continue from the present situation
    "#]],
    );
}

#[test]
fn a_variable_takes_over_what_another_one_holds() {
    let copies = r#"
        var from array; var to array = ["old"]
        start > a(activity) > work > copied(switch sets to={from}) > look > done; a -skipped-> done
    "#;
    story(
        copies,
        r#"passed{"from":["new"]}"#,
        expect![[r#"
                                    work
            passed{"from":["new"]}  look  from = ["new"], to = ["new"], copied → look
        "#]],
    );
    // A variable without a value is not copied.
    story(
        copies,
        "passed",
        expect![[r#"
                    work
            passed  look  copied → look
        "#]],
    );
}

#[test]
fn in_a_loop_it_may_be_a_part_of_the_item_and_braces_around_anything_else_are_a_text() {
    story(
        r#"
        var list array; var last string = ""; var text string = ""
        start > a(activity) > fill > l(forEach list as it); a -skipped-> done
        l -pass-> kept(switch in l sets last={it.name},text={slug}); kept > turn(repeat l in l) > l
        l > look > done
        "#,
        r#"passed{"list":[{"name":"x"},{"name":"y"},{}]}"#,
        expect![[r#"
                                                           fill
            passed{"list":[{"name":"x"},{"name":"y"},{}]}  look  list = [{"name":"x"},{"name":"y"},{}], last = "x", text = "{slug}", kept → turn, last = "y", text = "{slug}", kept → turn, text = "{slug}", kept → turn, l Done after 3
        "#]],
    );
}

/// A question for each of several files, asked in a loop of an activity that may be repeated.
fn reviewed(how: &str) -> String {
    format!(
        r#"
        var files array
        start > a(activity) > list > l(forEach files as it); a -skipped-> done
        l -pass-> a.ok(ask yes,no per {{it.path}} {how} in l); a.ok -yes-> next(repeat l in l); a.ok -no-> mend(in l)
        mend > next
        next > l; l > then(ask leave,back); then -leave-> done; then -back-> a
        "#
    )
}

#[test]
fn a_question_for_each_of_several_things_is_asked_once_for_each() {
    story(
        &reviewed(""),
        r#"passed{"files":[{"path":"x"},{"path":"y"},{"path":"x"}]} @no passed @yes passed @leave"#,
        expect![[r#"
                                                                      list
            passed{"files":[{"path":"x"},{"path":"y"},{"path":"x"}]}  l#1/a.ok?  files = [{"path":"x"},{"path":"y"},{"path":"x"}]
            @no                                                       l#1/mend   _answered_a.ok#x = "no"
            passed                                                    l#2/a.ok?
            @yes                                                      l#3/mend   _answered_a.ok#y = "yes"
            passed                                                    then?      l Done after 3
            @leave                                                    done = success
        "#]],
    );
}

#[test]
fn the_next_visit_asks_again_unless_the_answer_holds_for_the_run() {
    let twice = r#"passed{"files":[{"path":"x"}]} @yes @back passed @yes @leave"#;
    story(
        &reviewed(""),
        twice,
        expect![[r#"
                                        list
        passed{"files":[{"path":"x"}]}  l#1/a.ok?  files = [{"path":"x"}]
        @yes                            then?      _answered_a.ok#x = "yes", l Done after 1
        @back                           list       _answered_a.ok#x = null
        passed                          l#1/a.ok?
        @yes                            then?      _answered_a.ok#x = "yes", l Done after 1
        @leave                          done = success
    "#]],
    );
    let once = r#"passed{"files":[{"path":"x"}]} @yes @back passed{"files":[{"path":"x"},{"path":"y"}]} @yes @leave"#;
    story(
        &reviewed("once"),
        once,
        expect![[r#"
                                                     list
        passed{"files":[{"path":"x"}]}               l#1/a.ok?  files = [{"path":"x"}]
        @yes                                         then?      _answered_a.ok#x = "yes", l Done after 1
        @back                                        list
        passed{"files":[{"path":"x"},{"path":"y"}]}  l#2/a.ok?  files = [{"path":"x"},{"path":"y"}]
        @yes                                         then?      _answered_a.ok#y = "yes", l Done after 2
        @leave                                       done = success
    "#]],
    );
}

#[test]
fn what_has_nothing_to_tell_it_by_is_asked_each_time() {
    story(
        &reviewed(""),
        r#"passed{"files":[{},{}]} @yes @yes"#,
        expect![[r#"
                                 list
        passed{"files":[{},{}]}  l#1/a.ok?  files = [{},{}]
        @yes                     l#2/a.ok?
        @yes                     then?      l Done after 2
    "#]],
    );
}
