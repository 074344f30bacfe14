export { RedisConnection, type Script } from "./connection.ts";
export { optionsFromUrl } from "./from-url.ts";
export { COMMON, LOG } from "./lua/common.lua.ts";
export { EVENTS } from "./lua/events.lua.ts";
export { FILTER } from "./lua/filter.lua.ts";
export { resolveOptions } from "./options.ts";
export { DELIVERIES, GROUPS, LOGS, LOOKS, RESERVED, STREAMS } from "./program.ts";
export { LAYOUT_VERSION } from "./schema.ts";
export { checkServers } from "./startup.ts";
