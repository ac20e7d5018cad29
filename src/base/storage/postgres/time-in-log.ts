/**
 * The time of an event in the log (`created_at`): that of the event, unless the clock of the server differs from it by more
 * than `TOLERANCE`. Then that clock wins: the clocks of daemons may differ by minutes, and an event may be stored long after
 * it happened.
 *
 * The server numbers an event at the same moment, so the times hardly decrease along the numbers, however many daemons
 * write (`maxDisorder`).
 */

/** Milliseconds. */
const TOLERANCE = 5_000

const SERVER_TIME = `(date_part('epoch', clock_timestamp()) * 1000)::bigint`

export const timeInLogFunction = `create or replace function time_in_log(at bigint) returns bigint language sql volatile as $$
  select case when at between ${SERVER_TIME} - ${TOLERANCE} and ${SERVER_TIME} + ${TOLERANCE} then at
    else ${SERVER_TIME} end $$`
