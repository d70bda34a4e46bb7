"""What the cache does inside Redis, each as one step that nothing comes between.

Three keys stand for a conversation: its copy (a hash of `at` and `data`), its lease, and the
writers at work (a sorted set by when their hold ends). All times are Redis's own, in milliseconds,
so that clocks of different machines do not matter. Whatever else lies under these keys is dropped.
"""

_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""

LOOK = f"""{_NOW}
local copy = redis.pcall('HMGET', KEYS[1], 'at', 'data')
if copy.err then
  redis.call('DEL', KEYS[1])
  copy = {{false, false}}
end
local at = copy[1] and tonumber(copy[1])
-- A copy from the future was made by another clock: nobody knows how old it is.
if at and copy[2] and at <= now and now - at <= tonumber(ARGV[1]) then
  return {{'copy', tostring(now - at), copy[2]}}
end
local writers = redis.pcall('ZCOUNT', KEYS[3], '(' .. now, '+inf')
if type(writers) == 'table' then
  redis.call('DEL', KEYS[3])
  writers = 0
end
if writers > 0 then
  return {{'writing'}}
end
local lease = ARGV[2] .. ':' .. now
if redis.call('SET', KEYS[2], lease, 'PX', ARGV[3], 'NX') then
  return {{'lease', lease}}
end
return {{'loading'}}
"""

FILL = """
local held = redis.pcall('GET', KEYS[2])
if held ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('HSET', KEYS[1], 'at', string.match(ARGV[1], ':(%d+)$'), 'data', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
"""

# The copy goes first: with its memory full, Redis still deletes, and then refuses the rest.
HOLD = f"""
redis.call('DEL', KEYS[1], KEYS[2])
{_NOW}
if redis.call('TYPE', KEYS[3]).ok ~= 'zset' then
  redis.call('DEL', KEYS[3])
end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[3], ARGV[2])
return 1
"""

RELEASE = """
redis.call('DEL', KEYS[1], KEYS[2])
redis.pcall('ZREM', KEYS[3], ARGV[1])
return 1
"""
