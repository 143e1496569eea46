-- One exchange about one limit; lease_table.rs is its specification.
-- KEYS: the limit, the store's birth, the time since which nodes are heard again.
-- ARGV: node, capacity, per minute (0: seats), spent, refund, refund period, in use, claim,
-- want, least, microseconds that a lease lasts, share, microseconds for which the share of a
-- silent node is kept back.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local node = ARGV[1]
local capacity, per_minute = tonumber(ARGV[2]), tonumber(ARGV[3])
local spent, refund, refund_period = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local in_use, claim = tonumber(ARGV[7]), tonumber(ARGV[8])
local want, least, lasts = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local share, reserved = tonumber(ARGV[12]), tonumber(ARGV[13])
local unit = per_minute > 0 and 60000000 / per_minute or nil

local born = tonumber(redis.call('GET', KEYS[2]) or nil)
if not born or born > now then
  born = now
  redis.call('SET', KEYS[2], string.format('%.0f', now))
end
local young = now - born < lasts

if not unit then
  local resumed = tonumber(redis.call('GET', KEYS[3]) or nil)
  young = young or (resumed and resumed <= now and now - resumed < lasts) or false
  if resumed and resumed <= now then born = math.max(born, resumed) end
end

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
    -- The state: 0; 1 if it needs more; 2 if it did not renew, and its requests may run; 3 if
    -- it did not for long, and may use its share.
    local held, till, state, part = string.match(value, '^(%d+) (%d+) (%d) (%d+)$')
    holders[name] = { held = tonumber(held), till = tonumber(till), state = state, share = tonumber(part) }
  end
end

local function keep_holder(name, it)
  local value = string.format('%.0f %.0f %s %.0f', it.held, it.till, it.state, it.share)
  redis.call('HSET', KEYS[1], name, value)
end

-- A clock that was set back takes all times with it.
local back = math.max(at - now, 0)
if at > 0 and back > 0 then
  tat = tat - back
  for name, holder in pairs(holders) do
    holder.till = holder.till - back
    keep_holder(name, holder)
  end
end

local gone = {}
for name, holder in pairs(holders) do
  if holder.till <= now then gone[#gone + 1] = name end
end
-- The order of expiry does not depend on the order of the hash.
table.sort(gone)
for _, name in ipairs(gone) do
  local holder = holders[name]
  while holder and holder.till <= now do
    if unit then
      tat = math.max(tat, holder.till) + holder.held * unit
      holder = nil
    elseif holder.state == '2' then
      holder.held, holder.till, holder.state = holder.share, holder.till + reserved, '3'
    elseif holder.state == '3' then
      holder = nil
    else
      holder.held, holder.till, holder.state = math.max(holder.held, holder.share), holder.till + lasts, '2'
    end
  end
  holders[name] = holder
  if holder then
    keep_holder(name, holder)
  else
    redis.call('HDEL', KEYS[1], name)
  end
end
local function is_silent(it) return it.state == '2' or it.state == '3' end
local field = 'n:' .. node
-- Nothing is kept back for a process whose place this one took.
local own = string.match(field, '^(.*)#')
for name, holder in pairs(holders) do
  if is_silent(holder) and name ~= field and own and string.match(name, '^(.*)#') == own then
    holders[name] = nil
    redis.call('HDEL', KEYS[1], name)
  end
end
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
  if holder.state == '1' or (holder.held > 0 and not is_silent(holder)) then active = active + 1 end
  contended = contended or holder.state == '1'
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
  keep_holder(field, { held = held, till = now + lasts, state = short and '1' or '0', share = share })
elseif known then
  redis.call('HDEL', KEYS[1], field)
end
redis.call('HSET', KEYS[1], 'at', string.format('%.0f', now))
local keep = 2 * lasts + reserved
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
