//! The SQL statements of the store, with the names of its tables.

/// The statements of a store. Where one has the id of this owner as a parameter, it is the last one.
///
/// At the isolation level `READ COMMITTED`, a condition on a row that another transaction is changing
/// is checked again on the changed row. At the stricter levels the statement fails instead, and is
/// executed again.
pub(crate) struct Statements {
    pub(crate) begin: String,
    pub(crate) append: String,
    pub(crate) get: String,
    pub(crate) claim: String,
    pub(crate) list: String,
    pub(crate) budget: String,
    pub(crate) purge: String,
    pub(crate) add_owner: String,
    pub(crate) refresh_owner: String,
    pub(crate) remove_owner: String,
}

/// The condition that an owner is not gone. A server that was down could not be written to.
const IS_RUNNING: &str =
    "greatest(owner.seen_at, pg_postmaster_start_time()) + owner.timeout > now()";

/// The condition that this owner (the last parameter) will still count as running for at least half of its
/// timeout. Without it, the owner must not record that it is about to send.
fn is_fresh(owners: &str, me: &str) -> String {
    format!(
        "EXISTS (
            SELECT FROM {owners} WHERE id = {me} AND seen_at + timeout / 2 > clock_timestamp()
        )"
    )
}

impl Statements {
    /// Creates the statements for tables in a schema, which is quoted and followed by a dot, or empty.
    pub(crate) fn new(schema: &str) -> Self {
        let intents = format!("{schema}svc_journal_intents");
        let budgets = format!("{schema}svc_journal_budgets");
        let owners = format!("{schema}svc_journal_owners");
        let owner = |me: &str| {
            format!(
                "CASE
                    WHEN intent.owner = {me} THEN 'this'
                    WHEN EXISTS (
                        SELECT FROM {owners} AS owner
                        WHERE owner.id = intent.owner AND {IS_RUNNING}
                    ) THEN 'other'
                    ELSE 'gone'
                END AS owner_state, clock_timestamp() AS now"
            )
        };
        Self {
            begin: begin(&intents, &budgets, &is_fresh(&owners, "$11")),
            append: append(&intents, &budgets, &is_fresh(&owners, "$9")),
            get: format!(
                "SELECT intent.*, {owner}
                FROM (
                    SELECT *, max(generation) OVER () AS newest,
                        max(generation) FILTER (WHERE phase < 4 OR was_accepted) OVER ()
                            AS newest_executed
                    FROM {intents}
                    WHERE namespace = $1 AND account = $2 AND submission_id = $3
                ) AS intent
                WHERE intent.phase < 3
                    OR intent.generation IN (intent.newest, intent.newest_executed)
                ORDER BY intent.generation",
                owner = owner("$4")
            ),
            // A concurrent claim changes the owner, after which the second condition is false.
            claim: format!(
                "WITH claimed AS (
                    UPDATE {intents} AS intent SET owner = $2
                    FROM (SELECT position, owner FROM {intents} WHERE id = $1) AS seen
                    WHERE intent.position = seen.position AND (
                        intent.owner = $2 OR intent.owner = seen.owner AND NOT EXISTS (
                            SELECT FROM {owners} AS owner
                            WHERE owner.id = seen.owner AND {IS_RUNNING}
                        )
                    )
                    RETURNING intent.*
                )
                SELECT *, 'this' AS owner_state, clock_timestamp() AS now FROM claimed
                UNION ALL
                SELECT *, 'other', clock_timestamp() FROM {intents}
                WHERE id = $1 AND NOT EXISTS (SELECT FROM claimed)"
            ),
            list: format!(
                "SELECT intent.*, {owner} FROM {intents} AS intent
                WHERE position > $1 AND ($2 IS NULL OR namespace = $2) AND ($3 OR phase < 3)
                    AND ($5 IS NULL OR resource = $5)
                ORDER BY position LIMIT $4",
                owner = owner("$6")
            ),
            budget: format!(
                "SELECT reserved, captured, undecided, is_stopped FROM {budgets}
                WHERE namespace = $1 AND name = $2"
            ),
            purge: format!(
                "WITH purged AS (
                    DELETE FROM {intents}
                    WHERE phase >= 2 AND NOT is_permanent
                        AND record_times[cardinality(record_times)] < $1
                    RETURNING position
                )
                SELECT count(*) FROM purged"
            ),
            add_owner: format!(
                "WITH gone AS (
                    DELETE FROM {owners} WHERE id IN (
                        SELECT id FROM {owners} AS owner WHERE NOT {IS_RUNNING}
                        FOR UPDATE SKIP LOCKED
                    )
                )
                INSERT INTO {owners} (id, seen_at, timeout)
                VALUES (gen_random_uuid()::text, clock_timestamp(), $1 * interval '1 millisecond')
                RETURNING id"
            ),
            refresh_owner: format!(
                "INSERT INTO {owners} (id, seen_at, timeout)
                VALUES ($2, clock_timestamp(), $1 * interval '1 millisecond')
                ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at"
            ),
            remove_owner: format!("DELETE FROM {owners} WHERE id = $1"),
        }
    }
}

