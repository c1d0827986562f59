// A person at the screen of a definition, with mouse and keyboard.
import assert from "node:assert/strict";
import { studio } from "./suite.mjs";

/** What a person does on the screen of a definition. */
export class Hands {
  constructor(page) {
    this.page = page;
  }

  async at(definition, node) {
    await this.page.goto(studio.at(`/definition/${definition}?node=${node}`));
    await this.page.waitForSelector("aside[aria-label=Details] [data-form]");
  }

  /** A click with the mouse on a step of the graph. */
  async click(node) {
    // After a change the steps glide to their new places: a press and its release could be above two of them.
    await this.page.waitForFunction(() => document.querySelector(".react-flow").getAnimations({ subtree: true }).length === 0);
    await this.page.locator(`.react-flow__node[data-id="${node}"]`).click({ position: { x: 16, y: 12 } });
    await this.selected(node);
  }

  selected(node) {
    return this.page.waitForFunction((node) => new URLSearchParams(location.hash.split("?")[1]).get("node") === node, node);
  }

  async key(key) {
    await this.page.locator("[data-graph]").focus();
    await this.page.keyboard.press(key);
  }

  closed() {
    return this.page.waitForSelector("dialog", { state: "detached" });
  }

  async rename(to, select = to) {
    await this.key("F2");
    await this.page.waitForSelector("dialog[open]");
    await this.page.locator("dialog").getByLabel(/^Id/).fill(to);
    await this.page.keyboard.press("Enter");
    await this.selected(select);
    await this.closed();
  }

  /** Adds a step behind the one that is selected, from the palette: it is called before it is there. */
  async add(label, id, select = id, title = "") {
    const palette = this.page.locator("details.palette");
    if ((await palette.getAttribute("open")) === null) await palette.locator("summary").click();
    await palette.getByRole("button", { name: label, exact: true }).click();
    const dialog = this.page.locator("dialog");
    await dialog.waitFor();
    assert.ok(await dialog.getByRole("button", { name: "Add" }).isDisabled());
    if (title) await dialog.getByLabel(/^Name/).fill(title);
    else await dialog.getByLabel(/^Id/).fill(id);
    await this.page.keyboard.press("Enter");
    await this.selected(select);
    await this.closed();
  }

  async fill(label, value) {
    await this.page.locator("[data-form]").getByLabel(label, { exact: true }).first().fill(value);
    await this.page.keyboard.press("Tab");
    await this.page.waitForFunction((value) => document.querySelector(".code-host")?.shadowRoot?.textContent.includes(value), value);
  }

  async remove() {
    await this.key("Delete");
    await this.page.waitForSelector("dialog[open]");
    await this.page.keyboard.press("Enter");
    await this.closed();
  }

  /** Draws an edge, from the handle of a step to another one. */
  async drag(from, to) {
    const handle = await this.page.locator(`.react-flow__node[data-id="${from}"] .handle`).boundingBox();
    const target = await this.page.locator(`.react-flow__node[data-id="${to}"]`).boundingBox();
    await this.page.mouse.move(handle.x + handle.width / 2, handle.y + handle.height / 2);
    await this.page.mouse.down();
    await this.page.mouse.move(target.x + 16, target.y + 12, { steps: 4 });
    await this.page.mouse.up();
    await this.page.waitForSelector("dialog[open]");
  }

  /** A click with the mouse on an edge, or rather close to it: a line is thin. */
  async edge(id) {
    const { x, y } = await this.page.evaluate((id) => {
      const path = document.querySelector(`[data-edge="${id}"] .edge-hit`);
      const at = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
      return { x: at.x, y: at.y };
    }, id);
    await this.page.mouse.click(x + 4, y);
  }

  async save() {
    await this.page.keyboard.press("Control+s");
    await this.page.waitForSelector("dialog[open] .diff-lines");
    await this.page.locator("dialog .actions .primary").click();
    await this.closed();
  }
}
