/**
 * Verification codes by SMS: sending, checking and receipts, with the provider that is configured.
 *
 * If there is no provider, sending and checking refuse. A stop lets sends under way end for a moment, then closes the
 * provider: codes without an answer by then are void.
 */
import type { KeyObject } from 'node:crypto'
import type { Config } from '../../../base/config/complete.js'
import type { ReadSettings, StartSettings } from '../../../base/config/live-config.js'
import type { Clock } from '../../../base/platform/clock.js'
import { createDialer, type Dialer } from '../../../base/platform/dialer.js'
import { defaultResolverSettings, openResolver, type Resolver } from '../../../base/platform/dns/resolver.js'
import type { Log } from '../../../base/platform/log.js'
import type { RandomSource } from '../../../base/platform/random.js'
import { readAuthorities } from '../../../base/platform/tls-files.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { NodeState } from '../../../base/storage/db/node-state.js'
import { ReceiptApplier } from '../apply-receipt.js'
import { CodeChecker, type CodeCheckerDeps } from '../check-code.js'
import { deriveCodeKey } from '../code-hash.js'
import { ConversionWatch } from '../conversion-watch.js'
import { HttpProvider } from '../http/http-provider.js'
import { LogProvider } from '../log-provider.js'
import type { Receipt, SmsProvider } from '../provider.js'
import { buildReceiptUrl } from '../receipt-url.js'
import { recoverCodes } from '../recover-codes.js'
import { CodeSender, type CodeSenderDeps } from '../send-code.js'
import { SendCharger } from '../send-limits.js'
import { SmppProvider } from '../smpp/smpp-provider.js'
import { countSent } from '../sms-usage.js'

/** Milliseconds after which the sending of a code has surely ended. */
const SENDING_TIME = 60_000

interface SmsServiceDeps extends Pick<CodeSenderDeps, 'onSend'>, Pick<CodeCheckerDeps, 'onCheck'> {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Store
  /** The service's secret of SMS. */
  readonly secret: KeyObject
  readonly random: RandomSource
  readonly dialer: Dialer
  /** Null if the configured servers are asked. */
  readonly resolver: Resolver | null
  /** PEM certificates that verify an HTTP provider. Undefined if the system's are used. */
  readonly authorities: string | undefined
}

/** Milliseconds that sends under way have to end when the daemon stops. */
const MAX_SMS_STOP = 3_000

export class SmsService {
  readonly sender: CodeSender
  readonly checker: CodeChecker

  private constructor(
    private readonly deps: SmsServiceDeps,
    private readonly receipts: ReceiptApplier,
    private readonly provider: SmsProvider | null,
    private readonly stopped: AbortController,
  ) {
    const { config, settings, clock, log, database, secret, onSend, onCheck } = deps
    const { read, commit } = database
    const store = { read, commit, clock, log, codeKey: deriveCodeKey(secret) }
    const charger = new SendCharger(read, () => settings().sms)
    this.sender = new CodeSender({
      ...{ ...store, provider, countSent, charger, onSend },
      allowedCountries: () => settings().sms.allowed_countries,
      watch: new ConversionWatch(store, log, () => settings().sms, charger),
      buildReceiptUrl: (smsId) => buildReceiptUrl(secret, config.service.public_url, smsId),
    })
    this.checker = new CodeChecker({ ...store, isConfigured: provider !== null, onCheck })
  }

  /** Rejects if `sms.smpp.ca_file` cannot be read. */
  static async open(deps: SmsServiceDeps): Promise<SmsService> {
    const stopped = new AbortController()
    const receipts = new ReceiptApplier({ ...deps, ...deps.database })
    return new SmsService(deps, receipts, await openProvider(deps, receipts, stopped.signal), stopped)
  }

  /** Ends codes that a crash interrupted while they were sent. Call it before anything is sent. */
  async start(node: Pick<NodeState, 'countLiving'>): Promise<void> {
    const { settings, log, database, clock } = this.deps
    warnOfSettings(settings(), log)
    const now = clock()
    // All of them, also if the clock was set back since, unless another node may be sending one.
    const before = node.countLiving() === 1 ? Number.MAX_SAFE_INTEGER : now - SENDING_TIME
    await recoverCodes({ ...database, log }, { before, now })
  }

  applyReceipt(receipt: Receipt): ReturnType<ReceiptApplier['apply']> {
    return this.receipts.apply(receipt)
  }

  async stop(): Promise<void> {
    await this.sender.waitUntilIdle(MAX_SMS_STOP)
    await this.provider?.stop()
    await this.sender.waitUntilIdle(MAX_SMS_STOP)
    await this.receipts.stop()
    this.stopped.abort()
  }
}

function warnOfSettings({ sms: { provider, allowed_countries: allowed } }: Config, log: Log): void {
  if (provider === 'log') log.warn('sms.provider is "log": verification codes are logged and not sent, for development')
  if (provider !== '' && allowed.length === 0) log.warn('sms.allowed_countries is empty: no verification code is sent')
}

async function openProvider(
  { config: { sms, dns }, settings, clock, log, random, authorities, resolver: given, dialer }: SmsServiceDeps,
  receipts: ReceiptApplier,
  signal: AbortSignal,
): Promise<SmsProvider | null> {
  const { smpp } = sms
  if (sms.provider === 'log') return new LogProvider(log)
  if (sms.provider === 'http') {
    const { url: urlAtStart } = settings().sms.http
    if (urlAtStart === null) return null
    return new HttpProvider({
      ...{ clock, random, authorities },
      settings: () => {
        const { style, url, username, password, body_template } = settings().sms.http
        return { style, url: url ?? urlAtStart, username, password, body_template }
      },
      sender: () => settings().sms.sender,
    })
  }
  if (sms.provider === 'smpp' && smpp.url !== null) {
    const resolver = given ?? openResolver({ ...defaultResolverSettings, servers: dns.servers }, clock, signal)
    return new SmppProvider({
      ...{ server: smpp.url, systemId: smpp.system_id, password: smpp.password },
      sender: () => settings().sms.sender,
      dialer: smpp.ca_file === null ? dialer : createDialer(await readAuthorities(smpp.ca_file)),
      resolveAddresses: (name) => resolver.resolveAddresses(name),
      ...{ clock, random, log, onReceipt: (receipt) => receipts.apply(receipt) },
    })
  }
  return null
}
