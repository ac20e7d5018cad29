/**
 * The DKIM keys of sending domains and of the service itself.
 *
 * Each domain has two selectors, of which one signs, so that rotation moves to the
 * other without a change of the customer's DNS. `keyChain` keeps each signing key as a
 * `KeyObject`: parsing a PEM costs more than signing with it.
 */
import { createPrivateKey } from 'node:crypto'
import { prepareRead, prepareWrite, type Read } from '../../storage/prepared.js'
import type { Tables } from '../../storage/tables/tables.js'
import type { DkimKey } from './sign.js'

export const selectors = ['dkim1', 'dkim2'] as const

export type DkimKeyRow = Tables['dkim_keys']

export const insertDkimKey = prepareWrite<DkimKeyRow>(({ db, slot }) =>
  db.insertInto('dkim_keys').values({
    id: slot('id'),
    workspace_id: slot('workspace_id'),
    domain: slot('domain'),
    selector: slot('selector'),
    private_key: slot('private_key'),
    public_record: slot('public_record'),
    signing: slot('signing'),
    created_at: slot('created_at'),
    usable_at: slot('usable_at'),
    retired_at: slot('retired_at'),
  }),
)

/** Before another key of the domain begins to sign. */
export const stopSigning = prepareWrite<{ workspaceId: string; domain: string; now: number }>(({ db, slot }) =>
  db
    .updateTable('dkim_keys')
    .set({ signing: 0, retired_at: slot('now') })
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where('signing', '=', 1),
)

/** Misses where this key is gone: another has its selector by now. */
export const startSigning = prepareWrite<{ workspaceId: string; id: string }>(
  ({ db, slot }) =>
    db
      .updateTable('dkim_keys')
      .set({ signing: 1, retired_at: null })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id')),
  1,
)

export const deleteDkimKey = prepareWrite<{ workspaceId: string; domain: string; selector: string }>(({ db, slot }) =>
  db
    .deleteFrom('dkim_keys')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where('selector', '=', slot('selector')),
)

/** Misses when it is gone, or signs. */
export const deleteIdleKey = prepareWrite<{ workspaceId: string; id: string }>(
  ({ db, slot }) =>
    db
      .deleteFrom('dkim_keys')
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('signing', '=', 0),
  1,
)

export const deleteDkimKeys = prepareWrite<{ workspaceId: string; domain: string }>(({ db, slot }) =>
  db.deleteFrom('dkim_keys').where('workspace_id', '=', slot('workspaceId')).where('domain', '=', slot('domain')),
)

export const dkimKeysOf = prepareRead<{ workspaceId: string; domain: string }>()(({ db, slot }) =>
  db
    .selectFrom('dkim_keys')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .orderBy('selector'),
)

export interface SigningKeyCache {
  /** The key that signs for the domain, or undefined where there is none. */
  readonly find: (workspaceId: string, domain: string) => DkimKey | undefined
  readonly forget: (workspaceId: string, domain: string) => void
  readonly drop: () => void
}

const MAX_KEYS = 1_000

export function createSigningKeyCache({ read }: { readonly read: Read }): SigningKeyCache {
  const cache = new Map<string, DkimKey>()
  return {
    find: (workspaceId, domain) => {
      const name = cacheKeyOf(workspaceId, domain)
      const cached = cache.get(name)
      if (cached !== undefined) return cached
      const row = dkimKeysOf(read, { workspaceId, domain }).find(({ signing }) => signing === 1)
      if (row === undefined) return undefined
      const key = { domain, selector: row.selector, keyObject: createPrivateKey(row.private_key) }
      if (cache.size >= MAX_KEYS) cache.clear()
      cache.set(name, key)
      return key
    },
    forget: (workspaceId, domain) => {
      cache.delete(cacheKeyOf(workspaceId, domain))
    },
    drop: () => cache.clear(),
  }
}

function cacheKeyOf(workspaceId: string, domain: string): string {
  return `${workspaceId} ${domain}`
}
