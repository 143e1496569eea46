-- A node's sign of life. KEYS: the live nodes, the epochs, the last sign of any node, the time
-- since which there are signs again.
-- ARGV: name, epoch (0: a new one), microseconds that a sign lasts, 1 to leave.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local epoch = tonumber(ARGV[2])
if epoch == 0 then epoch = redis.call('INCR', KEYS[2]) end
-- No node was heard for longer than a lease: each of them may be using its share.
local last = tonumber(redis.call('GET', KEYS[3]) or nil)
if last and now - last > tonumber(ARGV[3]) then redis.call('SET', KEYS[4], string.format('%.0f', now)) end
redis.call('SET', KEYS[3], string.format('%.0f', now))
local node = ARGV[1] .. '#' .. epoch
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if ARGV[4] == '1' then
  redis.call('ZREM', KEYS[1], node)
else
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), node)
end
return { epoch, redis.call('ZCARD', KEYS[1]) }
