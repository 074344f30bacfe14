import { RheoError } from "./errors.ts";
import type { Event, EventInput, Json } from "./event.ts";
import { LIMITS } from "./limits.ts";
import { parseName } from "./names.ts";
import { parseNumber, parseOptions, readable, unreadable } from "./options.ts";
import { normalisePayload } from "./payload.ts";

/** The part of a Standard Schema (standardschema.dev) that is used: zod, valibot, arktype and others all have it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    /** Checks a value, and may change it. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** Gives the payload of one version in the shape of the next. Pure; it gets a frozen value and may return any JSON. */
export type Upcaster = (payload: unknown, event: Event<unknown>) => unknown;

/** A stream with a type: every call takes it in place of the name, and payloads are checked at append. */
export interface StreamDefinition<Output = Json, Input = Output> {
  readonly name: string;
  readonly partitions: number;
  readonly schema: StandardSchema<Input, Output> | null;
  /** Of the payloads that are appended: `metadata.schemaVersion`. Null: not versioned. */
  readonly version: number | null;
  /** From version 1 to 2, from 2 to 3, and so on. */
  readonly upcasters: readonly Upcaster[];
}

/** The name of a stream, or its definition. */
export type StreamRef<Output = Json, Input = unknown> = string | StreamDefinition<Output, Input>;

const MAX_VERSION = 10_000;

/**
 * Names a stream once, with its partition count (default 1), the schema of its payloads, and their version. With a `version`, events are appended
 * with it as `metadata.schemaVersion`, and older ones (without one: version 1) are given to readers in the newest shape, step by step
 * through `upcasters`: `{ 1: (payload) => …, 2: … }`, one for each version before. The log is not touched.
 * @throws invalid_name, invalid_option
 */
export const defineStream = <Input = unknown, Output = Json>(options: {
  readonly name: string;
  readonly partitions?: number;
  readonly schema?: StandardSchema<Input, Output>;
  /** 1–10,000. */
  readonly version?: number;
  readonly upcasters?: Readonly<Record<number, Upcaster>>;
}): StreamDefinition<Output, Input> => {
  const raw = parseOptions("defineStream", options, ["name", "partitions", "schema", "version", "upcasters"]);
  if (options.schema !== undefined && typeof options.schema?.["~standard"]?.validate !== "function") {
    throw new RheoError("invalid_option", "schema is a Standard Schema, such as one of zod, valibot or arktype.", {
      path: "schema",
    });
  }
  const version = raw.version === undefined ? null : parseNumber("version", raw.version, { min: 1, max: MAX_VERSION });
  return Object.freeze({
    name: parseName("stream", raw.name),
    partitions: parseNumber("partitions", raw.partitions, { min: 1, max: LIMITS.partitions, fallback: 1 }),
    schema: options.schema ?? null,
    version,
    upcasters: parseUpcasters(raw.upcasters, version ?? 1),
  });
};

const parseUpcasters = (value: unknown, version: number): readonly Upcaster[] => {
  const given = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const steps = new Map<string, unknown>(given);
  const upcasters = Array.from({ length: version - 1 }, (_, index) => steps.get(String(index + 1)));
  if (given.length === version - 1 && upcasters.every((step): step is Upcaster => typeof step === "function"))
    return Object.freeze(upcasters);
  const wanted =
    version === 1 ? "none are needed without a version above 1" : `one function for each version from 1 to ${version - 1}`;
  throw new RheoError("invalid_option", `upcasters: ${wanted}; got ${given.map(([name]) => name).join(", ") || "none"}.`, {
    path: "upcasters",
  });
};

/** An event as readers of a stream get it: in the newest shape. @throws invalid_payload - an upcaster threw, or gave what is not JSON */
export const newestShape = (stream: StreamRef<unknown, unknown>, event: Event): Event => {
  if (typeof stream !== "object" || stream.version === null) return event;
  const stored = event.metadata.schemaVersion ?? 1;
  const from = typeof stored === "number" ? stored : Number(stored);
  // of a version that is not known, which may be newer, nothing can be said
  if (!Number.isInteger(from) || from < 1 || from >= stream.version) return event;
  let payload: unknown = event.payload;
  try {
    for (const step of stream.upcasters.slice(from - 1)) payload = step(payload, event);
    return Object.freeze({ ...event, payload: normalisePayload(payload).value });
  } catch (cause) {
    throw new RheoError(
      "invalid_payload",
      `Event "${event.id}" of "${stream.name}" has version ${from}, and its upcaster to ${stream.version} failed: ${cause instanceof Error ? cause.message : String(cause)}`,
      { stream: stream.name, id: event.id, partition: event.partition, sequence: event.sequence },
      { cause },
    );
  }
};

/** Whether events of a stream may have to be brought into a newer shape. */
export const isVersioned = (stream: StreamRef<unknown, unknown>): boolean =>
  typeof stream === "object" && stream.upcasters.length > 0;

/** The metadata of an event to append, with the version of its stream unless it has one. */
export const withVersion = (stream: StreamRef<unknown, unknown>, metadata: EventInput["metadata"]): EventInput["metadata"] =>
  typeof stream === "object" && stream.version !== null ? { schemaVersion: stream.version, ...metadata } : metadata;

/** @throws invalid_name */
export const streamName = (stream: StreamRef<unknown, unknown>): string =>
  parseName(
    "stream",
    readable(
      () => (typeof stream === "object" && stream !== null ? stream.name : stream),
      (cause) => unreadable("stream", cause),
    ),
  );

/** The payload as the stream's schema gives it back. @throws invalid_payload - with the path of the first issue */
export const applySchema = async (stream: StreamRef<unknown, unknown>, payload: unknown): Promise<unknown> => {
  if (typeof stream !== "object" || stream.schema === null) return payload;
  const result = await stream.schema["~standard"].validate(payload);
  if (result.issues === undefined) return result.value;
  const [issue] = result.issues;
  const parts = issue?.path?.map((part) => String(typeof part === "object" ? part.key : part)) ?? [];
  const path = ["payload", ...parts].join(".");
  throw new RheoError(
    "invalid_payload",
    `${path}: ${issue?.message ?? "does not match the schema"} (schema of stream "${stream.name}").`,
    {
      stream: stream.name,
      path,
    },
  );
};
