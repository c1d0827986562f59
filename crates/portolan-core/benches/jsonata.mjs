// The cases of `expressions.rs` with the reference implementation, for as long as the lines that it reads say.
//
//   node jsonata.mjs FOLDER     FOLDER is where `npm install jsonata@2.2.2` was run
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";

const jsonata = createRequire(resolve(process.argv[2] ?? ".") + "/")("jsonata");
const cases = {};
for (const { name, expression, data, times } of JSON.parse(readFileSync(new URL("expressions.json", import.meta.url)))) {
  if (times) {
    data.items = Array.from({ length: times }, (_, nth) => ({ id: `item ${nth}`, price: (nth * 37) % 100, qty: nth % 7 }));
  }
  cases[name] = { compiled: jsonata(expression), data };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { name, ms } = JSON.parse(line);
  const { compiled, data } = cases[name];
  const begun = process.cpuUsage();
  let evaluations = 0;
  let used = 0;
  do {
    for (let n = 0; n < 200; n++) await compiled.evaluate(data);
    evaluations += 200;
    const { user, system } = process.cpuUsage(begun);
    used = user + system;
  } while (used < ms * 1000);
  console.log((evaluations / used) * 1_000_000);
}
