// Bundles the tests and runs them with node's own runner: no test framework is needed.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const out = join(root, ".test");
rmSync(out, { recursive: true, force: true });
mkdirSync(out);
const files = readdirSync(join(root, "src"), { recursive: true }).filter((name) => name.endsWith(".test.ts")).map((name) => join("src", name));

await build({
  root, configFile: false, logLevel: "warn",
  build: { ssr: true, outDir: out, emptyOutDir: true, rolldownOptions: { input: files.map((file) => join(root, file)), output: { entryFileNames: "[name].mjs" } } },
});
const tests = [join(root, "dev/size.test.mjs"), ...readdirSync(out).filter((name) => name.endsWith(".test.mjs")).map((name) => join(out, name))];
process.exitCode = spawnSync(process.execPath, ["--test", ...tests], { stdio: "inherit" }).status ?? 1;
