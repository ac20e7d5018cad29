/**
 * Orders certificates at the ACME server by our account. If the server no longer accepts the account, the order opens
 * another one and tries again.
 */
import type { StartSettings } from '../../base/config/live-config.js'
import type { DomainName } from '../../base/mail/address.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { TlsPair } from '../../base/platform/tls-files.js'
import type { AccountRows } from './account-rows.js'
import { AccountKeeper } from './acme-account.js'
import type { AcmeDirectory, ChallengeType } from './acme-directory.js'
import { AcmeProblem } from './acme-problem.js'
import type { ChallengeAnswers } from './challenge-answers.js'
import type { ChallengeRows } from './challenge-rows.js'
import type { NameLeases } from './name-leases.js'
import type { OrderLimits } from './order-limits.js'
import { placeOrder } from './place-order.js'
import type { RenewalWindows } from './renewal-windows.js'

const HTTPS_PORT = 443

interface AcmeOrderDeps {
  readonly config: StartSettings
  readonly clock: Clock
  readonly log: Log
  readonly accounts: AccountRows
  readonly leases: NameLeases
  readonly answers: ChallengeAnswers
  readonly challenges: ChallengeRows
  readonly directory: AcmeDirectory
  readonly windows: RenewalWindows
  readonly limits: OrderLimits
}

export class AcmeOrders {
  private readonly accounts: AccountKeeper
  private readonly types: readonly ChallengeType[]

  constructor(private readonly deps: AcmeOrderDeps) {
    const { config, directory, accounts: rows, clock } = deps
    const { directory: directoryUrl, email } = config.tls.acme
    this.accounts = new AccountKeeper({ directory, directoryUrl, email, rows, clock })
    this.types = listChallengeTypes(config)
  }

  /** Rejects with an AcmeProblem or an HttpFault. `failures`: of the name, in a row; they choose the challenge. */
  async order(name: DomainName, failures: number, signal: AbortSignal): Promise<TlsPair> {
    try {
      return await this.orderOnce(name, failures, signal)
    } catch (error) {
      const isRefused = error instanceof AcmeProblem && error.subject === 'account'
      if (!isRefused || !(await this.accounts.replace(error))) throw error
      this.deps.log.warn({ reason: error.message }, 'the ACME account was not accepted and is replaced')
      return this.orderOnce(name, failures, signal)
    }
  }

  private async orderOnce(name: DomainName, failures: number, signal: AbortSignal): Promise<TlsPair> {
    const { leases, answers, challenges, directory, windows, limits, clock } = this.deps
    const { key, url } = await this.accounts.use()
    const order = {
      ...{ leases, answers, challenges, signal },
      account: directory.useAccount(key, url),
      accountUrl: url,
      type: this.types[failures % this.types.length] ?? 'http-01',
      replaces: windows.replacedId(name),
      onCreated: () => limits.recordOrder(name, clock()),
    }
    return placeOrder(order, name)
  }
}

/** In the order of the tries: the second is for a name with which the first failed. */
function listChallengeTypes({ tls: { acme }, api }: StartSettings): readonly ChallengeType[] {
  const servesHttp = acme.http_listen.length > 0
  const servesAlpn = api.listen.some(
    (address) => address.kind === 'tls' && (!servesHttp || address.port === HTTPS_PORT),
  )
  return [...(servesHttp ? (['http-01'] as const) : []), ...(servesAlpn ? (['tls-alpn-01'] as const) : [])]
}
