import type { GroupRecord, Rheo } from "@rheo/core";
import { internalsOf, parseNumber } from "@rheo/core/internal";
import type { IntakeOptions } from "./options.ts";

/** The group of a member, created first if that is asked for. @throws stream_not_found, group_not_found, invalid_option */
export const findGroup = async (rheo: Rheo, options: IntakeOptions): Promise<GroupRecord> => {
  const { stream, group, createGroup, partitions } = options;
  const internals = internalsOf(rheo);
  if (createGroup !== null) await rheo.ensureGroup(stream, group, createGroup);
  const record = await internals.group(stream, group);
  if (partitions !== null) {
    const max = (await internals.partitionsOf(stream)) - 1;
    for (const partition of partitions) parseNumber("partitions", partition, { min: 0, max });
  }
  return record;
};
