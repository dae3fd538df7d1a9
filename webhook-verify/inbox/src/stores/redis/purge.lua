-- Removes at most 500 events, so that other clients are not held up.
local oldest = text(now - tonumber(ARGV[3]))
local ids = redis.call('ZRANGEBYSCORE', name('finished'), '-inf', '(' .. oldest, 'LIMIT', 0, 500)
for _, id in ipairs(ids) do
    local event = name('event:' .. id)
    local key = redis.call('HGET', event, 'key')
    if key and key ~= '' then
        redis.call('HDEL', name('keys'), key)
    end
    redis.call('DEL', event)
    for _, index in ipairs({'all', 'received', 'finished', 'handled', 'dead'}) do
        redis.call('ZREM', name(index), id)
    end
end
return #ids
