/**
 * Imports contacts from a CSV file. It adds an address that is new to the audience, and changes an address that the
 * audience has by what the line says. Later lines take precedence over earlier ones.
 *
 * A line without a value for the subscription leaves the subscription as it is. The import does not subscribe a
 * contact that has unsubscribed, unless `resubscribe` is set, because the file may be old.
 */
import type { Clock } from '../../base/platform/clock.js'
import { addRefusedLines, noRefusedLines } from '../../base/platform/csv/refused-lines.js'
import type { CsvBytes } from '../../base/platform/csv/rows.js'
import {
  type BatchPlan,
  type CsvImport,
  countRows,
  type ImportJournal,
  importCsvRows,
} from '../../base/storage/db/csv-import.js'
import type { Store } from '../../base/storage/db/database.js'
import { ConstraintViolated, WriteConflict } from '../../base/storage/db/write.js'
import type {
  AddressHint,
  ContactImportReport,
  ContactLayout,
  HintSummary,
} from '../../base/storage/tables/content-tables.js'
import { addHints, createHintFinder, type FindHints, noHints } from './address-hints.js'
import { assertAudienceExists, requireAudience } from './audiences.js'
import { type ContactColumn, isRefusedContactLine, parseContactLine } from './contact-columns.js'
import { toHeader } from './contact-layout.js'
import { ContactPlan, type PlannedLine } from './contact-plan.js'

interface ContactImport {
  readonly workspaceId: string
  readonly audienceId: string
  readonly resubscribe: boolean
  readonly layout: ContactLayout
  /** Lines whose address has one of these hints are not imported. */
  readonly leaveOut: readonly AddressHint['hint'][]
}

interface ImportDeps extends Store {
  readonly clock: Clock
}

interface PlanDeps extends ImportDeps {
  readonly findHints: FindHints
}

/** The number of data rows. Rejects with a Refusal for a file that cannot be imported. */
export function countContactRows(file: Buffer, layout: ContactLayout): Promise<number> {
  return countRows(file, toHeader(layout))
}

/**
 * Imports a file that `countContactRows` has accepted. Rejects with a Refusal `audience-not-found`, or
 * with what the journal throws.
 */
export async function importContacts(
  deps: ImportDeps,
  request: ContactImport,
  file: CsvBytes,
  journal: ImportJournal<ContactImportReport>,
): Promise<ContactImportReport> {
  const planning = { ...deps, findHints: await createHintFinder() }
  const spec: CsvImport<readonly ContactColumn[], PlannedLine, ContactImportReport> = {
    ...toHeader(request.layout),
    parseRow: (columns, row) => {
      const line = parseContactLine(columns, row)
      return isRefusedContactLine(line) ? { refused: line } : { item: { lineNumber: row.line, line } }
    },
    emptyReport: () => emptyReportOf(request.layout.encoding),
    planBatch: (lines, before) => planBatch(planning, request, lines, before),
    isConflict: (error) => error instanceof WriteConflict || error instanceof ConstraintViolated,
  }
  return importCsvRows({ commit: deps.commit, journal }, file, spec)
}

/** The report on no line. */
export function emptyReportOf(encoding: ContactLayout['encoding']): ContactImportReport {
  return {
    encoding,
    ...{ added: 0, updated: 0, unchanged: 0, still_unsubscribed: 0, left_out: 0 },
    ...noRefusedLines,
    ...noHints,
  }
}

async function planBatch(
  { read, clock, findHints }: PlanDeps,
  { workspaceId, audienceId, resubscribe, leaveOut }: ContactImport,
  lines: readonly PlannedLine[],
  before: ContactImportReport,
): Promise<BatchPlan<ContactImportReport>> {
  await requireAudience(read, workspaceId, audienceId)
  const plan = new ContactPlan({ read, workspaceId, audienceId, resubscribe, now: clock() })
  const hinted = lines.map((line) => ({ ...line, hints: findHints(line.line.email) }))
  const kept = hinted.filter(({ hints }) => !hints.some(({ hint }) => leaveOut.includes(hint)))
  await plan.addLines(kept)
  const contacts = plan.toWrites()
  const stays = contacts.length > 0 ? [assertAudienceExists({ workspaceId, id: audienceId })] : []
  const shown = kept.flatMap(({ lineNumber, line: { email }, hints }) =>
    hints.map(({ hint, suggestion }) => ({ line: lineNumber, email, hint, suggestion })),
  )
  const report = {
    ...before,
    ...addCounts(before, plan),
    left_out: before.left_out + lines.length - kept.length,
    ...addHints(before, shown),
  }
  return { report, writes: [...stays, ...contacts] }
}

export function addCounts(
  before: ContactImportReport,
  { counts, refusedLines }: ContactPlan,
): Omit<ContactImportReport, keyof HintSummary | 'left_out' | 'encoding'> {
  return {
    added: before.added + counts.added,
    updated: before.updated + counts.updated,
    unchanged: before.unchanged + counts.unchanged,
    still_unsubscribed: before.still_unsubscribed + counts.still_unsubscribed,
    ...addRefusedLines(before, refusedLines),
  }
}
