// A form for what a run is given, from the JSON Schema of it. What a form cannot say is written as JSON.

type Schema = Record<string, unknown>;

export interface InputField {
  name: string;
  label: string;
  help: string;
  type: "text" | "number" | "integer" | "boolean" | "choice" | "json";
  /** What may be chosen, as JSON. */
  choices: string[];
  required: boolean;
  /** Shown to nobody: it is not taken over from an earlier run either. */
  secret: boolean;
  default: unknown;
  schema: Schema;
}

export type Read = { value: unknown } | { problem: string } | null;

/** The fields of an object, or nothing where the schema says more than a form can. */
export function fieldsOf(schema: unknown): InputField[] | null {
  if (!isSchema(schema)) return null;
  const root = resolve(schema, schema);
  if ((root.type !== undefined && root.type !== "object") || !isSchema(root.properties)) return null;
  if (["oneOf", "anyOf", "allOf", "if", "not", "patternProperties"].some((word) => word in root)) return null;
  if (isSchema(root.additionalProperties)) return null;
  const required = new Set(Array.isArray(root.required) ? root.required : []);
  return Object.entries(root.properties).map(([name, property]) => fieldOf(name, isSchema(property) ? resolve(property, schema) : {}, required.has(name)));
}

function fieldOf(name: string, schema: Schema, required: boolean): InputField {
  const choices = Array.isArray(schema.enum) ? schema.enum.map((choice) => JSON.stringify(choice)) : "const" in schema ? [JSON.stringify(schema.const)] : [];
  return {
    name,
    label: typeof schema.title === "string" ? schema.title : name,
    help: [schema.description, limitsOf(schema)].filter((part) => typeof part === "string" && part !== "").join(" "),
    type: choices.length > 0 ? "choice" : typeOf(schema),
    choices,
    required,
    secret: schema.writeOnly === true || schema.format === "password",
    default: schema.default,
    schema,
  };
}

/** A field of one plain type, which may also be null; everything else is JSON. */
function typeOf(schema: Schema): InputField["type"] {
  if (["oneOf", "anyOf", "allOf", "not", "if"].some((word) => word in schema)) return "json";
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((type) => type !== "null");
  const [type] = types;
  if (types.length !== 1) return "json";
  if (type === "string") return "text";
  return type === "number" || type === "integer" || type === "boolean" ? type : "json";
}

/** What `$ref` within the same schema stands for; `T or null` is read as `T`. */
function resolve(schema: Schema, root: Schema, depth = 0): Schema {
  if (depth > 8) return schema;
  const { $ref, ...rest } = schema;
  if (typeof $ref === "string" && $ref.startsWith("#/")) {
    let found: unknown = root;
    for (const part of $ref.slice(2).split("/")) found = isSchema(found) ? found[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
    return isSchema(found) ? resolve({ ...found, ...rest }, root, depth + 1) : rest;
  }
  const either = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(either) && either.length === 2) {
    const other = either.filter((option) => !(isSchema(option) && option.type === "null"));
    if (other.length === 1 && isSchema(other[0])) {
      const { anyOf: _any, oneOf: _one, ...around } = schema;
      return resolve({ ...other[0], ...around }, root, depth + 1);
    }
  }
  return schema;
}

function limitsOf(schema: Schema): string {
  const words: string[] = [];
  const say = (name: string, text: string) => typeof schema[name] === "number" && words.push(`${text} ${String(schema[name])}`);
  say("minimum", "at least");
  say("exclusiveMinimum", "more than");
  say("maximum", "at most");
  say("exclusiveMaximum", "less than");
  if (typeof schema.format === "string" && schema.format !== "password") words.push(`a ${schema.format}`);
  const type = "enum" in schema || "const" in schema ? "choice" : typeOf(schema);
  if (type === "integer") words.unshift("A whole number");
  else if (type === "json") words.unshift(`${schema.type === "array" ? "A list" : schema.type === "object" ? "An object" : "A value"} as JSON`);
  const text = words.join(", ");
  return text ? `${text[0]?.toUpperCase()}${text.slice(1)}.` : "";
}

