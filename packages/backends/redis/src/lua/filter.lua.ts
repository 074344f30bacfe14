/**
 * The filter language (G7). A filter arrives as a program that core has made of it (`programOf`): nested arrays of `["all", …]`, `["any", …]`,
 * `["not", program]`, `["value", boolean]` and tests `[operator, root, path, operand]`. The reference meaning is core's `compileFilter`.
 */
import { lua } from "./lua.ts";

export const FILTER: string = lua`
-- Deep equality. Arrays have numbers for names, objects texts.
local function same(a, b)
  if a == b then return true end
  if type(a) ~= 'table' or type(b) ~= 'table' then return false end
  for name, value in pairs(a) do
    if b[name] == nil or not same(value, b[name]) then return false end
  end
  for name in pairs(b) do
    if a[name] == nil then return false end
  end
  return true
end

-- Below, at or above 0, by the bytes of UTF-8, which is the order of code points. Lua's own order is that of the server's locale.
local function compare(a, b)
  if type(a) == 'number' then return a < b and -1 or a > b and 1 or 0 end
  for k = 1, min(#a, #b) do
    local difference = byte(a, k) - byte(b, k)
    if difference ~= 0 then return difference end
  end
  return #a - #b
end

local TESTS = {
  eq = same,
  ['in'] = function(found, operand)
    for k = 1, #operand do
      if same(found, operand[k]) then return true end
    end
    return false
  end,
  exists = function(found) return found ~= nil end,
  startsWith = function(found, operand) return type(found) == 'string' and sub(found, 1, #operand) == operand end,
  gt = function(found, operand) return type(found) == type(operand) and compare(found, operand) > 0 end,
  gte = function(found, operand) return type(found) == type(operand) and compare(found, operand) >= 0 end,
  lt = function(found, operand) return type(found) == type(operand) and compare(found, operand) < 0 end,
  lte = function(found, operand) return type(found) == type(operand) and compare(found, operand) <= 0 end,
}

-- Whether an event passes, as a function of its entry. The content of each is parsed once, and only if it is asked for.
local function matcher_of(text)
  local current, parsed, broken
  local function decoded(root)
    return cjson.decode(marked(field_of(current, root) or '{}'))
  end
  local function root_of(root)
    if root == 'id' or root == 'type' or root == 'key' then return field_of(current, root) end
    if parsed[root] == nil then
      local is_json, value = pcall(decoded, root)
      if not is_json then broken, value = true, {} end
      parsed[root] = value
    end
    return parsed[root]
  end
  local function compile(program)
    local kind = program[1]
    if kind == 'value' then
      return function() return program[2] end
    end
    if kind == 'not' then
      local part = compile(program[2])
      return function() return not part() end
    end
    if kind == 'all' or kind == 'any' then
      local parts, stop = {}, kind == 'any'
      for k = 2, #program do parts[k - 1] = compile(program[k]) end
      return function()
        for k = 1, #parts do
          if parts[k]() == stop then return stop end
        end
        return not stop
      end
    end
    local test, root, path, operand = TESTS[kind], program[2], program[3], program[4]
    return function() return test(descend(root_of(root), path), operand) end
  end
  local passes = compile(cjson.decode(marked(text)))
  return function(entry)
    current, parsed, broken = entry, {}, false
    -- what is no JSON is let through: whoever reads it says what is wrong with it, and nothing else waits for it
    return passes() or broken
  end
end
`;
