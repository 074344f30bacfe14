/** Groups: create, change, pause, delete. */
import type { GroupRecord } from "../backend.ts";
import { groupNotFound, RheoError } from "../errors.ts";
import { type CreateGroupOptions, GROUP_OPTION_NAMES, parseGroupOptions, parseStart } from "../group.ts";
import { assignmentStream } from "../internal-streams.ts";
import { parseOptions, requireConfirm } from "../options.ts";
import { type Group, toGroup } from "../views.ts";
import type { AnyStream, Context } from "./context.ts";
import { parsePage } from "./page.ts";

export const createGroup = async (
  context: Context,
  stream: AnyStream,
  group: string,
  options: CreateGroupOptions,
): Promise<Group> => {
  const { record, created } = await makeGroup(context, stream, group, options);
  if (created) return toGroup(record);
  throw new RheoError(
    "already_exists",
    `Group "${group}" of stream "${record.stream}" exists already. ensureGroup returns it as it is; updateGroup changes its options.`,
    { stream: record.stream, group },
  );
};

export const ensureGroup = async (
  context: Context,
  stream: AnyStream,
  group: string,
  options: CreateGroupOptions,
): Promise<Group> => toGroup((await makeGroup(context, stream, group, options)).record);

const CREATE_NAMES = [...GROUP_OPTION_NAMES, "start"] as const;

const makeGroup = async (
  context: Context,
  stream: AnyStream,
  group: string,
  options: CreateGroupOptions,
): Promise<{ record: GroupRecord; created: boolean }> => {
  const name = context.streamOf(stream, group);
  const { start, ...rest } = parseOptions("group options", options, CREATE_NAMES);
  const resolved = parseGroupOptions(rest, context.defaults);
  const from = parseStart(start, await context.partitionsOf(name));
  const { group: record, created } = await context.backend.createGroup(name, group, resolved, from);
  if (created) context.emit("group.created", { stream: name, group });
  return { record, created };
};

export const updateGroup = async (context: Context, stream: AnyStream, group: string, options: unknown): Promise<Group> => {
  const name = context.streamOf(stream, group);
  const before = await context.backend.getGroup(name, group);
  const resolved = parseGroupOptions(options, before.options);
  if (resolved.ordering !== before.options.ordering) {
    throw new RheoError(
      "invalid_option",
      `ordering of a group is fixed at creation; "${group}" has "${before.options.ordering}". Create another group with the order you want.`,
      { path: "ordering" },
    );
  }
  const record = await context.backend.updateGroup(name, group, { options: resolved });
  context.forgetGroups();
  context.emit("group.updated", { stream: name, group });
  return toGroup(record);
};

export const setPaused = async (context: Context, stream: AnyStream, group: string, paused: boolean): Promise<void> => {
  const name = context.streamOf(stream, group);
  await context.backend.updateGroup(name, group, { paused });
  context.emit(paused ? "group.paused" : "group.resumed", { stream: name, group });
};

export const deleteGroup = async (context: Context, stream: AnyStream, group: string, options: unknown): Promise<void> => {
  const name = context.streamOf(stream, group);
  requireConfirm(`Deleting group "${group}" of "${name}"`, parseOptions("deleteGroup", options, ["confirm"]).confirm);
  if (!(await context.backend.deleteGroup(name, group))) throw groupNotFound(name, group);
  await context.backend.deleteStream(assignmentStream(name, group));
  context.forgetGroups();
  context.emit("group.deleted", { stream: name, group });
};

export const listGroups = async (context: Context, stream: AnyStream, options: unknown): Promise<Group[]> => {
  const name = context.nameOf(stream);
  return (await context.backend.listGroups(name, parsePage("listGroups", options))).map(toGroup);
};
