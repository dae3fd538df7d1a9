local key = ARGV[3]
local id = redis.call('HGET', name('keys'), key)
if not id then
    return 0
end
local event = name('event:' .. id)
if not redis.call('HGET', event, 'finished_at') then
    return 0
end
redis.call('HDEL', name('keys'), key)
redis.call('HSET', event, 'key', '')
return 1
