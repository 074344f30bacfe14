/** Which consumers of a group were seen, and when. */
import { endOf, ID_SIZE, Key, TABLE } from "../bytes.ts";
import { type Environment, textOf } from "../environment.ts";

const keyOf = (groupId: number, consumerId: string): Buffer =>
  new Key(TABLE.members, ID_SIZE + Buffer.byteLength(consumerId)).id(groupId).text(consumerId).bytes;

export const readMembers = (environment: Environment, groupId: number): Map<string, number> => {
  const start = new Key(TABLE.members, ID_SIZE).id(groupId).bytes;
  const found = new Map<string, number>();
  for (const { key, value } of environment.entries({ start, end: endOf(start) }))
    found.set(key.toString("utf8", start.length), Number(textOf(value)));
  return found;
};

export const putMember = (environment: Environment, groupId: number, consumerId: string, lastSeenAtMs: number): void =>
  environment.putText(keyOf(groupId, consumerId), String(lastSeenAtMs));

export const deleteMember = (environment: Environment, groupId: number, consumerId: string): void =>
  environment.remove(keyOf(groupId, consumerId));

export const removeMembers = (environment: Environment, groupId: number): void =>
  environment.removeAll(new Key(TABLE.members, ID_SIZE).id(groupId).bytes);
