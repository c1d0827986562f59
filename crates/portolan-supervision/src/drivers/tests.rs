//! The documented output of programs, and the results that drivers parse from it.

use std::path::Path;
use std::time::Duration;

use super::process::{Program, ProgramOutput, run};
use super::{SessionResult, claude, codex, gemini, opencode};

fn printed(out: &str) -> ProgramOutput {
    ProgramOutput { code: Some(0), out: out.to_owned(), complaint: String::new(), took_ms: 5 }
}

fn result_text(worked: &SessionResult) -> String {
    let usage = worked.usage.to_json();
    format!("{:?} {:?} {:?} {usage}", worked.final_message, worked.session, worked.failed)
}

#[test]
fn claude_tells_turns_tokens_and_costs() {
    let result = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":1200,"num_turns":3,
        "result":"done","session_id":"s-1","total_cost_usd":0.0123,
        "usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":85,"output_tokens":20}}"#;
    let expected = r#""done" Some("s-1") None {"turns":3,"tokensIn":100,"tokensOut":20,"costUsd":0.0123,"wallMs":1200,"toolCalls":null}"#;
    assert_eq!(result_text(&claude::session_result(&printed(result))), expected);
    let list = format!("[{{\"type\":\"system\"}},{result}]");
    assert_eq!(result_text(&claude::session_result(&printed(&list))), expected);
    let bare = claude::session_result(&printed(r#"{"type":"result","is_error":true,"result":"no credit"}"#));
    assert_eq!(
        result_text(&bare),
        r#""no credit" None Some("`claude` reports an error: no credit") {"turns":null,"tokensIn":null,"tokensOut":null,"costUsd":null,"wallMs":5,"toolCalls":null}"#
    );
    for text in ["", "not JSON", "{}", "[1]", "null"] {
        let worked = claude::session_result(&printed(text));
        assert_eq!(worked.failed.as_deref(), Some("`claude` did not answer with a result"), "{text}");
        assert_eq!(worked.usage.cost_micros, None);
    }
    let failed = ProgramOutput { code: Some(1), complaint: "a\nInvalid key\n".to_owned(), ..printed("") };
    assert_eq!(claude::session_result(&failed).failed.as_deref(), Some("`claude` exited with status 1: Invalid key"));
}

#[test]
fn codex_tells_tokens_and_no_costs() {
    let events = r#"{"type":"thread.started","thread_id":"th"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"i0","type":"command_execution","command":"ls","exit_code":0}}
{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"all done"}}
not a line of its own
{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":50,"output_tokens":7}}"#;
    assert_eq!(
        result_text(&codex::session_result(&printed(events))),
        r#""all done" Some("th") None {"turns":1,"tokensIn":100,"tokensOut":7,"costUsd":null,"wallMs":5,"toolCalls":1}"#
    );
    let failed = codex::session_result(&printed(r#"{"type":"turn.failed","error":{"message":"limit"}}"#));
    assert_eq!(failed.failed.as_deref(), Some("`codex` reports an error: limit"));
}

#[test]
fn gemini_tells_tokens_by_model() {
    let answer = r#"{"session_id":"g","response":"hi","stats":{"models":{"a":{"tokens":{"prompt":10,"candidates":2}},
        "b":{"tokens":{"prompt":5,"candidates":1}}},"tools":{"totalCalls":4}}}"#;
    assert_eq!(
        result_text(&gemini::session_result(&printed(answer))),
        r#""hi" Some("g") None {"turns":null,"tokensIn":15,"tokensOut":3,"costUsd":null,"wallMs":5,"toolCalls":4}"#
    );
    assert_eq!(gemini::session_result(&printed("plain text")).usage.tokens_in, None);
}

#[test]
fn opencode_tells_each_step() {
    let events = r#"{"type":"step_start","sessionID":"ses"}
{"type":"tool_use","sessionID":"ses","part":{"tool":"bash"}}
{"type":"text","sessionID":"ses","part":{"text":"ok"}}
{"type":"step_finish","sessionID":"ses","part":{"cost":0.5,"tokens":{"input":10,"output":3}}}
{"type":"step_finish","sessionID":"ses","part":{"tokens":{"input":1,"output":1}}}"#;
    assert_eq!(
        result_text(&opencode::session_result(&printed(events))),
        r#""ok" Some("ses") None {"turns":2,"tokensIn":11,"tokensOut":4,"costUsd":0.5,"wallMs":5,"toolCalls":1}"#
    );
}

async fn shell(text: &str, input: &str, deadline: Duration) -> Result<ProgramOutput, SessionResult> {
    let argv = ["sh", "-c", text].map(str::to_owned);
    run(Program { argv: &argv, folder: Path::new("/"), input, deadline, secrets: false }).await
}

#[tokio::test]
async fn a_program_reads_its_prompt_and_is_bounded_in_what_it_prints() {
    let long = Duration::from_secs(60);
    let echoed = shell("cat", "a prompt", long).await.expect("it ran");
    assert_eq!((echoed.code, echoed.out.as_str()), (Some(0), "a prompt"));
    let much = "i=0; while [ $i -lt 200 ]; do head -c 65536 /dev/zero | tr '\\0' x; i=$((i+1)); done; echo END";
    let much = shell(much, "", long).await.expect("it ran");
    assert!(much.out.len() <= 4 << 20 && much.out.trim_end().ends_with("END"));
    // A program that does not read a long prompt is not waited for, nor is one that leaves its pipes to another
    // process.
    let unread = shell("exit 0", &"x".repeat(1 << 20), long).await.expect("it ran");
    assert_eq!(unread.code, Some(0));
}

#[tokio::test]
async fn a_program_ends_at_its_deadline_with_everything_that_it_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let pid = folder.path().join("pid");
    let text = format!("sleep 600 & echo $! > {}; wait", pid.display());
    // Long enough for the shell to have started, and far shorter than the ten minutes that it would run.
    let failed = shell(&text, "", Duration::from_secs(2)).await.map(|_| ()).expect_err("it is stopped");
    assert_eq!(failed.failed.as_deref(), Some("`sh` took longer than 2 s and was stopped"));
    let pid: i32 = std::fs::read_to_string(&pid).expect("it began").trim().parse().expect("a number");
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    let mut looks = 0;
    while rustix::process::test_kill_process(pid).is_ok() && is_alive(pid) {
        looks += 1;
        assert!(looks < 1_000_000, "it is still there");
        tokio::task::yield_now().await;
    }
}

/// Checks whether a process is alive. A zombie is not.
fn is_alive(pid: rustix::process::Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}
