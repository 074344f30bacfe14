/** Values in the content of events: the JSON of metadata and payload, taken apart by paths as core's filters do. */
import { lua } from "./lua.ts";

export const VALUES: string = lua`
-- cjson makes the same table of [] and {}. So [] outside of texts is written as an object with a name that no stored one has.
local function marked(json)
  if not string.find(json, '[]', 1, true) then return json end
  local parts, from = {}, 1
  while true do
    local quote = string.find(json, '"', from, true)
    parts[#parts + 1] = string.gsub(string.sub(json, from, quote and quote - 1 or -1), '%[%]', '{"\\u0000":0}')
    if not quote then return table.concat(parts) end
    local at = quote + 1
    while string.byte(json, at) ~= 34 do
      if string.byte(json, at) == 92 then at = at + 1 end
      at = string.find(json, '["\\]', at + 1)
    end
    parts[#parts + 1] = string.sub(json, quote, at)
    from = at + 1
  end
end

-- The value at a path by own names only; nil when missing.
local function descend(value, path)
  for k = 1, #path do
    if type(value) ~= 'table' then return nil end
    local name = path[k]
    if value[1] ~= nil then
      if not string.find(name, '^%d+$') or (#name > 1 and string.byte(name) == 48) then return nil end
      value = value[tonumber(name) + 1]
    else value = value[name] end
  end
  return value
end
`;
