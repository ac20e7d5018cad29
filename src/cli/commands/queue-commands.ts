/** `queue list|show|hold|release|retry|delete`: the outbound queue in the operator's hands. */
import { type Action, operator, recordAct } from '../../accounts/audit-log.js'
import { parseDomainName } from '../../mail/address.js'
import {
  deleteEntry,
  eachEntry,
  holdEntry,
  type ListedEntry,
  type QueueFilter,
  type QueueStatus,
  queueStatuses,
  releaseEntry,
  retryEntry,
  statusOf,
} from '../../messages/queue/queue-admin.js'
import { timestamp } from '../../platform/clock.js'
import type { Read } from '../../storage/prepared.js'
import { unlessMissed } from '../../storage/writer/unless-missed.js'
import type { Write } from '../../storage/writer/write.js'
import { type Answer, atMost, type Call, type Command, CommandFailed, text, UsageError, word } from '../command.js'
import { table } from '../table.js'
import { chosenWorkspace } from '../workspace-choice.js'

type Act = (entry: ListedEntry, now: number) => readonly Write[]

export const queueCommands: readonly Command[] = [
  command('list', 'list the queue, oldest first', list),
  {
    name: 'queue show',
    usage: 'ID',
    summary: 'show one queue entry',
    options: {},
    run: show,
  },
  command(
    'hold',
    'keep entries in the queue without trying them',
    acting('held', 'queue.held', ({ id }, at) => [holdEntry(id, at)]),
  ),
  command(
    'release',
    'let held entries go on',
    acting('released', 'queue.released', ({ id }, at) => [releaseEntry(id, at)]),
  ),
  command(
    'retry',
    'try entries at once',
    acting('due now', 'queue.retried', ({ id }, at) => [retryEntry({ id, at })]),
  ),
  command(
    'delete',
    'remove entries: their recipients fail',
    acting('deleted', 'queue.deleted', (entry, at) => deleteEntry(entry, at, 'operator')),
  ),
]

function command(verb: string, summary: string, run: Command['run']): Command {
  return {
    name: `queue ${verb}`,
    usage: `[--domain D] [--status ${queueStatuses.join('|')}] [--workspace ID] [ID...]`,
    summary,
    options: { domain: 'string', status: 'string', workspace: 'string' },
    noticed: true,
    run,
  }
}

/** What the line says; the workspace as it is written. */
function filterOf({ words, options }: Call): QueueFilter {
  const status = text(options, 'status')
  if (status !== undefined && !queueStatuses.some((known) => known === status)) {
    throw new UsageError(`--status: found "${status}", allowed: ${queueStatuses.join(', ')}`)
  }
  const domain = text(options, 'domain')
  return {
    workspaceId: text(options, 'workspace'),
    domain: domain === undefined ? undefined : parseDomainName(domain),
    status: status as QueueStatus | undefined,
    ids: words.length > 0 ? words : undefined,
  }
}

function chosen(read: Read, { options }: Call, filter: QueueFilter): ListedEntry[] {
  const workspaceId = filter.workspaceId === undefined ? undefined : chosenWorkspace(read, options)
  return [...eachEntry(read, { ...filter, workspaceId })]
}

async function list(call: Call): Promise<Answer> {
  const filter = filterOf(call)
  const { read } = await call.database()
  const rows = chosen(read, call, filter)
  return {
    json: { data: rows.map(shown) },
    lines: [
      ...table(
        ['ID', 'RECIPIENT', 'STATUS', 'TRIES', 'NEXT ATTEMPT', 'LAST RESPONSE, OR WHAT IT WAITS FOR'],
        rows.map((row) => [
          row.id,
          row.recipient,
          statusOf(row),
          String(row.attempts),
          row.leased === 1 ? 'now' : timestamp(row.next_attempt_at),
          (row.waits_for === null ? (row.last_response ?? '') : `waits for ${row.waits_for}`).slice(0, 80),
        ]),
      ),
      `${rows.length} in the queue`,
    ],
  }
}

async function show({ words, database }: Call): Promise<Answer> {
  atMost(words, 1)
  const id = word(words, 0, 'ID')
  const row = [...eachEntry((await database()).read, { ids: [id] })][0]
  if (row === undefined) throw new CommandFailed(`no queue entry ${id}: it is settled, or never was`)
  const json = shown(row)
  return { json, lines: Object.entries(json).map(([key, value]) => `${key.padEnd(16)} ${value ?? '-'}`) }
}

function shown(row: ListedEntry): Record<string, string | number | null> {
  return {
    id: row.id,
    email_id: row.email_id,
    recipient: row.recipient,
    domain: row.domain,
    status: statusOf(row),
    attempts: row.attempts,
    next_attempt_at: row.leased === 1 ? null : timestamp(row.next_attempt_at),
    waits_for: row.leased === 1 ? null : row.waits_for,
    last_response: row.last_response,
  }
}

/** Each entry in a commit of its own: one that is on the wire now does not stop the others. */
function acting(done: string, action: Action, act: Act): Command['run'] {
  return async (call) => {
    const filter = filterOf(call)
    if (Object.values(filter).every((value) => value === undefined)) {
      throw new UsageError('say which: ID..., --domain, --status or --workspace')
    }
    const { read, commit } = await call.database()
    const now = call.clock()
    const rows = chosen(read, call, filter)
    const writes = (row: ListedEntry): Write[] => [...act(row, now), audited(row, action, now)]
    const outcomes = await Promise.all(rows.map((row) => unlessMissed(commit(writes(row)))))
    const data = rows.filter((_, place) => outcomes[place]).map(({ id }) => id)
    const missed = rows.filter((_, place) => !outcomes[place]).map(({ id }) => id)
    const absent = (filter.ids ?? []).filter((id) => !rows.some((row) => row.id === id))
    const lines = [`${data.length} ${done}`]
    if (missed.length > 0) lines.push(`not changed, being sent now or not in that state: ${missed.join(', ')}`)
    if (absent.length > 0) lines.push(`not in the queue: ${absent.join(', ')}`)
    return { json: { data, missed: [...missed, ...absent] }, lines, failed: missed.length + absent.length > 0 }
  }
}

function audited({ id, workspace_id, email_id }: ListedEntry, action: Action, at: number): Write {
  return recordAct({ workspaceId: workspace_id, actor: operator, action, target: id, at, details: { email_id } })
}
