/**
 * The account at the ACME server. It is made at the first order, stored with its key, and made again if the server no
 * longer accepts it.
 *
 * A server that lost its accounts gets the same key again; an account that was deactivated or revoked gets a new key.
 * That happens once an hour at most, since servers limit new accounts. For the same reason a first try that fails, also
 * because the disk takes no account, is repeated with its key: the server answers with the account that it has made.
 *
 * All daemons of the database use the account that one of them has made first.
 */
import type { Clock } from '../../base/platform/clock.js'
import type { AccountRows, StoredAccount } from './account-rows.js'
import type { AcmeDirectory } from './acme-directory.js'
import type { AcmeProblem } from './acme-problem.js'
import { createKey } from './place-order.js'

interface AccountDeps {
  readonly directory: Pick<AcmeDirectory, 'createAccount'>
  readonly directoryUrl: URL
  readonly email: string | null
  readonly rows: Pick<AccountRows, 'readAccount' | 'storeAccount'>
  readonly clock: Clock
}

/** Milliseconds. */
const REPLACE_INTERVAL = 3_600_000

export class AccountKeeper {
  private account: StoredAccount | null = null
  private firstKey: string | null = null
  private replacedAt = Number.NEGATIVE_INFINITY

  constructor(private readonly deps: AccountDeps) {}

  async use(): Promise<StoredAccount> {
    this.account ??= (await this.read()) ?? (await this.createFirst())
    return this.account
  }

  private async createFirst(): Promise<StoredAccount> {
    this.firstKey ??= await createKey()
    return this.create(this.firstKey, null)
  }

  /** Resolves to whether there is a new account, with which the work can be repeated. */
  async replace({ type }: AcmeProblem): Promise<boolean> {
    const stored = await this.read()
    if (stored !== null && this.account !== null && stored.url !== this.account.url) {
      // Another daemon has replaced it.
      this.account = stored
      return true
    }
    const now = this.deps.clock()
    if (now - this.replacedAt < REPLACE_INTERVAL) return false
    this.replacedAt = now
    const key = type === 'accountDoesNotExist' ? this.account?.key : undefined
    this.account = await this.create(key ?? (await createKey()), stored)
    return true
  }

  private read(): Promise<StoredAccount | null> {
    return this.deps.rows.readAccount(this.deps.directoryUrl)
  }

  private async create(key: string, old: StoredAccount | null): Promise<StoredAccount> {
    const { directory, email, rows, directoryUrl } = this.deps
    const account = { url: await directory.createAccount(key, email), key }
    return rows.storeAccount(directoryUrl, account, old)
  }
}
