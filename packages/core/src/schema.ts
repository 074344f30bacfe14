import { RheoError } from "./errors.ts";
import type { Json } from "./event.ts";
import { LIMITS } from "./limits.ts";
import { parseName } from "./names.ts";
import { parseNumber, parseOptions } from "./options.ts";

/** The part of a Standard Schema (standardschema.dev) that is used: zod, valibot, arktype and others all have it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
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

/** A stream with a type: every call takes it in place of the name, and payloads are checked at append. */
export interface StreamDefinition<Output = Json, Input = Output> {
  readonly name: string;
  readonly partitions: number;
  readonly schema: StandardSchema<Input, Output> | null;
}

/** The name of a stream, or its definition. */
export type StreamRef<Output = Json, Input = unknown> = string | StreamDefinition<Output, Input>;

/**
 * Names a stream once, with its partition count (default 1) and the schema of its payloads.
 * @throws invalid_name, invalid_option
 */
export const defineStream = <Input = unknown, Output = Json>(options: {
  readonly name: string;
  readonly partitions?: number;
  readonly schema?: StandardSchema<Input, Output>;
}): StreamDefinition<Output, Input> => {
  const raw = parseOptions("defineStream", options, ["name", "partitions", "schema"]);
  if (options.schema !== undefined && typeof options.schema?.["~standard"]?.validate !== "function") {
    throw new RheoError("invalid_option", "schema is a Standard Schema, such as one of zod, valibot or arktype.", {
      path: "schema",
    });
  }
  return Object.freeze({
    name: parseName("stream", raw.name),
    partitions: parseNumber("partitions", raw.partitions, { min: 1, max: LIMITS.partitions, fallback: 1 }),
    schema: options.schema ?? null,
  });
};

/** @throws invalid_name */
export const streamName = (stream: StreamRef<unknown, unknown>): string =>
  parseName("stream", typeof stream === "object" && stream !== null ? stream.name : stream);

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
