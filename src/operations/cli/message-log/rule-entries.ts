/**
 * Finds the hold rules that matched a recipient while its message waited, from the acts in the audit log: a rule that
 * has ended is recorded nowhere else.
 */

import { domainOf, parseAddress, parseDomainName } from '../../../base/mail/address.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { Email } from '../../../records/messages/email/email.js'
import type { RecipientDetails } from '../../../records/messages/email-details.js'
import { compileHoldRules } from '../../../records/messages/queue/hold-rule-matcher.js'
import { describeHoldRule, type HoldRule } from '../../../records/messages/queue/hold-rules.js'
import { auditEntriesOfWorkspace, BEFORE_NEWEST } from '../../../workspaces/accounts/access/audit-log.js'
import { entryOf, type LogEntry } from './log-entry.js'

const PAGE = 250
/** Pages of the acts of one workspace that are read: the newest 5,000 acts. */
const MAX_PAGES = 20

interface PastRule {
  readonly rule: HoldRule
  /** Null if it lasts. */
  readonly endedAt: number | null
}

export async function ruleEntries(
  read: Read,
  email: Email,
  recipients: readonly RecipientDetails[],
): Promise<readonly LogEntry[]> {
  const rules: PastRule[] = []
  for (const workspaceId of new Set([SERVICE_WORKSPACE, email.workspace_id])) {
    rules.push(...(await readRules(read, workspaceId)))
  }
  return rules.flatMap((past) => recipients.flatMap((recipient) => describeHold(past, email, recipient)))
}

async function readRules(read: Read, workspaceId: string): Promise<readonly PastRule[]> {
  const ends = new Map<string, number>()
  const rules: PastRule[] = []
  for (let before = BEFORE_NEWEST, page = 0; page < MAX_PAGES; page += 1) {
    const acts = await auditEntriesOfWorkspace(read, { workspaceId, before, limit: PAGE })
    for (const { action, target, at, details } of acts) {
      if (action === 'hold_rule.removed') ends.set(target, at)
      if (action !== 'hold_rule.added') continue
      const { domain, sender, pattern, until, reason }: Record<string, unknown> = parseJson(details)
      const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)
      const names = {
        domain: typeof domain === 'string' ? parseDomainName(domain) : null,
        sender: textOf(sender),
        pattern: textOf(pattern),
      }
      const end = typeof until === 'string' ? Date.parse(until) : null
      const rule: HoldRule = {
        owner: null,
        id: target,
        workspace_id: workspaceId,
        ...names,
        until: end,
        created_at: at,
        ending: 0,
        cursor: null,
        reason: textOf(reason),
      }
      rules.push({ rule, endedAt: ends.get(target) ?? null })
    }
    const last = acts.at(-1)
    if (last === undefined || acts.length < PAGE) return rules
    before = last.seq
    await waitForStep()
  }
  return rules
}

function describeHold({ rule, endedAt }: PastRule, email: Email, recipient: RecipientDetails): LogEntry[] {
  const address = parseAddress(recipient.email)
  const entry = { workspace_id: email.workspace_id, recipient: address, domain: domainOf(address) }
  const from = Math.max(rule.created_at, email.created_at)
  const until = waitedUntil(recipient)
  const isOver = (until !== null && until <= from) || (endedAt !== null && endedAt <= from)
  if (isOver || compileHoldRules([rule])(entry, email.from_email) === null) return []
  const named = `hold rule ${rule.id} (${describeHoldRule(rule)})`
  const details = { rule_id: rule.id, recipient: address }
  return [
    entryOf(from, 'rule', `${named} holds ${address}`, { ...details, began: true }),
    ...(endedAt === null ? [] : [entryOf(endedAt, 'rule', `${named} has ended`, { ...details, began: false })]),
  ]
}

/** When its last attempt settled it. Null if it waits, or was settled by other means. */
function waitedUntil({ status, attempts }: RecipientDetails): number | null {
  const last = attempts.at(-1)
  if (last === undefined) return status === 'suppressed' ? 0 : null
  return last.outcome === 'deferred' ? null : Date.parse(last.at)
}
