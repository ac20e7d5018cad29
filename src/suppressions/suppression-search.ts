/**
 * Suppressed addresses that begin with a text, in the order of the addresses, in pages.
 *
 * The addresses are walked in their index, in steps (`storage/stepped-walk.ts`), so a reason that few of them have
 * blocks nothing.
 *
 * Limit: with a reason, all addresses that begin with the text are checked until a page is full.
 */
import { prepareRead, type Read } from '../storage/prepared.js'
import { ROW_STEP, waitForStep } from '../storage/stepped-walk.js'
import type { SuppressionReason } from '../storage/tables/content-tables.js'
import type { Suppression } from './suppressions.js'

interface SuppressionSearch {
  readonly workspaceId: string
  /** The beginning of an address, in any case. */
  readonly beginning: string
  /** Undefined: any. */
  readonly reason: SuppressionReason | undefined
  /** Addresses after this one; undefined: from the first. */
  readonly after: string | undefined
  readonly limit: number
}

const selectStep = prepareRead<{ workspaceId: string; from: string; end: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('suppressions')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('email', '>=', slot('from'))
    .where('email', '<', slot('end'))
    .orderBy('email')
    .limit(slot('limit')),
)

/** Sorts after every character of an address. */
const LAST_CHARACTER = '\u{10ffff}'

export async function searchSuppressions(
  read: Read,
  { workspaceId, beginning, reason, after, limit }: SuppressionSearch,
): Promise<readonly Suppression[]> {
  const prefix = beginning.toLowerCase()
  const end = `${prefix}${LAST_CHARACTER}`
  const found: Suppression[] = []
  let from = after === undefined || after < prefix ? prefix : positionAfter(after)
  for (;;) {
    const rows = selectStep(read, { workspaceId, from, end, limit: ROW_STEP })
    found.push(...rows.filter((row) => reason === undefined || row.reason === reason))
    const last = rows[ROW_STEP - 1]
    if (found.length >= limit || last === undefined) return found.slice(0, limit)
    from = positionAfter(last.email)
    await waitForStep()
  }
}

/** A space sorts before every character that a longer domain could continue with. */
function positionAfter(address: string): string {
  return `${address} `
}
