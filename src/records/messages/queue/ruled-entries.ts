/**
 * Changes the queue entries of a hold rule. Holds waiting entries and an entry that is about to be attempted, and
 * releases them.
 *
 * Every statement that holds entries checks in the commit itself whether the rule still lasts, so a rule that ends
 * holds nothing new. The main thread reads only ids in an index; the writer compares the rows, some hundred in a
 * commit.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { DomainName } from '../../../base/mail/address.js'
import { matchesPattern, textOf } from '../../../base/storage/db/dialect.js'
import { prepareRead, prepareWrite, type Read, type StatementBuilder } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { HOLD } from '../../../base/storage/tables/hold.js'
import { describeHoldRule, type HoldRule, workspaceOfRule } from './hold-rules.js'
import type { QueueEntry } from './queue.js'

/** The most entries that one commit compares, and that one commit releases. */
const PORTION = 300
/** Ids are hexadecimal, so all of them sort before this text. */
const AFTER_ALL_IDS = 'g'

interface HeldRange {
  readonly rule: string
  readonly why: string
  readonly after: string
  readonly upto: string
  readonly workspaceId: string | null
  readonly owner: string | null
  readonly sender: string | null
  /** The pattern with the wildcards of SQL. */
  readonly pattern: string | null
}

/** Returns the condition that the rule has not ended. */
function isLasting(rule: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`exists (select 1 from hold_rules where id = ${rule} and ending = 0)`
}

/** Selects entries of a range of ids that are not held, not being attempted, and fit except for the domain. */
function selectRange<Values extends HeldRange>({ db, slot }: StatementBuilder<Values>) {
  const [workspaceId, sender, pattern] = [textOf(slot('workspaceId')), textOf(slot('sender')), textOf(slot('pattern'))]
  const owned = sql`select workspace_id from members where user_id = ${slot('owner')} and role = 'owner'`
  return db
    .selectFrom('queue')
    .innerJoin('emails', 'emails.id', 'queue.email_id')
    .select('queue.id')
    .where('queue.id', '>', sql<string>`${slot('after')}`)
    .where('queue.id', '<=', sql<string>`${slot('upto')}`)
    .where('queue.held', '=', HOLD.none)
    .where('queue.leased', '=', 0)
    .where(sql<SqlBool>`(${workspaceId} is null or queue.workspace_id = ${workspaceId}
      or queue.workspace_id in (${owned}))`)
    .where(sql<SqlBool>`(${sender} is null or lower(emails.from_email) = ${sender} or emails.from_domain = ${sender})`)
    .where(sql<SqlBool>`(${pattern} is null or ${matchesPattern('queue.recipient', slot('pattern'))})`)
}

const holdRange = prepareWrite<HeldRange>((builder) =>
  builder.db
    .updateTable('queue')
    .set({ held: HOLD.byRule, hold_rule: builder.slot('rule'), waits_for: builder.slot('why') })
    .where('id', 'in', selectRange(builder))
    .where(isLasting(builder.slot('rule'))),
)

const holdRangeOfDomain = prepareWrite<HeldRange & { domain: DomainName }>((builder) =>
  builder.db
    .updateTable('queue')
    .set({ held: HOLD.byRule, hold_rule: builder.slot('rule'), waits_for: builder.slot('why') })
    .where('id', 'in', selectRange(builder).where('queue.domain', '=', builder.slot('domain')))
    .where(isLasting(builder.slot('rule'))),
)

const idAt = prepareRead<{ after: string; offset: number }>()(({ db, slot }) =>
  db.selectFrom('queue').select('id').where('id', '>', slot('after')).orderBy('id').limit(1).offset(slot('offset')),
)

const idOfDomainAt = prepareRead<{ domain: DomainName; after: string; offset: number }>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select('id')
    .where('domain', '=', slot('domain'))
    .where('id', '>', slot('after'))
    .orderBy('id')
    .limit(1)
    .offset(slot('offset')),
)

