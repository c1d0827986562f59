// The page is at most 350 KB as it travels: all files of it, compressed with gzip. It is the page that was built last.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const MOST = 350_000;
const dist = join(import.meta.dirname, "../../crates/portolan/studio/dist");

test("the page is small", () => {
  const sizes = readdirSync(dist).map((file) => [file, gzipSync(readFileSync(join(dist, file)), { level: 9 }).length]);
  const all = sizes.reduce((sum, [, size]) => sum + size, 0);
  assert.ok(all > 100_000, "it was built");
  assert.ok(all <= MOST, `${all} bytes: ${sizes.map(([file, size]) => `${file} ${size}`).join(", ")}`);
});
