/**
 * Imports suppressions from a CSV file of another provider or of this server. An address that is already on the list
 * keeps its first reason.
 *
 * The commit checks that an address is new: one that is added at the same time counts as known. Two lines with one
 * address count as one that was added and one that was known.
 */
import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { type Clock, formatTimestamp } from '../../base/platform/clock.js'
import { detectEncoding, type TextEncoding } from '../../base/platform/csv/encoding.js'
import { noRefusedLines } from '../../base/platform/csv/refused-lines.js'
import type { CsvBytes, CsvRow } from '../../base/platform/csv/rows.js'
import {
  type CsvHeader,
  type CsvImport,
  countRows,
  type ImportJournal,
  importCsvRows,
} from '../../base/storage/db/csv-import.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { type Commit, type Write, WriteConflict } from '../../base/storage/db/write.js'
import type {
  SuppressionImportReport,
  SuppressionProvider,
  SuppressionReason,
} from '../../base/storage/tables/content-tables.js'
import {
  isRefusedLine,
  type ProviderColumns,
  type ProviderLine,
  parseProviderColumns,
  parseProviderLine,
} from './provider-files.js'
import { addNewSuppression, findSuppression, type NewSuppression } from './suppressions.js'

interface SuppressionImport {
  readonly workspaceId: string
  /** The reason for lines that have none. */
  readonly reason: SuppressionReason
  readonly encoding: TextEncoding
}

interface ImportDeps {
  readonly read: Read
  /** The commit that caches of suppressions watch. */
  readonly commit: Commit
  /** The clock is read for each line, because ids that grow with it are fast to insert. */
  readonly clock: Clock
}

/**
 * Resolves to the number of data rows, and to the encoding, which the bytes decide unless it is given. Rejects with a
 * Refusal for a file that cannot be imported.
 */
export async function measureSuppressionFile(
  file: Buffer,
  given?: TextEncoding,
): Promise<{ readonly total: number; readonly encoding: TextEncoding }> {
  const encoding = given ?? (await detectEncoding(file))
  return { total: await countRows(file, { ...header, encoding }), encoding }
}

/**
 * Imports a file that `measureSuppressionFile` has accepted. Rejects with the errors of the journal. `noteEnd` returns
 * writes for the last commit of an import that cannot be resumed.
 */
export function importSuppressions(
  { read, commit, clock }: ImportDeps,
  request: SuppressionImport,
  file: CsvBytes,
  journal: ImportJournal<SuppressionImportReport>,
  noteEnd: (report: SuppressionImportReport) => readonly Write[] = () => [],
): Promise<SuppressionImportReport> {
  const spec: CsvImport<ProviderColumns, NewSuppression, SuppressionImportReport> = {
    ...header,
    encoding: request.encoding,
    parseRow: (columns, row) => {
      const line = parseProviderLine(columns, row)
      return isRefusedLine(line) ? { refused: line } : { item: toSuppression(line, columns.provider, request, clock()) }
    },
    emptyReport: (columns) => ({
      ...{ provider: columns?.provider ?? 'list', encoding: request.encoding },
      ...{ added: 0, known: 0 },
      ...noRefusedLines,
    }),
    planBatch: async (suppressions, before) => {
      const writes = await addNewSuppressions(read, suppressions)
      const known = before.known + suppressions.length - writes.length
      return { writes, report: { ...before, added: before.added + writes.length, known } }
    },
    isConflict: (error) => error instanceof WriteConflict,
  }
  return importCsvRows({ commit, journal, noteEnd }, file, spec)
}

const header: CsvHeader<ProviderColumns> = {
  parseColumns: (first) => {
    const columns = parseProviderColumns(first)
    if (columns === null) throw columnsRefusal(first)
    return columns
  },
  hasHeader: ({ hasHeader }) => hasHeader,
}

function columnsRefusal({ line, cells }: CsvRow): Refusal {
  const rule = 'must be the column names, one of them for the address, such as "email"'
  const message = `file: line ${line} ${rule}, found: ${formatForDisplay(cells.join(', '))}`
  return new Refusal('invalid-parameter', message, { field: 'file', line })
}

function toSuppression(
  line: ProviderLine,
  provider: SuppressionProvider,
  { workspaceId, reason }: Pick<SuppressionImport, 'workspaceId' | 'reason'>,
  now: number,
): NewSuppression {
  const why = line.reason ?? reason
  const metadata = {
    ...(why === 'hard_bounce' ? { bounce_type: 'hard', bounce_subtype: 'imported' } : {}),
    ...(why === 'hard_bounce' && line.diagnostic !== null ? { diagnostic_code: line.diagnostic } : {}),
    ...(why === 'spam_complaint' ? { feedback_type: 'abuse' } : {}),
    imported_from: provider,
    ...(line.moment === null ? {} : { suppressed_at: formatMoment(line.moment) }),
  }
  return { workspaceId, email: line.email, reason: why, sourceEmailId: null, metadata, at: now }
}

/** Parses seconds since 1970 or a date; any other text stays unchanged. */
function formatMoment(text: string): string {
  const at = /^\d{9,10}(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text)
  return Number.isFinite(at) && Math.abs(at) < 8.64e15 ? formatTimestamp(Math.floor(at)) : formatForDisplay(text)
}

async function addNewSuppressions(read: Read, portion: readonly NewSuppression[]): Promise<readonly Write[]> {
  const seen = new Set<string>()
  return (
    await Promise.all(
      portion.map(async (suppression) => {
        const key = suppression.email.toLowerCase()
        if (seen.has(key)) return []
        seen.add(key)
        const there = await findSuppression(read, suppression.workspaceId, suppression.email)
        return there === undefined ? [addNewSuppression(suppression)] : []
      }),
    )
  ).flat()
}
