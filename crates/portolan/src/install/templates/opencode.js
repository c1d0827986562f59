// Made by `portolan install opencode`. It forwards each tool call to the program and decides nothing itself: whatever is
// not a clear yes, and any failure, throws, which keeps OpenCode from making the call.
import { spawn } from "node:child_process"

const PROGRAM = "@PROGRAM@"

const forward = (event, seconds, call) =>
  new Promise((resolve, reject) => {
    const child = spawn(PROGRAM, ["hook", "opencode", event], { cwd: call.cwd, stdio: ["pipe", "pipe", "pipe"] })
    const fail = (why) => (child.kill("SIGKILL"), reject(new Error(`portolan: ${why}`)))
    const timer = setTimeout(() => fail(`no answer within ${seconds} s`), seconds * 1000)
    let out = ""
    let err = ""
    child.stdout.on("data", (data) => (out += data))
    child.stderr.on("data", (data) => (err += data))
    child.stdin.on("error", () => {})
    child.on("error", (error) => (clearTimeout(timer), fail(error.message)))
    child.on("close", (status) => {
      clearTimeout(timer)
      if (status !== 0) return fail(err.trim() || `the hook ended with status ${status}`)
      try {
        const answer = JSON.parse(out)
        answer.decision === "allow" ? resolve(answer) : fail(answer.reason || "refused")
      } catch {
        fail("the hook gave no answer")
      }
    })
    child.stdin.end(JSON.stringify({ ...call, hook_event_name: event }))
  })

const call = (directory, input, args) => ({
  session_id: input.sessionID, tool_use_id: input.callID, cwd: directory, tool_name: input.tool, tool_input: args ?? {},
})

export const Portolan = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    await forward("tool.execute.before", 60, call(directory, input, output.args))
  },
  "tool.execute.after": async (input, output) => {
    const answer = await forward("tool.execute.after", 10, call(directory, input, input.args))
    if (answer.context) output.output = `${output.output ?? ""}\n${answer.context}`
  },
})