/// The row of the budget is changed last but for the insertion, and locked until the commit. If another
/// intent with the same id or generation is inserted at the same time, the statement fails and is
/// executed again.
fn begin(intents: &str, budgets: &str, is_fresh: &str) -> String {
    format!(
        "WITH earlier AS (
            SELECT begun_at FROM {intents} WHERE id = $1
        ), later AS (
            SELECT FROM {intents}
            WHERE namespace = $2 AND account = $3 AND submission_id = $4 AND generation >= $5
            LIMIT 1
        ), me AS (
            SELECT {is_fresh} AS is_fresh
        ), budget AS (
            INSERT INTO {budgets} AS budget (namespace, name, reserved)
            SELECT $2, $8, $9 FROM me WHERE is_fresh AND $8 IS NOT NULL AND $9 <= $10
                AND NOT EXISTS (SELECT FROM earlier) AND NOT EXISTS (SELECT FROM later)
            ON CONFLICT (namespace, name) DO UPDATE
            SET reserved = budget.reserved + excluded.reserved
            WHERE NOT budget.is_stopped AND $10 >=
                budget.reserved::numeric + budget.captured + budget.undecided + excluded.reserved
            RETURNING name
        ), written AS (
            INSERT INTO {intents} (
                id, namespace, account, submission_id, generation, is_permanent, facts, begun_at,
                owner, budget, reserved
            )
            SELECT $1, $2, $3, $4, $5, $6, $7, clock_timestamp(), $11, $8, coalesce($9, 0)
            FROM me
            WHERE is_fresh AND NOT EXISTS (SELECT FROM earlier) AND NOT EXISTS (SELECT FROM later)
                AND ($8 IS NULL OR EXISTS (SELECT FROM budget))
            RETURNING begun_at
        )
        SELECT coalesce((SELECT begun_at FROM earlier), (SELECT begun_at FROM written)),
            EXISTS (SELECT FROM later), (SELECT is_fresh FROM me)"
    )
}

fn append(intents: &str, budgets: &str, is_fresh: &str) -> String {
    format!(
        "WITH old AS (
            SELECT *,
                $3 IS NOT DISTINCT FROM 1 AND phase IN (2, 3) AS is_late,
                CASE
                    WHEN $3 = 1 THEN true
                    WHEN $3 IN (2, 3) THEN owner = $9 OR phase > 0
                    ELSE owner = $9 AND phase = 0
                END AS is_allowed,
                coalesce($3, 0) IN (1, 2, 3) OR {is_fresh} AS is_in_time
            FROM {intents} WHERE id = $1
            FOR UPDATE
        ), new AS (
            UPDATE {intents} AS intent SET
                records = array_append(intent.records, $2),
                record_times = array_append(intent.record_times, clock_timestamp()),
                phase = greatest(intent.phase, $3),
                was_accepted = intent.was_accepted OR $3 IS NOT DISTINCT FROM 1,
                resource = coalesce(intent.resource, $8),
                reserved = CASE WHEN is_late THEN intent.reserved ELSE coalesce($4, intent.reserved) END,
                captured = CASE WHEN is_late THEN intent.captured ELSE coalesce($5, intent.captured) END,
                undecided =
                    CASE WHEN is_late THEN intent.undecided ELSE coalesce($6, intent.undecided) END
            FROM old WHERE intent.position = old.position AND is_allowed AND is_in_time
            RETURNING intent.*
        ), budget AS (
            UPDATE {budgets} AS budget SET
                reserved = budget.reserved + (new.reserved - old.reserved),
                captured = budget.captured + (new.captured - old.captured),
                undecided = budget.undecided + (new.undecided - old.undecided),
                is_stopped = budget.is_stopped OR $7
            FROM old, new
            WHERE ($7 OR $4 IS NOT NULL)
                AND budget.namespace = new.namespace AND budget.name = new.budget
        )
        SELECT is_allowed, is_in_time FROM old"
    )
}
