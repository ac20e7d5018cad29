/** Finds the domains of a workspace whose names begin with a text: the verified ones for people who choose a sender, or all. */
import { sql } from 'kysely'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'

/** Domains with that beginning that one search reads, verified or not. */
const MAX_READ = 1_000
/** Sorts after every character of a domain. */
const LAST_CHARACTER = '\u{10ffff}'

const selectRange = prepareRead<{ workspaceId: string; from: string; end: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('domains')
    .select(['id', 'domain', 'status'])
    .where('workspace_id', '=', slot('workspaceId'))
    // A beginning is not a domain name, so the type of the column does not fit it.
    .where(sql.ref<string>('domain'), '>=', slot('from'))
    .where(sql.ref<string>('domain'), '<', slot('end'))
    .orderBy('domain')
    .limit(slot('limit')),
)

interface DomainSearch {
  readonly workspaceId: string
  /** The beginning of a name, in any case. An empty text finds all. */
  readonly beginning: string
  readonly limit: number
}

interface FoundDomains {
  readonly names: readonly string[]
  /** True if there may be more domains with that beginning. */
  readonly hasMore: boolean
}

type FoundDomain = Awaited<ReturnType<typeof selectRange>>[number]

/** Returns at most `limit` domains in any state, in the order of their names. */
export async function searchDomains(
  read: Read,
  { workspaceId, beginning, limit }: DomainSearch,
): Promise<readonly FoundDomain[]> {
  const from = beginning.toLowerCase()
  return selectRange(read, { workspaceId, from, end: `${from}${LAST_CHARACTER}`, limit })
}

export async function searchVerifiedDomains(
  read: Read,
  { workspaceId, beginning, limit }: DomainSearch,
): Promise<FoundDomains> {
  const from = beginning.toLowerCase()
  const rows = await selectRange(read, { workspaceId, from, end: `${from}${LAST_CHARACTER}`, limit: MAX_READ })
  const verified = rows.filter(({ status }) => status === 'verified').map(({ domain }) => domain)
  return { names: verified.slice(0, limit), hasMore: verified.length > limit || rows.length === MAX_READ }
}
