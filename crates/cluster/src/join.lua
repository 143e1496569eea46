-- A node's sign of life. KEYS: the live nodes, the epochs.
-- ARGV: name, epoch (0: a new one), microseconds that a sign lasts, 1 to leave.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local epoch = tonumber(ARGV[2])
if epoch == 0 then epoch = redis.call('INCR', KEYS[2]) end
local node = ARGV[1] .. '#' .. epoch
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if ARGV[4] == '1' then
  redis.call('ZREM', KEYS[1], node)
else
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), node)
end
return { epoch, redis.call('ZCARD', KEYS[1]) }
