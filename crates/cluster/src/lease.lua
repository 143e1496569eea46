-- One exchange about one limit; lease_table.rs is its specification.
-- KEYS: the limit, the store's birth.
-- ARGV: node, capacity, per minute (0: seats), spent, refund, refund period, in use, claim,
-- want, least, microseconds that a lease lasts.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local node = ARGV[1]
local capacity, per_minute = tonumber(ARGV[2]), tonumber(ARGV[3])
local spent, refund, refund_period = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local in_use, claim = tonumber(ARGV[7]), tonumber(ARGV[8])
local want, least, lasts = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local unit = per_minute > 0 and 60000000 / per_minute or nil

local born = tonumber(redis.call('GET', KEYS[2]) or nil)
if not born or born > now then
  born = now
  redis.call('SET', KEYS[2], string.format('%.0f', now))
end
local young = now - born < lasts

local tat, period, at, holders, known = 0, 0, 0, {}, nil
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local name, value = fields[i], fields[i + 1]
  if name == 'tat' then
    tat = tonumber(value)
  elseif name == 'period' then
    period = tonumber(value)
  elseif name == 'at' then
    at = tonumber(value)
  else
    local held, till, short = string.match(value, '^(%d+) (%d+) (%d)$')
    holders[name] = { held = tonumber(held), till = tonumber(till), short = short == '1' }
  end
end

-- A clock that was set back takes all times with it.
local back = math.max(at - now, 0)
if at > 0 and back > 0 then
  tat = tat - back
  for name, holder in pairs(holders) do
    holder.till = holder.till - back
    redis.call('HSET', KEYS[1], name, string.format('%.0f %.0f %d', holder.held, holder.till, holder.short and 1 or 0))
  end
end

local gone = {}
for name, holder in pairs(holders) do
  if holder.till <= now then gone[#gone + 1] = name end
end
-- The order of expiry does not depend on the order of the hash.
table.sort(gone)
for _, name in ipairs(gone) do
  if unit then tat = math.max(tat, holders[name].till) + holders[name].held * unit end
  holders[name] = nil
  redis.call('HDEL', KEYS[1], name)
end
local field = 'n:' .. node
known = holders[field]
holders[field] = nil

if unit then
  if refund > 0 and refund_period == period and tat > now then
    tat = math.max(tat - refund * unit, now)
  end
  if spent > 0 then
    if tat <= now then
      tat = now
      period = period + 1
    end
    tat = tat + spent * unit
  end
end

local level = unit and math.max((tat - now) / unit, 0) or 0
local others, active, contended = 0, 1, false
for _, holder in pairs(holders) do
  others = others + holder.held
  if holder.held > 0 or holder.short then active = active + 1 end
  contended = contended or holder.short
end
local room = math.max(math.floor(capacity - level - others), 0)
local before = 0
if known then
  before = math.max(known.held - spent, 0)
elseif young then
  before = claim
end
local allowed = young and math.min(want, before) or want

-- What the node may be using while this reply is on its way stays its own until it says that
-- it has stopped.
local kept = math.min(claim, before)
local held, usable, short
if unit then
  if contended and least == 0 then allowed = 0 end
  usable = math.min(allowed, room)
  if least > capacity and level <= 0 and others == 0 and not young then
    usable = least
  elseif usable < least then
    usable = math.min(usable, before)
  end
  held, short = math.max(usable, kept), usable < least
else
  local fair = math.ceil(capacity / active)
  if contended then allowed = math.min(allowed, fair) end
  usable = math.min(allowed, room)
  short = usable < least
  held = math.max(usable, in_use, kept)
end

if held > 0 or short then
  local value = string.format('%.0f %.0f %d', held, now + lasts, short and 1 or 0)
  redis.call('HSET', KEYS[1], field, value)
elseif known then
  redis.call('HDEL', KEYS[1], field)
end
redis.call('HSET', KEYS[1], 'at', string.format('%.0f', now))
local keep = lasts
if unit then
  redis.call('HSET', KEYS[1], 'tat', string.format('%.17g', tat), 'period', string.format('%.0f', period))
  keep = keep + math.max(tat - now, 0)
end
redis.call('PEXPIRE', KEYS[1], math.ceil(keep / 1000) + 60000)

local wait = 0
if usable < least then
  wait = math.max((level + others + math.min(least, capacity) - capacity) * (unit or 0), 1000)
  if young then wait = math.max(wait, born + lasts - now) end
end
local free = math.max(math.floor(capacity - level - others - held), 0)
return { held, usable, free, math.ceil(wait), period, contended and 1 or 0, young and 1 or 0 }
