/** The rows of `suppressions`: one for each address that was added in the range, in the order of their ids. */
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import type { SuppressionsTable } from '../../../base/storage/tables/content-tables.js'
import { type ExportRange, type ExportSource, formatExportedTime, progressOf } from './export-source.js'

/** The addresses of a step. */
const STEP = 500

const columns = ['email', 'reason', 'source_email_id', 'created_at'] as const

type ListedAddress = Pick<SuppressionsTable, (typeof columns)[number]>

const addressesAfter = prepareRead<{ workspaceId: string; after: string }>()(({ db, slot }) =>
  db
    .selectFrom('suppressions')
    .select(['id', ...columns])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '>', slot('after'))
    .orderBy('id')
    .limit(STEP),
)

export function createSuppressionSource(read: Read, range: ExportRange): ExportSource {
  const { workspace_id: workspaceId, from_at: from, to_at: to } = range
  return {
    columns,
    readStep: async (cursor) => {
      const addresses = await addressesAfter(read, { workspaceId, after: cursor ?? '' })
      const last = addresses[STEP - 1]
      return {
        rows: addresses.filter((address) => isInRange(address, range)).map(formatAddress),
        cursor: last?.id ?? null,
        progress: last === undefined ? 1_000 : progressOf(last.created_at, from, to),
      }
    },
  }
}

/** Tells whether an address is in the range. A domain is compared with that of the address. */
function isInRange({ email, created_at }: ListedAddress, { from_at, to_at, domain }: ExportRange): boolean {
  if (created_at < from_at || created_at >= to_at) return false
  return domain === null || email.slice(email.lastIndexOf('@') + 1) === domain
}

function formatAddress({ email, reason, source_email_id, created_at }: ListedAddress): readonly string[] {
  return [email, reason, source_email_id ?? '', formatExportedTime(created_at)]
}
