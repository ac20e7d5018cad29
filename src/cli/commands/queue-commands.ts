/** `queue list|show|hold|release|retry|delete`: lists and changes the outbound queue. */
import { operatorActor } from '../../accounts/audit-log.js'
import { parseDomainName } from '../../mail/address.js'
import { changeEntries, type QueueAct } from '../../messages/queue/change-entries.js'
import { waitsForOf } from '../../messages/queue/queue.js'
import {
  iterateEntries,
  type ListedEntry,
  type QueueFilter,
  queueStatuses,
  queueStatusOf,
} from '../../messages/queue/queue-admin.js'
import { formatTimestamp } from '../../platform/clock.js'
import type { Read } from '../../storage/prepared.js'
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

export const queueCommands: readonly Command[] = [
  queueCommand('list', 'list the queue, oldest first', list),
  {
    name: 'queue show',
    usage: 'ID',
    summary: 'show one queue entry',
    options: {},
    run: show,
  },
  queueCommand('hold', 'keep entries in the queue without trying them', runOnEntries('held', 'hold')),
  queueCommand('release', 'let held entries go on', runOnEntries('released', 'release')),
  queueCommand('retry', 'try entries at once', runOnEntries('due now', 'retry')),
  queueCommand('delete', 'remove entries: their recipients fail', runOnEntries('deleted', 'delete')),
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

function runOnEntries(done: string, act: QueueAct): Command['run'] {
  return async (call) => {
    const filter = parseFilter(call)
    if (Object.values(filter).every((value) => value === undefined)) {
      throw new UsageError('name the entries: ID..., --domain, --status or --workspace')
    }
    const { read, commit } = await call.database()
    const now = call.clock()
    const rows = findEntries(read, call, filter)
    const { changed: data, missed } = await changeEntries(commit, rows, { act, actor: operatorActor, now })
    const absent = (filter.ids ?? []).filter((id) => !rows.some((row) => row.id === id))
    const lines = [`${data.length} ${done}`]
    if (missed.length > 0)
      lines.push(`not changed, being sent now, of a paused broadcast or not in that state: ${missed.join(', ')}`)
    if (absent.length > 0) lines.push(`not in the queue: ${absent.join(', ')}`)
    return { json: { data, missed: [...missed, ...absent] }, lines, failed: missed.length + absent.length > 0 }
  }
}
