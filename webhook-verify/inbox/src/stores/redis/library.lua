-- The start of every script. ARGV[1] is the prefix of all keys, ARGV[2] the time in milliseconds
-- since the Unix epoch, or '' for that of the server.
--
-- next_id            the last id
-- keys               deduplication key -> id
-- event:ID           the event
-- all                ids by id
-- received           ids by the time of arrival
-- due                unfinished ids by the time at which they may be claimed
-- unfinished:RES     unfinished ids of a resource, by id
-- finished           finished ids by the time at which they were finished
-- handled, dead      finished ids by id
-- wake               one element for each worker to wake
local prefix = ARGV[1]
local now = tonumber(ARGV[2])
if not now then
    local time = redis.call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function name(suffix)
    return prefix .. suffix
end

-- Numbers are stored as text without an exponent.
local function text(number)
    return string.format('%.0f', number)
end

local function wake()
    redis.call('LPUSH', name('wake'), '1')
    redis.call('LTRIM', name('wake'), 0, 15)
end

local function add_unfinished(id, resource, due_at)
    redis.call('ZADD', name('due'), text(due_at), id)
    if resource ~= '' then
        redis.call('ZADD', name('unfinished:' .. resource), id, id)
    end
end

-- Returns whether the lease of an event is held: the number of its claims is never reset.
local function is_held(id, claim)
    local event = redis.call('HMGET', name('event:' .. id), 'state', 'claims')
    return event[1] == 'leased' and event[2] == claim
end
