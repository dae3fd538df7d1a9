local id, claim, lease = ARGV[3], ARGV[4], tonumber(ARGV[5])
if not is_held(id, claim) then
    return 0
end
redis.call('HSET', name('event:' .. id), 'due_at', text(now + lease))
redis.call('ZADD', name('due'), text(now + lease), id)
return 1
