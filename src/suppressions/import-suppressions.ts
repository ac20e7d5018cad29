/**
 * Suppressions out of a file, of another provider or of ours: what is not on the list yet comes
 * on it, what is on it keeps its first reason.
 *
 * The whole file is read through before anything is changed, then goes in by portions of one
 * commit each. What counts as new is asserted in the commit: an address that somebody else adds
 * meanwhile is known, not added. Two lines with one address are one new address and one that
 * is known.
 */
import { shown } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'
import { type Clock, timestamp } from '../platform/clock.js'
import { CsvFault, type CsvRow, csvRows } from '../platform/csv-rows.js'
import { type RefusedLine, RefusedLines } from '../platform/refused-lines.js'
import type { Read } from '../storage/prepared.js'
import { type Commit, Missed, type Write } from '../storage/write.js'
import {
  isRefusedLine,
  type Provider,
  type ProviderColumns,
  type ProviderLine,
  providerColumns,
  providerLine,
} from './provider-columns.js'
import { addNewSuppression, findSuppression, type NewSuppression, type SuppressionReason } from './suppressions.js'

/** Lines of a file. */
export const MAX_LINES = 250_000
/** Lines of one commit: some ten milliseconds of the writer. */
const PORTION = 200

export interface SuppressionImport {
  readonly workspaceId: string
  /** Of lines that do not say theirs. */
  readonly reason: SuppressionReason
}

export interface SuppressionReport {
  readonly provider: Provider
  readonly added: number
  /** On the list already. */
  readonly known: number
  readonly refused: number
  /** The first of them. */
  readonly refusals: readonly RefusedLine[]
}

interface Records {
  readonly read: Read
  /** Whoever remembers lists hears of it. */
  readonly commit: Commit
  /** Asked for each line: ids that grow with it are quickly stored. */
  readonly clock: Clock
}

/** `note`: writes that go into the last commit, told what was done. Rejects with a Refusal: invalid-parameter, too-large. */
export async function importSuppressions(
  deps: Records,
  wanted: SuppressionImport,
  file: Buffer,
  note: (report: SuppressionReport) => readonly Write[],
): Promise<SuppressionReport> {
  const columns = await readThrough(file)
  const { provider } = columns
  const refused = new RefusedLines()
  const sum = { added: 0, known: 0 }
  let portion: NewSuppression[] = []
  const report = (): SuppressionReport => ({
    provider,
    ...sum,
    refused: refused.count,
    refusals: refused.told,
  })
  const takeIn = async (last: boolean): Promise<void> => {
    const before = { ...sum }
    await commitNew(deps, portion, (news) => {
      sum.added = before.added + news
      sum.known = before.known + portion.length - news
      return last && sum.added > 0 ? note(report()) : []
    })
    portion = []
  }
  for await (const lines of linesOf(file, columns)) {
    for (const line of lines) {
      if (isRefusedLine(line)) refused.add(line)
      else {
        if (portion.length === PORTION) await takeIn(false)
        portion.push(suppressionOf(line, provider, wanted, deps.clock()))
      }
    }
  }
  await takeIn(true)
  return report()
}

/** Throws a Refusal for a file that is not to be begun with. */
async function readThrough(file: Buffer): Promise<ProviderColumns> {
  let lines = 0
  let columns: ProviderColumns | null = null
  try {
    for await (const rows of csvRows(file)) {
      const [first] = rows
      if (lines === 0 && first !== undefined) columns = columnsOf(first)
      lines += rows.length
      if (lines > MAX_LINES) throw tooMany()
    }
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error
    const { line, message } = error
    throw new Refusal('invalid-parameter', `file: line ${line}: ${message}`, { field: 'file', line })
  }
  if (columns === null) throw new Refusal('invalid-parameter', 'file: is empty', { field: 'file' })
  return columns
}

function columnsOf(first: CsvRow): ProviderColumns {
  const columns = providerColumns(first)
  if (columns !== null) return columns
  const names = shown(first.cells.join(', '))
  const rule = 'must be the names of the columns, with one for the address, such as "email"'
  throw new Refusal('invalid-parameter', `file: line ${first.line} ${rule}, not ${names}`, {
    field: 'file',
    line: first.line,
  })
}

async function* linesOf(
  file: Buffer,
  columns: ProviderColumns,
): AsyncGenerator<readonly (ProviderLine | RefusedLine)[]> {
  let first = columns.named
  for await (const rows of csvRows(file)) {
    const wanted = first ? rows.slice(1) : rows
    first = false
    yield wanted.filter(({ cells }) => cells.some((cell) => cell !== '')).map((row) => providerLine(columns, row))
  }
}

function suppressionOf(
  line: ProviderLine,
  provider: Provider,
  { workspaceId, reason }: SuppressionImport,
  now: number,
): NewSuppression {
  const why = line.reason ?? reason
  const metadata = {
    ...(why === 'hard_bounce' ? { bounce_type: 'hard', bounce_subtype: 'imported' } : {}),
    ...(why === 'hard_bounce' && line.diagnostic !== null ? { diagnostic_code: line.diagnostic } : {}),
    ...(why === 'spam_complaint' ? { feedback_type: 'abuse' } : {}),
    imported_from: provider,
    ...(line.moment === null ? {} : { suppressed_at: momentOf(line.moment) }),
  }
  return { workspaceId, email: line.email, reason: why, sourceEmailId: null, metadata, at: now }
}

/** Seconds since 1970, or whatever dates are written like; what is neither stays as it is. */
function momentOf(text: string): string {
  const at = /^\d{9,10}(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text)
  return Number.isFinite(at) && Math.abs(at) < 8.64e15 ? timestamp(Math.floor(at)) : shown(text)
}

/** `more`: what goes in with them, told how many are new. */
async function commitNew(
  { read, commit }: Records,
  portion: readonly NewSuppression[],
  more: (news: number) => readonly Write[],
): Promise<void> {
  for (;;) {
    const news = newOnes(read, portion)
    const writes = [...news, ...more(news.length)]
    if (writes.length === 0) return
    try {
      return await commit(writes)
    } catch (error) {
      if (!(error instanceof Missed)) throw error
      // Somebody else has added one of them meanwhile.
    }
  }
}

function newOnes(read: Read, portion: readonly NewSuppression[]): readonly Write[] {
  const seen = new Set<string>()
  return portion.flatMap((suppression) => {
    const key = suppression.email.toLowerCase()
    if (seen.has(key)) return []
    seen.add(key)
    const there = findSuppression(read, suppression.workspaceId, suppression.email)
    return there === undefined ? [addNewSuppression(suppression)] : []
  })
}

function tooMany(): Refusal {
  return new Refusal('too-large', `file: has more than ${MAX_LINES} lines`, { field: 'file', limit: MAX_LINES })
}
