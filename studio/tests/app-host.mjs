// A client's part in the browser, of ext-apps' own pieces: a frame, and the bridge to the page in it. It is compiled by the test.
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

/** Shows the page at an address, as the view of a call and its result. */
window.show = async (url, args, result) => {
  const frame = document.createElement("iframe");
  frame.title = "A run";
  frame.sandbox = "allow-scripts";
  frame.style.width = "720px";
  document.body.append(frame);
  const bridge = new AppBridge(null, { name: "conversation", version: "1" }, { serverTools: {}, message: { text: {} } }, { hostContext: { theme: "light", displayMode: "inline" } });
  bridge.oncalltool = (params) => window.serve("tools/call", params);
  bridge.onmessage = async (params) => (await window.serve("message", params), {});
  bridge.onsizechange = ({ height }) => { frame.style.height = `${height}px`; };
  const begun = new Promise((resolve) => { bridge.oninitialized = resolve; });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = url;
  await begun;
  await bridge.sendToolInput({ arguments: args });
  await bridge.sendToolResult(result);
};
