local unfinished = redis.call('ZCARD', name('due'))
-- Leases end in the future, and so do the delays of retried events.
local later = redis.call('ZRANGEBYSCORE', name('due'), '(' .. text(now), '+inf')
local leased = 0
for _, id in ipairs(later) do
    if redis.call('HGET', name('event:' .. id), 'state') == 'leased' then
        leased = leased + 1
    end
end
local oldest = -1
local offset = 0
while unfinished > 0 and oldest < 0 do
    local ids = redis.call('ZRANGE', name('received'), offset, offset + 99, 'WITHSCORES')
    if #ids == 0 then
        break
    end
    offset = offset + 100
    for index = 1, #ids, 2 do
        if oldest < 0 and redis.call('ZSCORE', name('due'), ids[index]) then
            oldest = now - tonumber(ids[index + 1])
        end
    end
end
return {unfinished - leased, leased, redis.call('ZCARD', name('handled')),
    redis.call('ZCARD', name('dead')), oldest}
