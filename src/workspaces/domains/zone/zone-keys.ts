/**
 * The DKIM keys of registrations as records of the service zone, by name and in pages.
 *
 * The zone has the keys of every registration, verified or not, because we check its CNAMEs before we verify it.
 * These reads span all workspaces, because the zone is public.
 */
import { sql } from 'kysely'
import { prepareRead, type queryBuilder, type Read } from '../../../base/storage/db/prepared.js'
import { keyTargetOf } from '../verification/dns-records.js'

export interface PublishedKey {
  readonly id: string
  readonly selector: string
  readonly public_record: string
}

const selectKeys = (db: typeof queryBuilder) =>
  db
    .selectFrom('domains')
    .innerJoin('dkim_keys', (join) =>
      join
        .onRef('dkim_keys.workspace_id', '=', 'domains.workspace_id')
        .onRef('dkim_keys.domain', '=', 'domains.domain'),
    )
    .select(['domains.id', 'dkim_keys.selector', 'dkim_keys.public_record'])

const keysByIdTail = prepareRead<{ tail: string }>()(({ db, slot }) =>
  selectKeys(db)
    // The index `domains_label` has the same expression.
    .where(sql<string>`substr(domains.id, 15)`, '=', slot('tail'))
    .orderBy('dkim_keys.selector'),
)

/** The keys of the registration with `label`, which is the last twenty digits of its id. */
export async function keysOfLabel(read: Read, label: string): Promise<readonly PublishedKey[]> {
  if (!/^[0-9a-f]{20}$/.test(label)) return []
  return keysByIdTail(read, { tail: `${label.slice(0, 4)}-${label.slice(4, 8)}-${label.slice(8)}` })
}

const idsAfter = prepareRead<{ after: string; limit: number }>()(({ db, slot }) =>
  db.selectFrom('domains').select('id').where('id', '>', slot('after')).orderBy('id').limit(slot('limit')),
)

const keysBetween = prepareRead<{ after: string; last: string }>()(({ db, slot }) =>
  selectKeys(db)
    .where('domains.id', '>', slot('after'))
    .where('domains.id', '<=', slot('last'))
    .orderBy('domains.id')
    .orderBy('dkim_keys.selector'),
)

/** Registrations in one page. A small page keeps each read short. */
const PAGE_SIZE = 100

/**
 * Reads pages in the order of the registrations' ids. It reads each page from the database when the caller asks for
 * it.
 */
export async function* readKeyPages(read: Read): AsyncGenerator<readonly PublishedKey[]> {
  let after = ''
  for (;;) {
    const last = (await idsAfter(read, { after, limit: PAGE_SIZE })).at(-1)?.id
    if (last === undefined) return
    yield await keysBetween(read, { after, last })
    after = last
  }
}

export function publishedNameOf({ id, selector }: PublishedKey, zone: string): string {
  return keyTargetOf({ id }, selector, zone)
}
