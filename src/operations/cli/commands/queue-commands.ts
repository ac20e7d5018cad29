/** `queue list|summary|show|hold|release|retry|delete`: lists, counts and changes the outbound queue. */

import { providerOf } from '../../../base/mail/mailbox-providers.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { changeEntries, type QueueAct } from '../../../records/messages/queue/change-entries.js'
import { type ListedEntry, listEntries, type QueueFilter } from '../../../records/messages/queue/queue-admin.js'
import { walkEntries } from '../../../records/messages/queue/queue-pages.js'
import { type QueueSummary, summarizeQueue } from '../../../records/messages/queue/queue-summary.js'
import { describeWaitReason, queueStatusOf, waitReasonOf } from '../../../records/messages/queue/wait-reason.js'
import { describeWait, waitsForOf } from '../../../records/messages/queue/waits-for.js'
import { operatorActor } from '../../../workspaces/accounts/access/audit-log.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  refuseExtraWords,
  requiredWord,
  UsageError,
} from '../command/command.js'
import { parseFilter, resolveFilter } from '../command/queue-filter.js'
import { filterOptions } from '../command/queue-options.js'
import { formatTable } from '../command/table.js'

/** The entries of the call, in portions. */
async function walk(read: Read, call: Call, filter: QueueFilter): Promise<AsyncGenerator<readonly ListedEntry[]>> {
  const onStep = (looked: number): void => call.showProgress(`${looked} entries of the queue looked at`)
  return walkEntries(read, await resolveFilter(read, call, filter), onStep)
}

export async function summarize(call: Call): Promise<Answer> {
  refuseExtraWords(call.words, 0)
  const filter = parseFilter(call)
  const { read } = await call.database()
  const onStep = (looked: number): void => call.showProgress(`${looked} entries of the queue looked at`)
  const query = { filter: await resolveFilter(read, call, filter), now: call.clock() }
  const summary = await summarizeQueue(read, query, onStep)
  return { json: toSummaryResource(summary), lines: summaryLines(summary) }
}

export async function list(call: Call): Promise<Answer> {
  const filter = parseFilter(call)
  const { read } = await call.database()
  const rows: ListedEntry[] = []
  for await (const portion of await walk(read, call, filter)) rows.push(...portion)
  return {
    json: { data: rows.map(toResource) },
    lines: [
      ...formatTable(
        ['ID', 'RECIPIENT', 'STATUS', 'TRIES', 'NEXT ATTEMPT', 'LAST RESPONSE, OR WHAT IT WAITS FOR'],
        rows.map((row) => [
          row.id,
          row.recipient,
          queueStatusOf(row),
          String(row.attempts),
          row.leased === 1 ? 'now' : formatTimestamp(row.next_attempt_at),
          (describeWait(row) ?? row.last_response ?? '').slice(0, 80),
        ]),
      ),
      `${rows.length} in the queue`,
    ],
  }
}

export async function show({ words, database }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const id = requiredWord(words, 0, 'ID')
  const [row] = await listEntries((await database()).read, { ids: [id], after: '', limit: 1 })
  if (row === undefined) throw new CommandFailed(`no queue entry ${id}: it is settled, or never was`)
  const json = toResource(row)
  return { json, lines: Object.entries(json).map(([key, value]) => `${key.padEnd(16)} ${value ?? '-'}`) }
}

function toResource(row: ListedEntry): Record<string, string | number | null> {
  return {
    id: row.id,
    email_id: row.email_id,
    recipient: row.recipient,
    domain: row.domain,
    status: queueStatusOf(row),
    reason: waitReasonOf(row),
    why: describeWaitReason(waitReasonOf(row)),
    provider: providerOf(row),
    host: row.mx,
    sender: row.from_email,
    workspace_id: row.workspace_id,
    enqueued_at: formatTimestamp(row.enqueued_at),
    attempts: row.attempts,
    next_attempt_at: row.leased === 1 ? null : formatTimestamp(row.next_attempt_at),
    waits_for: waitsForOf(row),
    hold_rule: row.hold_rule,
    node: row.node === '' ? null : row.node,
    last_response: row.last_response,
  }
}

export function hold(call: Call): Promise<Answer> {
  return changeQueue(call, 'hold', 'held')
}

export function release(call: Call): Promise<Answer> {
  return changeQueue(call, 'release', 'released')
}

export function retry(call: Call): Promise<Answer> {
  return changeQueue(call, 'retry', 'due now')
}

export function remove(call: Call): Promise<Answer> {
  return changeQueue(call, 'delete', 'deleted')
}

async function changeQueue(call: Call, act: QueueAct, done: string): Promise<Answer> {
  const filter = parseFilter(call)
  if (Object.values(filter).every((value) => value === undefined)) {
    const names = Object.keys(filterOptions).map((name) => `--${name}`)
    throw new UsageError(`name the entries: ID..., ${names.join(', ')}`)
  }
  const { read, commit } = await call.database()
  const data: string[] = []
  const missed: string[] = []
  for await (const portion of await walk(read, call, filter)) {
    const outcome = await changeEntries(commit, portion, { act, actor: operatorActor, now: call.clock() })
    data.push(...outcome.changed)
    missed.push(...outcome.missed)
    call.showProgress(`${data.length} ${done}`)
  }
  const found = new Set([...data, ...missed])
  const absent = (filter.ids ?? []).filter((id) => !found.has(id))
  const lines = [`${data.length} ${done}`]
  if (missed.length > 0)
    lines.push(
      `not changed, being sent now, of a paused broadcast, held by a rule or not in that state: ${missed.join(', ')}`,
    )
  if (absent.length > 0) lines.push(`not in the queue: ${absent.join(', ')}`)
  return { json: { data, missed: [...missed, ...absent] }, lines, failed: missed.length + absent.length > 0 }
}

function toSummaryResource({ total, groups }: QueueSummary): Answer['json'] {
  return {
    total,
    groups: groups.map(({ provider, domain, reason, entries: { total: count, oldestAt, nextAt, lastReply } }) => ({
      ...{ provider, domain, reason, count },
      oldest_at: formatTimestamp(oldestAt),
      next_attempt_at: nextAt === null ? null : formatTimestamp(nextAt),
      last_reply: lastReply,
    })),
  }
}

function summaryLines({ total, groups }: QueueSummary): string[] {
  const rows = groups.map(({ provider, domain, reason, entries: { total: count, oldestAt, nextAt, lastReply } }) => [
    provider ?? domain ?? '',
    reason,
    String(count),
    formatTimestamp(oldestAt),
    nextAt === null ? '-' : formatTimestamp(nextAt),
    (lastReply ?? '').slice(0, 80),
  ])
  const head = ['PROVIDER OR DOMAIN', 'REASON', 'COUNT', 'OLDEST', 'NEXT ATTEMPT', 'LAST REPLY, OR WHAT IT WAITS FOR']
  return [...formatTable(head, rows), `${total} in the queue`]
}