const moveCursor = prepareWrite<{ id: string; cursor: string | null }>(
  ({ db, slot }) =>
    db
      .updateTable('hold_rules')
      .set({ cursor: slot('cursor') })
      .where('id', '=', slot('id'))
      .where('ending', '=', 0),
  1,
)

interface WalkStep {
  readonly writes: readonly Write[]
  /** Null after the last step. */
  readonly next: string | null
}

/** Holds the next portion of what waited when the rule was made. The commit misses if the rule has ended. */
export async function holdNextEntries(read: Read, rule: HoldRule, after: string): Promise<WalkStep> {
  const { id, domain, owner, sender, pattern } = rule
  const place = { after, offset: PORTION - 1 }
  const [boundary] = domain === null ? await idAt(read, place) : await idOfDomainAt(read, { ...place, domain })
  const next = boundary?.id ?? null
  const range = {
    ...{ rule: id, why: holdReasonOf(rule), after, upto: next ?? AFTER_ALL_IDS, owner, sender },
    workspaceId: workspaceOfRule(rule),
    pattern: pattern === null ? null : toSqlPattern(pattern),
  }
  const hold = domain === null ? holdRange(range) : holdRangeOfDomain({ ...range, domain })
  return { writes: [moveCursor({ id, cursor: next }), hold], next }
}

function toSqlPattern(pattern: string): string {
  return pattern.replace(/[%_\\]/g, '\\$&').replaceAll('*', '%')
}

/** Returns the text for `waits_for` of the entries that the rule holds. */
function holdReasonOf(rule: HoldRule): string {
  return `hold rule ${rule.id} (${describeHoldRule(rule)})`
}

const holdOne = prepareWrite<{ id: string; rule: string; why: string }>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set({ held: HOLD.byRule, hold_rule: slot('rule'), waits_for: slot('why') })
    .where('id', '=', slot('id'))
    .where('held', '=', HOLD.none)
    .where('leased', '=', 0)
    .where(isLasting(slot('rule'))),
)

/** Holds an entry whose turn has come. */
export function holdByRule({ id }: Pick<QueueEntry, 'id'>, rule: HoldRule): Write {
  return holdOne({ id, rule: rule.id, why: holdReasonOf(rule) })
}

const entryOfRule = prepareRead<{ rule: string }>()(({ db, slot }) =>
  db.selectFrom('queue').select('id').where('hold_rule', '=', slot('rule')).limit(1),
)

/** Tells whether the rule holds any entry. */
export async function holdsEntries(read: Read, { id }: HoldRule): Promise<boolean> {
  return (await entryOfRule(read, { rule: id })).length > 0
}

/** SQLite counts the rows, because reading ten thousand would block the main thread for milliseconds. */
const countedEntries = prepareRead<{ rule: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom((eb) =>
      eb.selectFrom('queue').select('id').where('hold_rule', '=', slot('rule')).limit(slot('limit')).as('held'),
    )
    .select(({ fn }) => fn.countAll<number>().as('count')),
)

/** Returns how many entries the rule holds, at most `limit`. */
export async function countHeldEntries(read: Read, { id }: HoldRule, limit: number): Promise<number> {
  return (await countedEntries(read, { rule: id, limit }))[0]?.count ?? 0
}

const releasePortion = prepareWrite<{ rule: string; limit: number }>(({ db, slot }) =>
  db
    .updateTable('queue')
    .set({ held: HOLD.none, hold_rule: null, waits_for: null })
    .where('id', 'in', (eb) =>
      eb.selectFrom('queue').select('id').where('hold_rule', '=', slot('rule')).limit(slot('limit')),
    ),
)

/** Releases a portion of what the rule holds. The entries are due as before. */
export function releaseNextEntries({ id }: HoldRule): Write {
  return releasePortion({ rule: id, limit: PORTION })
}
