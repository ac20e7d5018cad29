/**
 * The DKIM keys of sending domains and of the service itself.
 *
 * Each domain has two selectors. One of them signs, so a rotation moves to the other without a change of the
 * customer's DNS. The signing key cache holds each key as a `KeyObject`, because parsing a PEM costs more than
 * signing.
 */
import { createPrivateKey } from 'node:crypto'
import type { DomainName } from '../../../base/mail/address.js'
import { RecordCache } from '../../../base/platform/record-cache.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { FollowsTables } from '../../../base/storage/db/table-changes.js'
import type { Selector } from '../../../base/storage/tables/domain-tables.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import type { DkimKey } from './sign.js'

export const selectors = ['dkim1', 'dkim2'] as const satisfies readonly Selector[]

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

/** This write must come before the write that lets another key of the domain sign. */
export const stopSigning = prepareWrite<{ workspaceId: string; domain: DomainName; now: number }>(({ db, slot }) =>
  db
    .updateTable('dkim_keys')
    .set({ signing: 0, retired_at: slot('now') })
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where('signing', '=', 1),
)

/** Misses if this key is gone, because its selector has another key. */
export const startSigning = prepareWrite<{ workspaceId: string; id: string }>(
  ({ db, slot }) =>
    db
      .updateTable('dkim_keys')
      .set({ signing: 1, retired_at: null })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id')),
  1,
)

export const deleteDkimKey = prepareWrite<{ workspaceId: string; domain: DomainName; selector: string }>(
  ({ db, slot }) =>
    db
      .deleteFrom('dkim_keys')
      .where('workspace_id', '=', slot('workspaceId'))
      .where('domain', '=', slot('domain'))
      .where('selector', '=', slot('selector')),
)

/** Misses if the key is gone, or if it signs. */
export const deleteIdleKey = prepareWrite<{ workspaceId: string; id: string }>(
  ({ db, slot }) =>
    db
      .deleteFrom('dkim_keys')
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('signing', '=', 0),
  1,
)

export const deleteDkimKeys = prepareWrite<{ workspaceId: string; domain: DomainName }>(({ db, slot }) =>
  db.deleteFrom('dkim_keys').where('workspace_id', '=', slot('workspaceId')).where('domain', '=', slot('domain')),
)

export const dkimKeysOf = prepareRead<{ workspaceId: string; domain: DomainName }>()(({ db, slot }) =>
  db
    .selectFrom('dkim_keys')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .orderBy('selector'),
)

const MAX_KEYS = 1_000

/** Finds the key that signs for the domain. */
export class SigningKeyCache extends RecordCache<DkimKey | undefined, DomainName> implements FollowsTables {
  readonly follows = ['dkim_keys'] as const

  constructor(private readonly read: Read) {
    super({ max: MAX_KEYS })
  }

  protected async load(workspaceId: string, domain: DomainName): Promise<DkimKey | undefined> {
    const row = (await dkimKeysOf(this.read, { workspaceId, domain })).find(({ signing }) => signing === 1)
    if (row === undefined) return undefined
    return { domain, selector: row.selector, keyObject: createPrivateKey(row.private_key) }
  }
}
