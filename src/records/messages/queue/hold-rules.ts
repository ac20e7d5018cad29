/**
 * A *hold rule* holds all entries that match it, now and later, until it ends. It names a recipient domain, a sender, a
 * pattern of recipient addresses, or a workspace. An entry matches if everything that the rule names fits. Sending from
 * another workspace does not evade a rule of the circuit breaker: the rule of a workspace holds all workspaces of its
 * owner, and the rule of a sender's domain holds that domain in any workspace.
 *
 * Ending a rule takes two steps. First it is marked, and from that commit on it holds nothing new. Then its entries are
 * released in portions, and the row is removed (`hold-rule-runner.ts`).
 */
import type { Selectable } from 'kysely'
import type { DomainName } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { randomSecret } from '../../../base/platform/ids.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE, type Tables } from '../../../base/storage/tables/tables.js'
import { type Actor, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'

export type HoldRule = Selectable<Tables['hold_rules']>

/** The most rules of the operator, because each attempt is compared with those that have no domain and no workspace. */
const MAX_HOLD_RULES = 200
/** The most rules that the circuit breaker makes. */
const MAX_BREAKER_RULES = 300
/** The most characters of a pattern: as many as an address may have. */
const MAX_PATTERN = 254
const MAX_WILDCARDS = 8

interface HoldCriteria {
  /** Null for the mail of all workspaces and of the service. */
  readonly workspaceId: string | null
  readonly domain: DomainName | null
  /** An address or domain in lower case. */
  readonly sender: string | null
  /** A pattern from `parsePattern`. */
  readonly pattern: string | null
  readonly until: number | null
  /** Why the circuit breaker makes the rule. Absent if the operator makes it. */
  readonly reason?: string
  /** A user. The rule also holds all workspaces of this user. */
  readonly owner?: string | null
}

/** Tells whether the text is a pattern of addresses, in which `*` stands for any characters. */
export function isPattern(text: string): boolean {
  const wildcards = text.split('*').length - 1
  if (text.length > MAX_PATTERN || wildcards > MAX_WILDCARDS) return false
  return !/[\s\p{Cc}]/u.test(text) && text.length > wildcards
}

/** Returns the pattern in lower case. Throws a Refusal. */
export function parsePattern(text: string): string {
  if (isPattern(text)) return text.toLowerCase()
  const allowed = `an address in which * stands for any characters, at most ${MAX_WILDCARDS} times, such as news-*@example.org, of at most ${MAX_PATTERN} characters`
  throw new Refusal('invalid-parameter', `not a pattern; allowed: ${allowed}`, { value: text.slice(0, MAX_PATTERN) })
}

const insertRule = prepareWrite<HoldRule>(({ db, slots }) =>
  db
    .insertInto('hold_rules')
    .values(
      slots([
        ...(['id', 'workspace_id', 'domain', 'sender', 'pattern', 'until'] as const),
        ...(['created_at', 'ending', 'cursor', 'reason', 'owner'] as const),
      ]),
    ),
)

/** Reads all rules, oldest first, including those that are ending. */
export const allHoldRules = prepareRead<Record<never, never>>()(({ db }) =>
  db
    .selectFrom('hold_rules')
    .selectAll()
    .orderBy('created_at')
    .orderBy('id')
    .limit(MAX_HOLD_RULES + MAX_BREAKER_RULES),
)

export const holdRuleById = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('hold_rules').selectAll().where('id', '=', slot('id')),
)

/** Reads the oldest rule that holds all workspaces of a user and is not ending. */
export const holdRuleOfOwner = prepareRead<{ owner: string }>()(({ db, slot }) =>
  db
    .selectFrom('hold_rules')
    .select('workspace_id')
    .where('owner', '=', slot('owner'))
    .where('ending', '=', 0)
    .orderBy('created_at')
    .limit(1),
)

/** Returns null if the mail of any workspace matches. */
export function workspaceOfRule({ workspace_id, sender, reason }: HoldRule): string | null {
  const followsDomain = reason !== null && sender !== null
  return workspace_id === SERVICE_WORKSPACE || followsDomain ? null : workspace_id
}

/** Throws a Refusal if there are too many rules, if the rule names nothing, or if it ends in the past. */
export async function createHoldRule(
  read: Read,
  criteria: HoldCriteria,
  actor: Actor,
  now: number,
): Promise<{ readonly rule: HoldRule; readonly writes: readonly Write[] }> {
  const { workspaceId, domain, sender, pattern, until, reason = null, owner = null } = criteria
  if ([workspaceId, domain, sender, pattern].every((one) => one === null)) {
    throw new Refusal('invalid-parameter', 'a rule names a domain, a sender, a pattern or a workspace', {})
  }
  if (until !== null && until <= now) throw new Refusal('invalid-parameter', 'a rule ends in the future', {})
  await checkRoom(
    read,
    reason === null ? MAX_HOLD_RULES : MAX_BREAKER_RULES,
    (rule) => (rule.reason === null) === (reason === null),
  )
  const id = `hr_${randomSecret(4).toString('hex')}`
  const places = { workspace_id: workspaceId ?? SERVICE_WORKSPACE, domain, sender, pattern }
  const rule: HoldRule = { id, ...places, until, created_at: now, ending: 0, cursor: '', reason, owner }
  return { rule, writes: [insertRule(rule), recordAct(rule, actor, 'hold_rule.added', now)] }
}

async function checkRoom(read: Read, limit: number, isCounted: (rule: HoldRule) => boolean): Promise<void> {
  if ((await allHoldRules(read, {})).filter(isCounted).length < limit) return
  throw new Refusal('conflict', `there are ${limit} hold rules, as many as there may be: remove one`, {})
}

const markEnding = prepareWrite<{ id: string }>(
  ({ db, slot }) =>
    db.updateTable('hold_rules').set({ ending: 1 }).where('id', '=', slot('id')).where('ending', '=', 0),
  1,
)

/** Misses if the rule is already ending. */
export function endHoldRule(rule: HoldRule, actor: Actor, now: number): readonly Write[] {
  return [markEnding({ id: rule.id }), recordAct(rule, actor, 'hold_rule.removed', now)]
}

function recordAct(rule: HoldRule, actor: Actor, action: 'hold_rule.added' | 'hold_rule.removed', at: number): Write {
  const { id: target, workspace_id: workspaceId, domain, sender, pattern, until, reason } = rule
  const given = Object.entries({ domain, sender, pattern, reason }).filter(([, value]) => value !== null)
  const details = { ...Object.fromEntries(given), ...(until === null ? {} : { until: formatTimestamp(until) }) }
  return recordAuditEntry({ workspaceId, actor, action, target, at, details })
}

/** Removes the row when all entries of the rule are released. */
export const removeHoldRule = prepareWrite<{ id: string }>(({ db, slot }) =>
  db.deleteFrom('hold_rules').where('id', '=', slot('id')).where('ending', '=', 1),
)

/** Describes a rule in a few words: `to example.org, from a@b.test, until 2030-01-31T09:00:00.000Z`. */
export function describeHoldRule({ workspace_id, domain, sender, pattern, until, reason }: HoldRule): string {
  return [
    ...(domain === null ? [] : [`to ${domain}`]),
    ...(pattern === null ? [] : [`to ${pattern}`]),
    ...(sender === null ? [] : [`from ${sender}`]),
    ...(workspace_id === SERVICE_WORKSPACE ? [] : [`of ${workspace_id}`]),
    ...(until === null ? [] : [`until ${formatTimestamp(until)}`]),
    ...(reason === null ? [] : [`because ${reason}`]),
  ].join(', ')
}
