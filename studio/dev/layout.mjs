// A plain layered layout for the mock's drawings. The real one is the server's.

const GAP_X = 36;
const GAP_Y = 52;
const PAD = 24;
const HEAD = 40;

const sizeOf = (node) => {
  if (node.kind === "start" || node.kind === "end") return [168, 44];
  if (node.kind === "fork" || node.kind === "join") return [180, 28];
  if (node.kind === "checkpoint") return [224, 60];
  return [216, 56];
};

export function layout(nodes, edges, folded = [], opened = []) {
  const hidden = new Set();
  const byId = new Map(nodes.map((n) => [n.id, n]));
  const isOpen = (n) => n.container && (n.shut ? opened.includes(n.id) : !folded.includes(n.id));
  for (const n of nodes) {
    for (let p = byId.get(n.parent); p; p = byId.get(p.parent)) if (!isOpen(p)) hidden.add(n.id);
  }
  const shown = nodes.filter((n) => !hidden.has(n.id));
  const drawn = new Map();
  const lines = new Map();
  const group = (parent) => shown.filter((n) => (n.parent ?? null) === parent);
  const { width, height } = place(null, PAD, PAD);

  function place(parent, ox, oy) {
    const members = group(parent);
    const ids = new Set(members.map((n) => n.id));
    const local = edges.filter((e) => ids.has(e.from) && ids.has(e.to) && e.from !== e.to);
    const size = new Map();
    for (const n of members) {
      if (isOpen(n)) {
        const inner = place(n.id, 0, 0);
        size.set(n.id, [Math.max(240, inner.width + 2 * PAD), inner.height + HEAD + PAD]);
      } else size.set(n.id, sizeOf(n));
    }
    const back = new Set();
    const seen = new Map();
    const visit = (id) => {
      seen.set(id, 1);
      for (const e of local) {
        if (e.from !== id) continue;
        if (seen.get(e.to) === 1) back.add(e);
        else if (!seen.has(e.to)) visit(e.to);
      }
      seen.set(id, 2);
    };
    for (const n of members) if (!seen.has(n.id)) visit(n.id);
    const rank = new Map(members.map((n) => [n.id, 0]));
    for (let turn = 0, moved = true; moved && turn <= members.length; turn++) {
      moved = false;
      for (const e of local) {
        if (back.has(e) || rank.get(e.to) > rank.get(e.from)) continue;
        rank.set(e.to, rank.get(e.from) + 1);
        moved = true;
      }
    }
    const layers = [];
    const cells = [];
    const add = (cell) => {
      (layers[cell.rank] ??= []).push(cell);
      cells.push(cell);
      return cell;
    };
    const cellOf = new Map(members.map((n) => [n.id, add({ id: n.id, rank: rank.get(n.id), w: size.get(n.id)[0], h: size.get(n.id)[1], before: [] })]));
    const chains = new Map();
    for (const e of local) {
      if (back.has(e)) continue;
      const chain = [];
      let last = cellOf.get(e.from);
      for (let r = rank.get(e.from) + 1; r < rank.get(e.to); r++) {
        const cell = add({ rank: r, w: 12, h: 0, before: [last] });
        chain.push(cell);
        last = cell;
      }
      cellOf.get(e.to).before.push(last);
      chains.set(e, chain);
    }
    let y = 0;
    let width = 0;
    for (const layer of layers) {
      if (!layer) continue;
      layer.forEach((c, i) => (c.key = c.before.length ? c.before.reduce((s, b) => s + b.x + b.w / 2, 0) / c.before.length : i * 100));
      layer.sort((a, b) => a.key - b.key);
      let x = 0;
      const height = Math.max(...layer.map((c) => c.h));
      for (const c of layer) {
        c.x = x;
        c.y = y + (height - c.h) / 2;
        c.top = y;
        c.bottom = y + height;
        x += c.w + GAP_X;
      }
      layer.width = x - GAP_X;
      width = Math.max(width, layer.width);
      y += height + GAP_Y;
    }
    for (const layer of layers) for (const c of layer ?? []) c.x += (width - layer.width) / 2;
    for (const n of members) {
      const c = cellOf.get(n.id);
      drawn.set(n.id, { x: c.x, y: c.y, w: c.w, h: c.h, parent });
    }
    let side = 0;
    for (const e of local) {
      const [a, b] = [cellOf.get(e.from), cellOf.get(e.to)];
      const points = [];
      if (back.has(e)) {
        side += 1;
        const x = Math.max(...cells.filter((c) => c.rank >= b.rank && c.rank <= a.rank).map((c) => c.x + c.w)) + 14 + 8 * (side % 4);
        points.push([a.x + a.w, a.y + a.h / 2], [x, a.y + a.h / 2], [x, b.y + b.h / 2], [b.x + b.w, b.y + b.h / 2]);
        width = Math.max(width, x);
      } else {
        let [x, yy] = [a.x + a.w / 2, a.y + (["fork", "join"].includes(byId.get(e.from).kind) ? 8 : a.h)];
        points.push([x, yy]);
        for (const c of [...chains.get(e), b]) {
          const mid = c.top - GAP_Y / 2;
          const to = c.x + c.w / 2;
          if (Math.abs(to - x) > 1) points.push([x, mid], [to, mid]);
          x = to;
        }
        points.push([x, b.y]);
      }
      lines.set(e, { parent, points, back: back.has(e) });
    }
    return { width, height: Math.max(0, y - GAP_Y) };
  }

  const origin = (parent) => {
    if (parent === null) return [PAD, PAD];
    const d = drawn.get(parent);
    const [x, y] = origin(d.parent);
    return [x + d.x + PAD, y + d.y + HEAD];
  };
  const out = shown.map((n) => {
    const d = drawn.get(n.id);
    const [x, y] = origin(d.parent);
    return {
      id: n.id, parent: n.parent ?? null, node: n.id.split("/").pop(), flow: "", kind: n.kind, name: n.name, detail: n.detail ?? "",
      x: Math.round(x + d.x), y: Math.round(y + d.y), width: d.w, height: d.h,
      container: n.container ? (isOpen(n) ? "open" : "folded") : null,
      budget: n.budget ?? null, result: n.result ?? null, checks: n.checks ?? 0,
    };
  });
  const outEdges = [...lines].map(([e, l], i) => {
    const [x, y] = origin(l.parent);
    const points = l.points.map(([px, py]) => [Math.round(px + x), Math.round(py + y)]);
    const labelAt = l.back || points.length < 3 ? null : [points.at(-1)[0], points.at(-1)[1] - 18];
    return { id: `e${i}`, from: e.from, to: e.to, text: e.text ?? null, on: e.on ?? null, kind: e.kind ?? "done", implied: e.implied ?? false, back: l.back, points, labelAt };
  });
  return { form: "drawing/1", width: width + 2 * PAD, height: height + 2 * PAD, nodes: out, edges: outEdges };
}
