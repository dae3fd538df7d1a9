local lease, worker, limit, in_order = ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6] == '1'
local chosen = {}
local offset = 0
while #chosen < limit do
    local ids = redis.call('ZRANGEBYSCORE', name('due'), '-inf', text(now), 'LIMIT', offset, limit)
    if #ids == 0 then
        break
    end
    offset = offset + #ids
    for _, id in ipairs(ids) do
        local is_first = true
        if in_order then
            local resource = redis.call('HGET', name('event:' .. id), 'resource_id')
            if resource and resource ~= '' then
                is_first = redis.call('ZRANGE', name('unfinished:' .. resource), 0, 0)[1] == id
            end
        end
        if is_first and #chosen < limit then
            table.insert(chosen, id)
        end
    end
end
local claimed = {}
local due_at = text(now + tonumber(lease))
for _, id in ipairs(chosen) do
    local event = name('event:' .. id)
    redis.call('HINCRBY', event, 'attempts', 1)
    redis.call('HINCRBY', event, 'claims', 1)
    redis.call('HSET', event, 'state', 'leased', 'due_at', due_at, 'worker', worker)
    redis.call('ZADD', name('due'), due_at, id)
    table.insert(claimed, redis.call('HGETALL', event))
end
return {text(now), claimed}
