/** `suppression list|delete`: the suppressed addresses of a workspace or of the service itself. */

import { parseAddress } from '../../../base/mail/address.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { listSuppressions } from '../../../records/suppressions/suppression-list.js'
import { findSuppression, removeSuppression, type Suppression } from '../../../records/suppressions/suppressions.js'
import { operatorActor, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  flagOption,
  type OptionValues,
  refuseExtraWords,
  requiredWord,
  textOption,
  UsageError,
} from '../command/command.js'
import { formatTable } from '../command/table.js'
import { chooseWorkspace } from '../command/workspace-choice.js'

/** The id of the workspace, or the word for the service. */
function chooseList(read: Read, options: OptionValues): string {
  if (!flagOption(options, 'service')) return chooseWorkspace(read, options)
  if (textOption(options, 'workspace') !== undefined)
    throw new UsageError('--service and --workspace exclude each other')
  return SERVICE_WORKSPACE
}

const PAGE_SIZE = 500

function* eachSuppression(read: Read, workspaceId: string): Generator<Suppression> {
  for (let after: string | undefined; ; ) {
    const page = listSuppressions(read, { workspaceId, reason: undefined, after, limit: PAGE_SIZE })
    yield* page
    after = page.at(-1)?.id
    if (page.length < PAGE_SIZE) return
  }
}

export async function list({ words, options, database }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { read } = await database()
  const rows = [...eachSuppression(read, chooseList(read, options))]
  return {
    json: {
      data: rows.map(({ id, email, reason, metadata, created_at }) => {
        return { id, email, reason, metadata: parseJson(metadata), created_at: formatTimestamp(created_at) }
      }),
    },
    lines: formatTable(
      ['EMAIL', 'REASON', 'SINCE'],
      rows.map(({ email, reason, created_at }) => [email, reason, formatTimestamp(created_at)]),
    ),
  }
}

export async function remove({ words, options, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const address = parseAddress(requiredWord(words, 0, 'ADDRESS'))
  const { read, commit } = await database()
  const workspaceId = chooseList(read, options)
  const row = findSuppression(read, workspaceId, address)
  if (row === undefined) throw new CommandFailed(`${address} is not on the list`)
  const { id, email, reason } = row
  const action = 'suppression.deleted'
  const act = recordAuditEntry({
    workspaceId,
    actor: operatorActor,
    action,
    target: id,
    at: clock(),
    details: { email, reason },
  })
  if (!(await tryCommit(commit([removeSuppression({ workspaceId, id }), act])))) {
    throw new CommandFailed(`${address} is not on the list any more`)
  }
  return { json: { deleted: true, id }, lines: [`${email} may be written to again`] }
}
