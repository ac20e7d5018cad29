/**
 * Orders and renews the certificates of all names: once a minute it looks which are due, and orders one after the other,
 * the service's own names first, then those that expire soonest, then new ones.
 *
 * A name that fails waits longer each time and keeps no other from its turn; a server that fails is left alone for a
 * while for all names. What is stored survives a restart, so neither a wait nor an order is lost.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { DomainName } from '../../base/mail/address.js'
import type { Clock } from '../../base/platform/clock.js'
import { errorMessageOf } from '../../base/platform/errors.js'
import { HttpFault } from '../../base/platform/http/http-fault.js'
import type { Log } from '../../base/platform/log.js'
import type { RandomSource } from '../../base/platform/random.js'
import type { TlsPair } from '../../base/platform/tls-files.js'
import { AcmeProblem } from './acme-problem.js'
import type { CertificateFiles } from './certificate-files.js'
import { type CertificateView, describeCertificate } from './certificate-list.js'
import { type NameRecord, newNameRecord } from './name-record.js'
import type { OrderLimits } from './order-limits.js'
import { isValidAt, isWaiting, MAX_WAIT, renewalTimeOf, type Validity, waitAfterFailures } from './renewal-plan.js'
import type { RenewalWindows } from './renewal-windows.js'
import type { ServedCertificates } from './served-certificates.js'

interface IssuedCertificate extends Validity {
  readonly name: DomainName
  readonly fault: string | null
}

interface CertificateNames {
  readonly service: readonly DomainName[]
  readonly mailHosts: readonly DomainName[]
}

interface CertificateRunnerDeps {
  readonly files: CertificateFiles
  readonly served: ServedCertificates
  readonly windows: RenewalWindows
  readonly limits: OrderLimits
  readonly clock: Clock
  readonly random: RandomSource
  readonly log: Log
  readonly listNames: () => Promise<CertificateNames>
  /** The reason why a name does not lead here, or null if it does. */
  readonly checkName: (name: DomainName) => Promise<string | null>
  /** Rejects with an AcmeProblem or an HttpFault. `failures` counts those of the name, in a row. */
  readonly order: (name: DomainName, failures: number, signal: AbortSignal) => Promise<TlsPair>
  readonly onIssued: (name: DomainName, pair: TlsPair) => void
}

/** Milliseconds between two looks. */
const LOOK_INTERVAL = 60_000
const DEFAULT_RETRY_AFTER = 3_600_000

export class CertificateRunner {
  private readonly records = new Map<DomainName, NameRecord>()
  private names: readonly DomainName[] = []
  private readonly stopping = new AbortController()
  private waking = new AbortController()
  private running: Promise<void> = Promise.resolve()
  private onNames: () => void = () => undefined
  private serverFailures = 0
  private serverRestsUntil = 0

  constructor(private readonly deps: CertificateRunnerDeps) {}

  /** `onNames` is called once, when the names and what is known of them are read. */
  start(onNames: () => void): void {
    this.onNames = onNames
    this.running = this.run()
  }

  /** Makes it check at once: names may have changed, or an operator asked for a renewal. */
  wake(): void {
    this.waking.abort()
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    this.waking.abort()
    await this.running
  }

  list(): readonly CertificateView[] {
    const { served, windows, clock } = this.deps
    return this.names.map((name) => {
      const record = this.records.get(name) ?? newNameRecord
      return describeCertificate({ name, facts: served.factsOf(name), record, window: windows.windowOf(name) }, clock())
    })
  }

