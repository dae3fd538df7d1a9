local key, event_type, resource, headers, body = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
if key ~= '' and redis.call('HEXISTS', name('keys'), key) == 1 then
    return false
end
local id = text(redis.call('INCR', name('next_id')))
redis.call('HSET', name('event:' .. id),
    'id', id, 'key', key, 'event_type', event_type, 'resource_id', resource,
    'headers', headers, 'body', body, 'received_at', text(now),
    'state', 'pending', 'due_at', text(now), 'attempts', '0', 'claims', '0')
if key ~= '' then
    redis.call('HSET', name('keys'), key, id)
end
redis.call('ZADD', name('all'), id, id)
redis.call('ZADD', name('received'), text(now), id)
add_unfinished(id, resource, now)
wake()
return id
