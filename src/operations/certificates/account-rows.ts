/** Our accounts at ACME servers, as rows. All daemons of the database use the same account. */
import { createHash } from 'node:crypto'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../base/storage/db/prepared.js'
import { tryCommit } from '../../base/storage/db/write.js'
import type { AcmeAccountsTable } from '../../base/storage/tables/certificate-tables.js'

export interface StoredAccount {
  readonly url: string
  /** PEM. */
  readonly key: string
}

const accountAt = prepareRead<Pick<AcmeAccountsTable, 'directory_key'>>()(({ db, slot }) =>
  db
    .selectFrom('acme_accounts')
    .select(['url', 'private_key as key'])
    .where('directory_key', '=', slot('directory_key')),
)

const insertAccount = prepareWrite<AcmeAccountsTable>(({ db, slots }) =>
  db
    .insertInto('acme_accounts')
    .values(slots(['directory_key', 'directory', 'url', 'private_key']))
    .onConflict((conflict) => conflict.column('directory_key').doNothing()),
)

const replaceAccount = prepareWrite<AcmeAccountsTable & { oldUrl: string; oldKey: string }>(
  ({ db, slot, slots }) =>
    db
      .updateTable('acme_accounts')
      .set(slots(['url', 'private_key']))
      .where('directory_key', '=', slot('directory_key'))
      .where('url', '=', slot('oldUrl'))
      .where('private_key', '=', slot('oldKey')),
  1,
)

export class AccountRows {
  constructor(private readonly store: Store) {}

  /** Null if there is none at this server. */
  async readAccount(directory: URL): Promise<StoredAccount | null> {
    return (await accountAt(this.store.read, { directory_key: keyOf(directory) }))[0] ?? null
  }

  /**
   * Stores the account in place of `old`, or of none. If another daemon has stored one meanwhile, that one stays.
   * Resolves to the account that is stored.
   */
  async storeAccount(directory: URL, account: StoredAccount, old: StoredAccount | null): Promise<StoredAccount> {
    const row = toRow(directory, account)
    const write =
      old === null ? { ...insertAccount(row), rows: 1 } : replaceAccount({ ...row, oldUrl: old.url, oldKey: old.key })
    if (await tryCommit(this.store.commit([write]))) return account
    return (await this.readAccount(directory)) ?? account
  }
}

function toRow(directory: URL, { url, key }: StoredAccount): AcmeAccountsTable {
  return { directory_key: keyOf(directory), directory: directory.href, url, private_key: key }
}

function keyOf({ href }: URL): string {
  return createHash('sha256').update(href).digest('hex')
}
