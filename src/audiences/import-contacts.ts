/**
 * Contacts out of a file: added where the audience does not have the address, else changed by
 * what the line says.
 *
 * The whole file is read through once before anything is changed, so that one that cannot be
 * read has changed nothing. Then it goes in by portions, each one commit in which everything
 * is asserted that it was planned on; where the world has moved on meanwhile (another import,
 * somebody who unsubscribes) the portion is planned again. Nobody waits for it longer than a
 * portion takes.
 *
 * A line that says nothing of it leaves a subscription alone, and whoever has unsubscribed is
 * not subscribed again by a file that may be old, unless `resubscribe` says that it is meant.
 * Later lines count over earlier ones.
 */
import { Refusal } from '../mail/refusal.js'
import type { Clock } from '../platform/clock.js'
import { CsvFault, type CsvRow, csvRows } from '../platform/csv-rows.js'
import { type RefusedLine, RefusedLines } from '../platform/refused-lines.js'
import { ConstraintViolated, Missed } from '../storage/write.js'
import { audienceStays, foundAudience } from './audiences.js'
import { type ContactColumn, type ContactLine, contactColumns, contactLine, isRefused } from './contact-columns.js'
import { ContactPlan, type PlanCounts, type PlannedLine } from './contact-plan.js'
import type { Records } from './put-contact.js'

/** Lines of a file, without that of the columns. */
export const MAX_LINES = 250_000
/** Lines of one commit: some ten milliseconds of the writer. */
const PORTION = 200

export interface ContactImport {
  readonly workspaceId: string
  readonly audienceId: string
  readonly resubscribe: boolean
}

export interface ImportReport extends PlanCounts {
  readonly refused: number
  /** The first of them. */
  readonly refusals: readonly RefusedLine[]
}

export interface ImportDeps extends Records {
  readonly clock: Clock
}

/** Rejects with a Refusal: audience-not-found, invalid-parameter, too-large. */
export async function importContacts(deps: ImportDeps, wanted: ContactImport, file: Buffer): Promise<ImportReport> {
  const { read } = deps
  foundAudience(read, wanted.workspaceId, wanted.audienceId)
  await readThrough(file)
  const refused = new RefusedLines()
  const sum: Sum = { added: 0, updated: 0, unchanged: 0, still_unsubscribed: 0 }
  let portion: PlannedLine[] = []
  for await (const lines of linesOf(file)) {
    for (const said of lines) {
      if (isRefused(said.line)) refused.add(said.line)
      else portion.push({ at: said.at, line: said.line })
      if (portion.length < PORTION) continue
      add(sum, await takeIn(deps, wanted, portion, refused))
      portion = []
    }
  }
  if (portion.length > 0) add(sum, await takeIn(deps, wanted, portion, refused))
  return { ...sum, refused: refused.count, refusals: refused.told }
}

type Sum = { -readonly [Name in keyof PlanCounts]: number }

function add(sum: Sum, counts: PlanCounts): void {
  sum.added += counts.added
  sum.updated += counts.updated
  sum.unchanged += counts.unchanged
  sum.still_unsubscribed += counts.still_unsubscribed
}

/** Throws a Refusal for a file that is not to be begun with. */
async function readThrough(file: Buffer): Promise<void> {
  let lines = 0
  let columns: readonly ContactColumn[] | null = null
  try {
    for await (const [first, ...others] of csvRows(file)) {
      if (columns === null && first !== undefined) columns = contactColumns(first)
      else lines += 1
      lines += others.length
      if (lines > MAX_LINES) throw tooMany()
    }
  } catch (error) {
    if (error instanceof CsvFault) throw unreadable(error)
    throw error
  }
  if (columns === null) throw new Refusal('invalid-parameter', 'file: is empty', { field: 'file' })
}

interface Said {
  readonly at: number
  readonly line: ContactLine | RefusedLine
}

async function* linesOf(file: Buffer): AsyncGenerator<readonly Said[]> {
  let columns: readonly ContactColumn[] | null = null
  const said = (row: CsvRow): readonly Said[] => {
    if (columns === null) {
      columns = contactColumns(row)
      return []
    }
    // Spreadsheets end in rows of nothing but commas.
    if (row.cells.every((cell) => cell === '')) return []
    return [{ at: row.line, line: contactLine(columns, row) }]
  }
  for await (const rows of csvRows(file)) yield rows.flatMap(said)
}

async function takeIn(
  { read, commit, clock }: ImportDeps,
  { workspaceId, audienceId, resubscribe }: ContactImport,
  lines: readonly PlannedLine[],
  refused: RefusedLines,
): Promise<PlanCounts> {
  for (;;) {
    foundAudience(read, workspaceId, audienceId)
    const plan = new ContactPlan({ read, workspaceId, audienceId, resubscribe, now: clock() })
    for (const { at, line } of lines) plan.take(at, line)
    const writes = plan.writes()
    try {
      if (writes.length > 0) await commit([audienceStays({ workspaceId, id: audienceId }), ...writes])
      for (const line of plan.refused) refused.add(line)
      return plan.counts
    } catch (error) {
      if (!(error instanceof Missed) && !(error instanceof ConstraintViolated)) throw error
    }
  }
}

function tooMany(): Refusal {
  return new Refusal('too-large', `file: has more than ${MAX_LINES} lines`, { field: 'file', limit: MAX_LINES })
}

function unreadable({ line, message }: CsvFault): Refusal {
  return new Refusal('invalid-parameter', `file: line ${line}: ${message}`, { field: 'file', line })
}
