// The cases of `expressions.rs` with the reference implementation: `npm i jsonata@2.2.2`, then `node jsonata.mjs`.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// From the folder that it is started in: this one has no packages.
const jsonata = createRequire(process.cwd() + "/")("jsonata");
const cases = JSON.parse(readFileSync(new URL("expressions.json", import.meta.url)));

for (const { name, expression, data, times } of cases) {
  if (times) {
    data.items = Array.from({ length: times }, (_, nth) => ({ id: `item ${nth}`, price: (nth * 37) % 100, qty: nth % 7 }));
  }
  const compiled = jsonata(expression);
  let best = 0;
  for (let round = 0; round < 5; round++) {
    const begun = process.cpuUsage();
    let evaluations = 0;
    let used = 0;
    while (used < 1_000_000) {
      for (let n = 0; n < 200; n++) await compiled.evaluate(data);
      evaluations += 200;
      const { user, system } = process.cpuUsage(begun);
      used = user + system;
    }
    best = Math.max(best, (evaluations / used) * 1_000_000);
  }
  console.log(`${name}: ${Math.round(best)} a second of one core, best of 5`);
}
