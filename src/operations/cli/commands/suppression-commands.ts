/** `suppression list|add|import|delete`: the suppressed addresses of a workspace or of the service itself. */
import { createReadStream } from 'node:fs'

import { type Address, explainAddress, tryParseForeignAddress } from '../../../base/mail/address.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { SuppressionImportReport, SuppressionReason } from '../../../base/storage/tables/content-tables.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { importSuppressions, measureSuppressionFile } from '../../../records/suppressions/import-suppressions.js'
import { listSuppressions } from '../../../records/suppressions/suppression-list.js'
import {
  findSuppression,
  removeSuppression,
  type Suppression,
  type SuppressResult,
  suppress,
  suppressionReasons,
} from '../../../records/suppressions/suppressions.js'
import { operatorActor, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import {
  createDirectJournal,
  MAX_IMPORT_BYTES,
  recordSuppressionImport,
} from '../../../workspaces/imports/direct-import.js'
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
import { explainClosedFile } from '../command/process-user.js'
import { quoteForShell } from '../command/shell-word.js'
import { formatTable } from '../command/table.js'
import { chooseWorkspace } from '../command/workspace-choice.js'

/** The id of the workspace, or the word for the service. */
async function chooseList(read: Read, options: OptionValues): Promise<string> {
  if (!flagOption(options, 'service')) return chooseWorkspace(read, options)
  if (textOption(options, 'workspace') !== undefined)
    throw new UsageError('--service and --workspace exclude each other')
  return SERVICE_WORKSPACE
}

const PAGE_SIZE = 500

async function readList(read: Read, workspaceId: string): Promise<readonly Suppression[]> {
  const rows: Suppression[] = []
  for (let after: string | undefined; ; ) {
    const page = await listSuppressions(read, { workspaceId, reason: undefined, after, limit: PAGE_SIZE })
    rows.push(...page)
    after = page.at(-1)?.id
    if (page.length < PAGE_SIZE) return rows
  }
}

export async function list({ words, options, database }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { read } = await database()
  const rows = await readList(read, await chooseList(read, options))
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

/** Nothing is added if one of the addresses is none. */
export async function add({ words, options, database, clock }: Call): Promise<Answer> {
  requiredWord(words, 0, 'ADDRESS')
  const addresses = words.map(parseSuppressed)
  const reason = parseReason(options)
  const store = await database()
  const workspaceId = await chooseList(store.read, options)
  const added: SuppressResult[] = []
  for (const email of addresses) {
    added.push(await suppress(store, { workspaceId, email, reason, sourceEmailId: null, metadata: {}, at: clock() }))
  }
  const describe = ({ record, isNew }: SuppressResult): string =>
    `${record.email} ${isNew ? 'is not written to from now on' : `was on the list already (${record.reason})`}`
  return {
    json: {
      data: added.map(({ record: { id, email, reason, created_at }, isNew }) => {
        return { id, email, reason, created_at: formatTimestamp(created_at), added: isNew }
      }),
    },
    lines: added.map(describe),
  }
}

/** The mailbox of another server, which may have a form that is not allowed here. */
function parseSuppressed(text: string): Address {
  const address = tryParseForeignAddress(text)
  if (address !== null) return address
  const rule = explainAddress(text, 'allowed: a mail address, local@domain')
  throw new CommandFailed(`ADDRESS: found "${text}", ${rule}`)
}

function parseReason(options: OptionValues): SuppressionReason {
  const given = textOption(options, 'reason') ?? 'manual'
  const reason = suppressionReasons.find((one) => one === given)
  if (reason !== undefined) return reason
  throw new UsageError(`--reason: found "${given}", allowed: ${suppressionReasons.join(', ')}`)
}

/** The file is read completely before anything is changed. Lines that are refused do not keep others from the list. */
export async function importFile({ words, options, database, clock, openInput }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const name = requiredWord(words, 0, 'FILE')
  const reason = parseReason(options)
  const file = await readFile(name === '-' ? openInput() : createReadStream(name)).catch((error: unknown) => {
    throw explainClosedFile(error, `posthorn suppression import - < ${quoteForShell(name)}`)
  })
  const { encoding } = await measureSuppressionFile(file)
  const { read, commit } = await database()
  const workspaceId = await chooseList(read, options)
  const report = await importSuppressions(
    { read, commit, clock },
    { workspaceId, reason, encoding },
    file,
    createDirectJournal(read, workspaceId),
    (result) => recordSuppressionImport({ workspaceId, actor: operatorActor, at: clock() }, result),
  )
  return {
    json: report,
    lines: describeImport(name === '-' ? 'standard input' : name, report),
    failed: report.refused > 0,
  }
}

async function readFile(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of bytes) {
    pieces.push(piece)
    size += piece.length
    if (size > MAX_IMPORT_BYTES) throw new CommandFailed(`FILE: is larger than ${MAX_IMPORT_BYTES} bytes: divide it`)
  }
  return Buffer.concat(pieces)
}

function describeImport(
  name: string,
  { provider, added, known, refused, refusals }: SuppressionImportReport,
): readonly string[] {
  const rest = refused - refusals.length
  return [
    `${name}${provider === 'list' ? '' : `, a file of ${provider}`}: ${added} added, ${known} known already, ${refused} refused`,
    ...refusals.map(({ line, field, reason, value }) => {
      return `  line ${line}: ${field === null ? '' : `${field} `}${value === null ? '' : `"${value}" `}${reason}`
    }),
    ...(rest > 0 ? [`  and ${rest} more lines`] : []),
  ]
}

export async function remove({ words, options, database, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const address = parseSuppressed(requiredWord(words, 0, 'ADDRESS'))
  const { read, commit } = await database()
  const workspaceId = await chooseList(read, options)
  const row = await findSuppression(read, workspaceId, address)
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
    throw new CommandFailed(`${address} is no longer on the list`)
  }
  return { json: { deleted: true, id }, lines: [`${email} may be written to again`] }
}
