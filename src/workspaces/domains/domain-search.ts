/** The verified domains of a workspace whose names begin with a text, for people who choose a sender. */
import { sql } from 'kysely'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'

/** Domains with that beginning that are looked at, verified or not. */
const MAX_READ = 1_000
/** Sorts after every character of a domain. */
const LAST_CHARACTER = '\u{10ffff}'

const selectRange = prepareRead<{ workspaceId: string; from: string; end: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('domains')
    .select(['domain', 'status'])
    .where('workspace_id', '=', slot('workspaceId'))
    // A beginning is no domain name.
    .where(sql.ref<string>('domain'), '>=', slot('from'))
    .where(sql.ref<string>('domain'), '<', slot('end'))
    .orderBy('domain')
    .limit(slot('limit')),
)

interface DomainSearch {
  readonly workspaceId: string
  /** The beginning of a name, in any case; empty: all. */
  readonly beginning: string
  readonly limit: number
}

interface FoundDomains {
  readonly names: readonly string[]
  /** There may be others with that beginning. */
  readonly hasMore: boolean
}

export function searchVerifiedDomains(read: Read, { workspaceId, beginning, limit }: DomainSearch): FoundDomains {
  const from = beginning.toLowerCase()
  const rows = selectRange(read, { workspaceId, from, end: `${from}${LAST_CHARACTER}`, limit: MAX_READ })
  const verified = rows.filter(({ status }) => status === 'verified').map(({ domain }) => domain)
  return { names: verified.slice(0, limit), hasMore: verified.length > limit || rows.length === MAX_READ }
}