/** The text that stands in a field for a value. */
export function inputText(field: InputField, value: unknown): string {
  if (value === undefined || (value === null && field.type !== "json" && field.type !== "choice")) return "";
  if (field.type === "boolean") return value === true ? "yes" : value === false ? "no" : "";
  if (field.type === "text" && typeof value === "string") return value;
  return field.type === "json" ? JSON.stringify(value, null, 2) : JSON.stringify(value);
}

/** What a text in a field means: a value, nothing, or why it is none. */
export function readInput(field: InputField, text: string): Read {
  if (text === "" || (field.type !== "text" && text.trim() === "")) return field.required && field.default === undefined ? { problem: "This is required." } : null;
  const { schema } = field;
  switch (field.type) {
    case "boolean":
      return { value: text === "yes" };
    case "choice":
      return { value: JSON.parse(text) as unknown };
    case "text":
      return orProblem(text, textProblem(text, schema));
    case "number":
    case "integer": {
      const number = Number(text);
      if (!Number.isFinite(number)) return { problem: "This has to be a number." };
      if (field.type === "integer" && !Number.isInteger(number)) return { problem: "This has to be a whole number." };
      return orProblem(number, numberProblem(number, schema));
    }
    default: {
      const read = readJson(text);
      return "value" in read ? orProblem(read.value, shapeProblem(read.value, schema)) : read;
    }
  }
}

export function readJson(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: `This is not JSON yet: ${(error as Error).message}` };
  }
}

export function readObject(text: string): { value: Record<string, unknown> } | { problem: string } {
  if (text.trim() === "") return { value: {} };
  const read = readJson(text);
  if ("problem" in read) return read;
  return isSchema(read.value) ? { value: read.value } : { problem: "This has to be an object, such as { \"folder\": \".\" }." };
}

const orProblem = (value: unknown, problem: string | null) => (problem === null ? { value } : { problem });

function textProblem(text: string, { minLength, maxLength, pattern }: Schema): string | null {
  const length = [...text].length;
  if (typeof minLength === "number" && length < minLength) return `This needs at least ${minLength} characters.`;
  if (typeof maxLength === "number" && length > maxLength) return `This may have at most ${maxLength} characters, and has ${length}.`;
  return typeof pattern === "string" && !matches(text, pattern) ? `This has to match ${pattern}` : null;
}

/** The server has the last word: what cannot be checked here passes. */
function matches(text: string, pattern: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true;
  }
}

function numberProblem(number: number, { minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): string | null {
  if (typeof minimum === "number" && number < minimum) return `This has to be at least ${minimum}.`;
  if (typeof maximum === "number" && number > maximum) return `This has to be at most ${maximum}.`;
  if (typeof exclusiveMinimum === "number" && number <= exclusiveMinimum) return `This has to be more than ${exclusiveMinimum}.`;
  if (typeof exclusiveMaximum === "number" && number >= exclusiveMaximum) return `This has to be less than ${exclusiveMaximum}.`;
  return null;
}

function shapeProblem(value: unknown, { type }: Schema): string | null {
  if (type === "array" && !Array.isArray(value)) return "This has to be a list, such as [1, 2].";
  if (type === "object" && !isSchema(value)) return "This has to be an object, such as { \"name\": 1 }.";
  return null;
}

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Where the server names fields in its refusal, such as `/a` or "it has no `b`": what it says of each.
 */
export function namedFields(message: string, fields: InputField[]): Record<string, string> {
  const said: Record<string, string> = {};
  for (const part of message.slice(message.indexOf(": ") + 1).split("; ")) {
    const name = /`\/([^`/]+)[^`]*`/.exec(part)?.[1] ?? /has no `([^`]+)`/.exec(part)?.[1];
    if (name !== undefined && fields.some((field) => field.name === name)) said[name] = /has no/.test(part) ? "This is required." : part.trim();
  }
  return said;
}
