local count = 0
for index = 3, #ARGV do
    local id = ARGV[index]
    local event = name('event:' .. id)
    local fields = redis.call('HMGET', event, 'finished_at', 'resource_id')
    if fields[1] then
        redis.call('HDEL', event, 'finished_at')
        redis.call('HSET', event, 'state', 'pending', 'due_at', text(now), 'attempts', '0')
        redis.call('ZREM', name('finished'), id)
        redis.call('ZREM', name('handled'), id)
        redis.call('ZREM', name('dead'), id)
        add_unfinished(id, fields[2] or '', now)
        wake()
        count = count + 1
    end
end
return count