  /** The names that have a certificate. */
  listIssued(): readonly IssuedCertificate[] {
    return this.names.flatMap((name) => {
      const facts = this.deps.served.factsOf(name)
      return facts === null ? [] : [{ name, ...facts, fault: this.records.get(name)?.fault ?? null }]
    })
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      this.waking = new AbortController()
      const { signal } = this.waking
      try {
        await this.look()
      } catch (err) {
        if (!this.stopping.signal.aborted) this.deps.log.error({ err }, 'certificates cannot be looked after now')
      }
      await pause(LOOK_INTERVAL, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  private async look(): Promise<void> {
    const { files, listNames } = this.deps
    const { service, mailHosts } = await listNames()
    this.names = [...new Set([...service, ...this.byExpiry(mailHosts)])]
    for (const name of this.names) if (!this.records.has(name)) await this.loadRecord(name)
    this.onNames()
    this.onNames = () => undefined
    const asked = new Set(await files.listRequests())
    for (const name of this.names) {
      if (this.stopping.signal.aborted) return
      await this.serve(name, asked.delete(name))
    }
    for (const name of asked) await files.removeRequest(name)
    await this.forgetOthers()
  }

  /** Names without a certificate come last: many new domains must not delay renewals. */
  private byExpiry(names: readonly DomainName[]): readonly DomainName[] {
    const { served } = this.deps
    const withExpiry = names.map((name) => ({ name, to: served.factsOf(name)?.to ?? Number.MAX_SAFE_INTEGER }))
    return withExpiry.sort((a, b) => a.to - b.to).map(({ name }) => name)
  }

  private async loadRecord(name: DomainName): Promise<void> {
    const record = await this.deps.files.readRecord(name)
    this.deps.limits.load(name, record)
    this.records.set(name, record)
  }

  /** `isAsked` says that an operator asked for a renewal, which waits for nothing but rate limits. */
  private async serve(name: DomainName, isAsked: boolean): Promise<void> {
    const { served, windows, clock, files, limits } = this.deps
    const record = this.records.get(name) ?? newNameRecord
    const facts = served.factsOf(name)
    if (facts !== null && !isWaiting(this.serverRestsUntil, clock())) await windows.refresh(name)
    const now = clock()
    const isDue = facts === null || !isValidAt(facts, now) || renewalTimeOf(facts, windows.windowOf(name)) <= now
    const mayTry = !isWaiting(record.nextTryAt, now) && !isWaiting(this.serverRestsUntil, now)
    if (!isAsked && !(isDue && mayTry)) return
    const allowedAt = limits.nextOrderAt(name, now, facts === null ? null : facts.to - facts.from)
    if (allowedAt > now) {
      const fault = 'waits for the rate limits of the server'
      await this.store(name, { ...record, fault, triedAt: now, nextTryAt: allowedAt })
    } else await this.tryOrder(name, record)
    if (isAsked) await files.removeRequest(name)
  }

  private async tryOrder(name: DomainName, record: NameRecord): Promise<void> {
    const { checkName, order, served, windows, clock, log, onIssued } = this.deps
    try {
      const elsewhere = await checkName(name)
      if (elsewhere !== null) throw new AcmeProblem('', elsewhere, 'name')
      const pair = await order(name, record.failures, this.stopping.signal)
      await served.replace(name, pair)
      // This comes first: if the disk takes no more, the new certificate is served nevertheless.
      onIssued(name, pair)
      this.deps.limits.recordIssue(name, clock())
      await this.deps.files.removeOrder(name)
      windows.forget(name)
      this.serverFailures = 0
      await this.store(name, { ...newNameRecord, triedAt: clock() })
      const until = new Date(served.factsOf(name)?.to ?? 0).toISOString()
      log.info({ name, certificate_until: until }, 'a certificate was issued')
    } catch (error) {
      if (!this.stopping.signal.aborted) await this.settleFailure(name, record, error)
    }
  }

  private async settleFailure(name: DomainName, record: NameRecord, error: unknown): Promise<void> {
    const { clock, random, log } = this.deps
    const now = clock()
    const problem = error instanceof AcmeProblem ? error : null
    const asked = Math.min(problem?.retryAfter ?? 0, MAX_WAIT)
    const isOfName = problem?.subject === 'name'
    const failures = isOfName ? record.failures + 1 : record.failures
    if (!isOfName) this.restServer(asked)
    const nextTryAt = isOfName
      ? now + Math.max(asked, waitAfterFailures(failures, random(), 'name'))
      : problem?.subject === 'rate-limit'
        ? now + (asked || DEFAULT_RETRY_AFTER)
        : this.serverRestsUntil
    const fault = errorMessageOf(error)
    await this.store(name, { ...record, failures, fault, triedAt: now, nextTryAt })
    const fields = { name, reason: fault, next: new Date(nextTryAt).toISOString() }
    // A fault of this program or of the disk, which its text may not explain.
    const isExpected = problem !== null || error instanceof HttpFault
    if (isExpected) log.warn(fields, 'a certificate could not be obtained')
    else log.error({ ...fields, err: error }, 'a certificate could not be obtained')
  }

  private restServer(asked: number): void {
    const { clock, random } = this.deps
    this.serverFailures += 1
    const wait = waitAfterFailures(this.serverFailures, random(), 'server')
    this.serverRestsUntil = clock() + Math.min(asked || DEFAULT_RETRY_AFTER, wait)
  }

  private async store(name: DomainName, record: NameRecord): Promise<void> {
    const { files, limits, clock } = this.deps
    const stored = { ...record, ...limits.recall(name, clock()) }
    this.records.set(name, stored)
    await files.storeRecord(name, stored)
  }

  /** Removes names that are no longer served, once their certificates have expired. */
  private async forgetOthers(): Promise<void> {
    const { served, files, windows, clock } = this.deps
    const current = new Set(this.names)
    for (const name of await files.listNames()) {
      const facts = served.factsOf(name)
      if (current.has(name) || (facts !== null && isValidAt(facts, clock()))) continue
      served.forget(name)
      windows.forget(name)
      this.records.delete(name)
      await files.remove(name)
    }
  }
}
