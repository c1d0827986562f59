export interface ServerEvent {
  event: string;
  data: string;
  id: string | null;
}

/** Parses server-sent events out of text that arrives in arbitrary pieces. */
export class EventParser {
  private rest = "";
  private event = "";
  private data: string[] = [];
  private id: string | null = null;

  push(piece: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    const text = this.rest + piece;
    let from = 0;
    for (;;) {
      const end = lineEnd(text, from);
      if (!end) break;
      this.line(text.slice(from, end.at), found);
      from = end.next;
    }
    this.rest = text.slice(from);
    return found;
  }

  private line(line: string, found: ServerEvent[]): void {
    if (line === "") {
      if (this.data.length > 0) {
        found.push({ event: this.event || "message", data: this.data.join("\n"), id: this.id });
      }
      this.event = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.event = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id" && !value.includes("\0")) this.id = value;
  }
}

/** The next end of a line; a trailing CR waits for its LF, which may be in the next piece. */
function lineEnd(text: string, from: number): { at: number; next: number } | null {
  for (let i = from; i < text.length; i++) {
    const char = text[i];
    if (char === "\n") return { at: i, next: i + 1 };
    if (char === "\r") {
      if (i + 1 === text.length) return null;
      return { at: i, next: text[i + 1] === "\n" ? i + 2 : i + 1 };
    }
  }
  return null;
}
