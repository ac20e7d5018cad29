/** `queue list|show|hold|release|retry|delete`: lists and changes the outbound queue. */
import { type AuditAction, operatorActor, recordAuditEntry } from '../../accounts/audit-log.js'
import { parseDomainName } from '../../mail/address.js'
import { waitsForOf } from '../../messages/queue/queue.js'
import {
  deleteEntry,
  holdEntry,
  iterateEntries,
  type ListedEntry,
  type QueueFilter,
  queueStatuses,
  queueStatusOf,
  releaseEntry,
  retryEntry,
} from '../../messages/queue/queue-admin.js'
import { formatTimestamp } from '../../platform/clock.js'
import type { Read } from '../../storage/prepared.js'
import { tryCommit, type Write } from '../../storage/writer/write.js'
import {
  type Answer,
  type Call,
  type Command,
  CommandFailed,
  refuseExtraWords,
  requiredWord,
  textOption,
  UsageError,
} from '../command.js'
import { formatTable } from '../table.js'
import { chooseWorkspace } from '../workspace-choice.js'

type EntryChange = (entry: ListedEntry, now: number) => readonly Write[]

export const queueCommands: readonly Command[] = [
  queueCommand('list', 'list the queue, oldest first', list),
  {
    name: 'queue show',
    usage: 'ID',
    summary: 'show one queue entry',
    options: {},
    run: show,
  },
  queueCommand(
    'hold',
    'keep entries in the queue without trying them',
    runOnEntries('held', 'queue.held', ({ id }, at) => [holdEntry(id, at)]),
  ),
  queueCommand(
    'release',
    'let held entries go on',
    runOnEntries('released', 'queue.released', ({ id }, at) => [releaseEntry(id, at)]),
  ),
  queueCommand(
    'retry',
    'try entries at once',
    runOnEntries('due now', 'queue.retried', ({ id }, at) => [retryEntry({ id, at })]),
  ),
  queueCommand(
    'delete',
    'remove entries: their recipients fail',
    runOnEntries('deleted', 'queue.deleted', (entry, at) => deleteEntry(entry, at, 'operator')),
  ),
]

function queueCommand(verb: string, summary: string, run: Command['run']): Command {
  return {
    name: `queue ${verb}`,
    usage: `[--domain D] [--status ${queueStatuses.join('|')}] [--workspace ID] [ID...]`,
    summary,
    options: { domain: 'string', status: 'string', workspace: 'string' },
    awaitsNotice: true,
    run,
  }
}

/** The filter of the options, with the workspace as given. */
function parseFilter({ words, options }: Call): QueueFilter {
  const word = textOption(options, 'status')
  const status = queueStatuses.find((known) => known === word)
  if (word !== status) throw new UsageError(`--status: found "${word}", allowed: ${queueStatuses.join(', ')}`)
  const domain = textOption(options, 'domain')
  return {
    workspaceId: textOption(options, 'workspace'),
    domain: domain === undefined ? undefined : parseDomainName(domain),
    status,
    ids: words.length > 0 ? words : undefined,
  }
}

function findEntries(read: Read, { options }: Call, filter: QueueFilter): ListedEntry[] {
  const workspaceId = filter.workspaceId === undefined ? undefined : chooseWorkspace(read, options)
  return [...iterateEntries(read, { ...filter, workspaceId })]
}

async function list(call: Call): Promise<Answer> {
  const filter = parseFilter(call)
  const { read } = await call.database()
  const rows = findEntries(read, call, filter)
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
          toReason(row).slice(0, 80),
        ]),
      ),
      `${rows.length} in the queue`,
    ],
  }
}

function toReason(row: ListedEntry): string {
  const waitsFor = waitsForOf(row)
  return waitsFor === null ? (row.last_response ?? '') : `waits for ${waitsFor}`
}

async function show({ words, database }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const id = requiredWord(words, 0, 'ID')
  const row = [...iterateEntries((await database()).read, { ids: [id] })][0]
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
    attempts: row.attempts,
    next_attempt_at: row.leased === 1 ? null : formatTimestamp(row.next_attempt_at),
    waits_for: waitsForOf(row),
    last_response: row.last_response,
  }
}

/** Changes each entry in its own commit: an entry that is being attempted does not stop the others. */
function runOnEntries(done: string, action: AuditAction, act: EntryChange): Command['run'] {
  return async (call) => {
    const filter = parseFilter(call)
    if (Object.values(filter).every((value) => value === undefined)) {
      throw new UsageError('name the entries: ID..., --domain, --status or --workspace')
    }
    const { read, commit } = await call.database()
    const now = call.clock()
    const rows = findEntries(read, call, filter)
    const writes = (row: ListedEntry): Write[] => [...act(row, now), recordQueueAct(row, action, now)]
    const outcomes = await Promise.all(rows.map((row) => tryCommit(commit(writes(row)))))
    const data = rows.filter((_, at) => outcomes[at]).map(({ id }) => id)
    const missed = rows.filter((_, at) => !outcomes[at]).map(({ id }) => id)
    const absent = (filter.ids ?? []).filter((id) => !rows.some((row) => row.id === id))
    const lines = [`${data.length} ${done}`]
    if (missed.length > 0)
      lines.push(`not changed, being sent now, of a paused broadcast or not in that state: ${missed.join(', ')}`)
    if (absent.length > 0) lines.push(`not in the queue: ${absent.join(', ')}`)
    return { json: { data, missed: [...missed, ...absent] }, lines, failed: missed.length + absent.length > 0 }
  }
}

function recordQueueAct({ id, workspace_id, email_id }: ListedEntry, action: AuditAction, at: number): Write {
  return recordAuditEntry({
    workspaceId: workspace_id,
    actor: operatorActor,
    action,
    target: id,
    at,
    details: { email_id },
  })
}
