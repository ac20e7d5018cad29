/** `suppression list|delete`: who is not written to, by a workspace or by the service itself. */
import { operator, recordAct } from '../../accounts/audit-log.js'
import { parseAddress } from '../../mail/address.js'
import { timestamp } from '../../platform/clock.js'
import type { Read } from '../../storage/prepared.js'
import { SERVICE } from '../../storage/tables/tables.js'
import { unlessMissed } from '../../storage/writer/unless-missed.js'
import { listSuppressions } from '../../suppressions/suppression-list.js'
import { findSuppression, removeSuppression, type Suppression } from '../../suppressions/suppressions.js'
import {
  type Answer,
  atMost,
  type Call,
  type Command,
  CommandFailed,
  flag,
  type OptionValues,
  text,
  UsageError,
  word,
} from '../command.js'
import { table } from '../table.js'
import { chosenWorkspace } from '../workspace-choice.js'

const options = { workspace: 'string', service: 'boolean' } as const

export const suppressionCommands: readonly Command[] = [
  {
    name: 'suppression list',
    usage: '[--service | --workspace ID]',
    summary: 'list the addresses that a workspace does not write to; --service: that the service does not write to',
    options,
    run: list,
  },
  {
    name: 'suppression delete',
    usage: 'ADDRESS [--service | --workspace ID]',
    summary: 'let an address be written to again',
    options,
    noticed: true,
    run: remove,
  },
]

/** Whose list: its id, or the word for the service. */
function listOf(read: Read, options: OptionValues): string {
  if (!flag(options, 'service')) return chosenWorkspace(read, options)
  if (text(options, 'workspace') !== undefined) throw new UsageError('--service and --workspace exclude each other')
  return SERVICE
}

const PAGE = 500

function* all(read: Read, workspaceId: string): Generator<Suppression> {
  for (let after: string | undefined; ; ) {
    const page = listSuppressions(read, { workspaceId, reason: undefined, after, limit: PAGE })
    yield* page
    after = page.at(-1)?.id
    if (page.length < PAGE) return
  }
}

async function list({ words, options, database }: Call): Promise<Answer> {
  atMost(words, 0)
  const { read } = await database()
  const rows = [...all(read, listOf(read, options))]
  return {
    json: {
      data: rows.map(({ id, email, reason, metadata, created_at }) => {
        return { id, email, reason, metadata: JSON.parse(metadata) as unknown, created_at: timestamp(created_at) }
      }),
    },
    lines: table(
      ['EMAIL', 'REASON', 'SINCE'],
      rows.map(({ email, reason, created_at }) => [email, reason, timestamp(created_at)]),
    ),
  }
}

async function remove({ words, options, database, clock }: Call): Promise<Answer> {
  atMost(words, 1)
  const address = parseAddress(word(words, 0, 'ADDRESS'))
  const { read, commit } = await database()
  const workspaceId = listOf(read, options)
  const row = findSuppression(read, workspaceId, address)
  if (row === undefined) throw new CommandFailed(`${address} is not on the list`)
  const { id, email, reason } = row
  const action = 'suppression.deleted'
  const act = recordAct({ workspaceId, actor: operator, action, target: id, at: clock(), details: { email, reason } })
  if (!(await unlessMissed(commit([removeSuppression({ workspaceId, id }), act])))) {
    throw new CommandFailed(`${address} is not on the list any more`)
  }
  return { json: { deleted: true, id }, lines: [`${email} may be written to again`] }
}
