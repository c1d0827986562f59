// The built page before a server of an older build: files come from `dist`, requests go to the server. So the page can be
// tried without building the binary anew.
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createServer, request as ask } from "node:http";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = join(dirname(fileURLToPath(import.meta.url)), "../../crates/portolan/studio/dist");
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };

export async function front(base, port = 0) {
  const target = new URL(base);
  const policy = (await fetch(base)).headers.get("content-security-policy");
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, base);
    if (!pathname.startsWith("/api/")) {
      const file = join(dist, pathname === "/" ? "index.html" : pathname.slice(1).replaceAll("/", ""));
      if (!existsSync(file)) return response.writeHead(404).end();
      response.writeHead(200, { "Content-Type": TYPES[extname(file)], "Content-Security-Policy": policy, "Cache-Control": "no-cache" });
      return createReadStream(file).pipe(response);
    }
    const { origin: _origin, referer: _referer, ...headers } = request.headers;
    const forward = ask({ host: "127.0.0.1", port: target.port, path: request.url, method: request.method, headers: { ...headers, host: target.host } }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forward.on("error", () => response.destroy());
    response.on("close", () => forward.destroy());
    request.pipe(forward);
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return { base: `http://localhost:${server.address().port}/`, port: server.address().port, close: () => (server.closeAllConnections(), server.close()) };
}

/**
 * The same at the server's own address, within a browser: passkeys are used under that, and the server knows no other.
 * Without PAGE=dist, the page is the one of the binary.
 */
export async function atOwnAddress(context) {
  if (process.env.PAGE !== "dist") return;
  let policy;
  await context.route(
    ({ pathname }) => !pathname.startsWith("/api/"),
    async (route) => {
      const { origin, pathname } = new URL(route.request().url());
      policy ??= (await fetch(origin)).headers.get("content-security-policy");
      const file = join(dist, pathname === "/" ? "index.html" : pathname.slice(1).replaceAll("/", ""));
      if (!existsSync(file)) return route.fulfill({ status: 404 });
      return route.fulfill({ headers: { "Content-Type": TYPES[extname(file)], "Content-Security-Policy": policy }, body: readFileSync(file) });
    },
  );
}
