/**
 * Wires verification codes by SMS: the configured provider, sending, checking, and receipts.
 *
 * If there is no provider, sending and checking refuse. A stop lets sends under way end for a moment, then closes the
 * provider: codes without an answer by then are void.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../base/config/complete.js'
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Clock } from '../../base/platform/clock.js'
import { createDialer } from '../../base/platform/dialer.js'
import { defaultResolverSettings, openResolver } from '../../base/platform/dns/resolver.js'
import type { Log } from '../../base/platform/log.js'
import { readAuthorities } from '../../base/platform/tls-files.js'
import type { Store } from '../../base/storage/db/database.js'
import type { ServiceIdentity } from '../../workspaces/domains/service-identity.js'
import { ReceiptApplier } from '../../workspaces/sms/apply-receipt.js'
import { type CodeChecker, createCodeChecker } from '../../workspaces/sms/check-code.js'
import { deriveCodeKey } from '../../workspaces/sms/code-hash.js'
import { ConversionWatch } from '../../workspaces/sms/conversion-watch.js'
import { HttpProvider } from '../../workspaces/sms/http/http-provider.js'
import { LogProvider } from '../../workspaces/sms/log-provider.js'
import type { SmsProvider } from '../../workspaces/sms/provider.js'
import { buildReceiptUrl } from '../../workspaces/sms/receipt-url.js'
import { recoverCodes } from '../../workspaces/sms/recover-codes.js'
import { type CodeSender, createCodeSender } from '../../workspaces/sms/send-code.js'
import { SendCharger } from '../../workspaces/sms/send-limits.js'
import { SmppProvider } from '../../workspaces/sms/smpp/smpp-provider.js'
import { countSent } from '../../workspaces/sms/sms-usage.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { Edges } from './edges.js'

interface SmsDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Store
  readonly identity: ServiceIdentity
  readonly edges: Edges
  readonly observers: Observers | null
}

export interface Sms {
  readonly sendCode: CodeSender
  readonly checkCode: CodeChecker
  readonly applyReceipt: ReceiptApplier['apply']
  /** Ends codes that a crash interrupted while they were sent. Call it before anything is sent. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Milliseconds that sends under way have to end when the daemon stops. */
const MAX_SMS_STOP = 3_000

/** Rejects if `sms.smpp.ca_file` cannot be read. */
export async function wireSms(deps: SmsDeps): Promise<Sms> {
  const { config, settings, clock, log, database, identity, observers } = deps
  const { read, commit } = database
  const store = { read, commit, clock, log }
  const abortController = new AbortController()
  const receipts = new ReceiptApplier(store)
  const provider = await openProvider(deps, receipts, abortController.signal)
  const codeKey = deriveCodeKey(identity.smsSecret)
  const charger = new SendCharger(read, () => settings().sms)
  const sends = trackWork(
    createCodeSender({
      ...{ ...store, codeKey, provider, countSent },
      allowedCountries: () => settings().sms.allowed_countries,
      ...{ charger, watch: new ConversionWatch(store, log, () => settings().sms, charger) },
      onSend: observers?.onSmsSend,
      buildReceiptUrl: (smsId) => buildReceiptUrl(identity.smsSecret, config.service.public_url, smsId),
    }),
  )
  return {
    sendCode: sends.run,
    checkCode:
      provider === null ? refuseCheck : createCodeChecker({ ...store, codeKey, onCheck: observers?.onSmsCheck }),
    applyReceipt: (receipt) => receipts.apply(receipt),
    start: async () => {
      warnOfSettings(settings(), log)
      // All of them, also if the clock was set back since.
      await recoverCodes({ read, commit, log }, { before: Number.MAX_SAFE_INTEGER, now: clock() })
    },
    stop: async () => {
      await sends.waitUntilIdle(MAX_SMS_STOP)
      await provider?.stop()
      await sends.waitUntilIdle(MAX_SMS_STOP)
      receipts.stop()
      abortController.abort()
    },
  }
}

const refuseCheck: CodeChecker = () => Promise.reject(new Refusal('unavailable', 'no SMS provider is configured'))

function warnOfSettings({ sms: { provider, allowed_countries: allowed } }: Config, log: Log): void {
  if (provider === 'log') log.warn('sms.provider is "log": verification codes are logged and not sent, for development')
  if (provider !== '' && allowed.length === 0) log.warn('sms.allowed_countries is empty: no verification code is sent')
}

async function openProvider(
  { config: { sms, dns }, settings, clock, log, edges }: SmsDeps,
  receipts: ReceiptApplier,
  signal: AbortSignal,
): Promise<SmsProvider | null> {
  const { smpp } = sms
  const { random, authorities } = edges
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
    const resolver = edges.resolver ?? openResolver({ ...defaultResolverSettings, servers: dns.servers }, clock, signal)
    return new SmppProvider({
      ...{ server: smpp.url, systemId: smpp.system_id, password: smpp.password },
      sender: () => settings().sms.sender,
      dialer: smpp.ca_file === null ? edges.dialer : createDialer(await readAuthorities(smpp.ca_file)),
      resolveAddresses: (name) => resolver.resolveAddresses(name),
      ...{ clock, random, log, onReceipt: (receipt) => receipts.apply(receipt) },
    })
  }
  return null
}

interface TrackedWork<Input, Output> {
  readonly run: (input: Input) => Promise<Output>
  /** Resolves when nothing is under way, or after `maxWait` milliseconds. */
  readonly waitUntilIdle: (maxWait: number) => Promise<void>
}

function trackWork<Input, Output>(work: (input: Input) => Promise<Output>): TrackedWork<Input, Output> {
  const running = new Set<Promise<Output>>()
  return {
    run: async (input) => {
      const result = work(input)
      running.add(result)
      try {
        return await result
      } finally {
        running.delete(result)
      }
    },
    waitUntilIdle: async (maxWait) => {
      const timer = new AbortController()
      const timeUp = sleep(maxWait, undefined, { signal: timer.signal }).catch(() => undefined)
      await Promise.race([Promise.allSettled(running), timeUp])
      timer.abort()
    },
  }
}
