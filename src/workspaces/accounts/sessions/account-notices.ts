/**
 * Mail to a user about the security of the account. The commit of a change stores the mail that reports it, so
 * neither exists without the other. `notices/account-notice.ts` writes it.
 */
import type { Address } from '../../../base/mail/address.js'
import type { Store } from '../../../base/storage/db/database.js'
import { tryCommit, type Write } from '../../../base/storage/db/write.js'
import type { Client } from './session-records.js'

export type AccountChange =
  | { readonly kind: 'password-changed' }
  | { readonly kind: 'second-factor-enabled' }
  | { readonly kind: 'second-factor-disabled' }
  | { readonly kind: 'recovery-codes-replaced' }
  /** `left` is the number of codes that are still unused. */
  | { readonly kind: 'recovery-code-used'; readonly left: number }
  | { readonly kind: 'new-browser' }

export interface AccountNotice {
  readonly email: Address
  readonly change: AccountChange
  /** The client that made the change. It is null on the command line. */
  readonly client: Client | null
  readonly now: number
}

interface PreparedNotice {
  readonly writes: readonly Write[]
  /** Hands the committed mail to delivery. */
  readonly send: () => void
}

/** Returns null if the address gets no mail of the service. */
export type PrepareNotice = (notice: AccountNotice) => Promise<PreparedNotice | null>

interface NoticeDeps extends Pick<Store, 'commit'> {
  readonly prepareNotice: PrepareNotice
}

/** Resolves to false when one of the writes misses. Then it sends no notice. */
export async function commitWithNotices(
  { commit, prepareNotice }: NoticeDeps,
  writes: readonly Write[],
  notices: readonly AccountNotice[],
): Promise<boolean> {
  const prepared = (await Promise.all(notices.map(prepareNotice))).filter((notice) => notice !== null)
  const isDone = await tryCommit(commit([...writes, ...prepared.flatMap((notice) => notice.writes)]))
  if (isDone) for (const { send } of prepared) send()
  return isDone
}
