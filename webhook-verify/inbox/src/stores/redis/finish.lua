local id, claim, state, after, reason = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
if not is_held(id, claim) then
    return 0
end
local event = name('event:' .. id)
redis.call('HDEL', event, 'worker')
if reason ~= '' then
    redis.call('HSET', event, 'last_error', reason)
end
if state == 'pending' then
    local due_at = text(now + tonumber(after))
    redis.call('HSET', event, 'state', 'pending', 'due_at', due_at)
    redis.call('ZADD', name('due'), due_at, id)
    return 1
end
redis.call('HDEL', event, 'due_at')
redis.call('HSET', event, 'state', state, 'finished_at', text(now))
redis.call('ZREM', name('due'), id)
local resource = redis.call('HGET', event, 'resource_id')
if resource and resource ~= '' then
    redis.call('ZREM', name('unfinished:' .. resource), id)
    if redis.call('EXISTS', name('unfinished:' .. resource)) == 1 then
        wake()
    end
end
redis.call('ZADD', name('finished'), text(now), id)
redis.call('ZADD', name(state), id, id)
return 1
