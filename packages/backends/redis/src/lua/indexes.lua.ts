/**
 * Indexes by content, made where somebody asks for one. Of each partition and path: a sorted set `…:x:<name>` whose members are value and
 * sequence, all with the score 0, so that they are in the order of their bytes. The field `indexes` of the head says which there are, as JSON:
 * `[{ name, path, root, segments, ready }]`. Appends keep an index from its first moment on; searches use it once it is ready.
 */
import { COMMON_ARGUMENTS } from "./common.lua.ts";
import { lua } from "./lua.ts";

/** Longer texts are indexed by their hash. */
const LONGEST = 128;
/** Events that one script puts into an index. */
const PAGE = 500;

export const INDEXES: string = lua`
local function indexes_of(head)
  local text = redis.call('HGET', head, 'indexes')
  return text and cjson.decode(text) or nil
end

local function index_keys(tag, indexes)
  local keys = {}
  for k = 1, #indexes do keys[k] = tag .. ':x:' .. indexes[k].name end
  return keys
end

-- A value as it is indexed; nil: it is not. Searches look at the events themselves again.
local function indexed(value)
  local kind = type(value)
  if kind == 'string' then return #value <= ${LONGEST} and 's' .. value or 'h' .. redis.sha1hex(value) end
  if kind == 'number' then return 'n' .. string.format('%.17g', value == 0 and 0 or value) end
  if kind == 'boolean' then return value and 'b1' or 'b0' end
  if value == cjson.null then return 'z' end
end

local function member_of(value, sequence)
  return value .. '\0' .. string.format('%016d', sequence)
end

-- Puts an event into indexes (ZADD), or takes it out (ZREM). text_of gives its id, type and key, and metadata and payload as JSON; nil: none.
local function keep_index(command, tag, indexes, sequence, text_of)
  local parsed = {}
  local function value_of(root)
    if root == 'id' or root == 'type' or root == 'key' then return text_of(root) end
    if parsed[root] == nil then parsed[root] = cjson.decode(marked(text_of(root) or '{}')) end
    return parsed[root]
  end
  for k = 1, #indexes do
    local index = indexes[k]
    local value = indexed(descend(value_of(index.root), index.segments))
    if value and command == 'ZADD' then redis.call('ZADD', tag .. ':x:' .. index.name, 0, member_of(value, sequence))
    elseif value then redis.call('ZREM', tag .. ':x:' .. index.name, member_of(value, sequence)) end
  end
end
`;

/** The ready index that serves a filter: one by a path that has to have a certain value. Returns its key and that value. */
export const SERVING: string = lua`
local function serving(tag, indexes, program)
  if program[1] == 'all' then
    for k = 2, #program do
      local key, value = serving(tag, indexes, program[k])
      if key then return key, value end
    end
  end
  local value = program[1] == 'eq' and indexed(program[4])
  if not value then return nil end
  local path = table.concat(program[3], '\0')
  for k = 1, #indexes do
    local index = indexes[k]
    if index.ready and index.root == program[2] and table.concat(index.segments, '\0') == path then return tag .. ':x:' .. index.name, value end
  end
end
`;

/** ARGV: the index as JSON, without `ready`. Answers `{ "ok", 1 }`, or 0 when it is there and ready. */
export const BEGIN_INDEX: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local index, indexes = cjson.decode(ARGV[${COMMON_ARGUMENTS + 1}]), indexes_of(KEYS[1]) or {}
for k = 1, #indexes do
  if indexes[k].name == index.name then return { 'ok', indexes[k].ready and 0 or 1 } end
end
index.ready = false
indexes[#indexes + 1] = index
call('HSET', KEYS[1], 'indexes', cjson.encode(indexes))
return { 'ok', 1 }
`;

/** ARGV: name of the index, sequence. Puts a page of the events after that into it. Answers `{ "ok", last sequence }`, or 0 when that was all and it is ready. */
export const FILL_INDEX: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local indexes, log = indexes_of(KEYS[1]) or {}, log_of(1)
local index
for k = 1, #indexes do
  if indexes[k].name == ARGV[${COMMON_ARGUMENTS + 1}] then index = indexes[k] end
end
if not index then return { 'ok', 0 } end
guard(index_keys(tags[1], { index }))
local page = slice(1, tonumber(ARGV[${COMMON_ARGUMENTS + 2}]), log.high, ${PAGE}, huge)
for k = 1, #page do
  keep_index('ZADD', tags[1], { index }, tonumber(match(page[k][1], '^%d+')), function(root) return field_of(page[k], root) end)
end
if #page > 0 then return { 'ok', tonumber(match(page[#page][1], '^%d+')) } end
index.ready = true
call('HSET', KEYS[1], 'indexes', cjson.encode(indexes))
return { 'ok', 0 }
`;

/** ARGV: name of the index. Answers `{ "ok", 1 }`, or 0 when there was none. */
export const DROP_INDEX: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local indexes, kept = indexes_of(KEYS[1]) or {}, {}
for k = 1, #indexes do
  if indexes[k].name ~= ARGV[${COMMON_ARGUMENTS + 1}] then kept[#kept + 1] = indexes[k] end
end
if #kept == #indexes then return { 'ok', 0 } end
if #kept == 0 then call('HDEL', KEYS[1], 'indexes') else call('HSET', KEYS[1], 'indexes', cjson.encode(kept)) end
call('UNLINK', tags[1] .. ':x:' .. ARGV[${COMMON_ARGUMENTS + 1}])
return { 'ok', 1 }
`;

/** Answers `{ "ok", path, … }` of those that are ready. */
export const LIST_INDEXES: string = lua`
local missing = missing_stream()
if missing then return { missing } end
local indexes, answer = indexes_of(KEYS[1]) or {}, { 'ok' }
for k = 1, #indexes do
  if indexes[k].ready then answer[#answer + 1] = indexes[k].path end
end
return answer
`;
