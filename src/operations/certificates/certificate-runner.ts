/**
 * Orders and renews the certificates of all names: once a minute it looks which are due, and orders one after the other,
 * the service's own names first, then those that expire soonest, then new ones.
 *
 * A name that fails waits longer each time and keeps no other from its turn; a server that fails is left alone for a
 * while for all names. What is stored survives a restart, so neither a wait nor an order is lost.
 *
 * Several daemons may look after the same names. One takes a name before it orders, and reads again what is known of it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { DomainName } from '../../base/mail/address.js'
import type { Clock } from '../../base/platform/clock.js'
import { errorMessageOf } from '../../base/platform/errors.js'
import { HttpFault } from '../../base/platform/http/http-fault.js'
import type { Log } from '../../base/platform/log.js'
import type { RandomSource } from '../../base/platform/random.js'
import type { TlsPair } from '../../base/platform/tls-files.js'
import type { Store } from '../../base/storage/db/database.js'
import { WriteConflict } from '../../base/storage/db/write.js'
import { AcmeProblem } from './acme-problem.js'
import { type CertificateView, describeCertificate } from './certificate-list.js'
import { removeExpired, storeCertificate, toCertificateRow, toFacts } from './certificate-rows.js'
import type { NameLeases } from './name-leases.js'
import { type NameRecord, newNameRecord } from './name-record.js'
import { KEEP_TIME, type NameState, newNameState, readState, readStates, removeUnused } from './name-rows.js'
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

interface CertificateRunnerDeps extends Store {
  readonly leases: NameLeases
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
  private states = new Map<DomainName, NameState>()
  private isOutdated = true
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

  /** Another daemon, or a command, has changed what is stored of the names. */
  drop(): void {
    this.isOutdated = true
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
      const [facts, { record }] = [served.factsOf(name), this.stateOf(name)]
      return describeCertificate({ name, facts, record, window: windows.windowOf(name, facts) }, clock())
    })
  }

  /** The names that have a certificate. */
  listIssued(): readonly IssuedCertificate[] {
    return this.names.flatMap((name) => {
      const facts = this.deps.served.factsOf(name)
      return facts === null ? [] : [{ name, ...facts, fault: this.stateOf(name).record.fault }]
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
    const { service, mailHosts } = await this.deps.listNames()
    this.names = [...new Set([...service, ...this.byExpiry(mailHosts)])]
    if (this.isOutdated) await this.loadStates()
    this.onNames()
    this.onNames = () => undefined
    for (const name of this.names) {
      if (this.stopping.signal.aborted) return
      await this.serve(name)
    }
    await this.forgetOthers()
  }

  /** Names without a certificate come last: many new domains must not delay renewals. */
  private byExpiry(names: readonly DomainName[]): readonly DomainName[] {
    const { served } = this.deps
    const withExpiry = names.map((name) => ({ name, to: served.factsOf(name)?.to ?? Number.MAX_SAFE_INTEGER }))
    return withExpiry.sort((a, b) => a.to - b.to).map(({ name }) => name)
  }

  private async loadStates(): Promise<void> {
    this.isOutdated = false
    try {
      this.states = await readStates(this.deps.read)
    } catch (error) {
      this.isOutdated = true
      throw error
    }
    this.deps.limits.load([...this.states].map(([name, { record }]) => [name, record]))
  }

  private stateOf(name: DomainName): NameState {
    return this.states.get(name) ?? newNameState
  }

  private async serve(name: DomainName): Promise<void> {
    const { read, served, windows, clock, leases } = this.deps
    const facts = served.factsOf(name)
    if (facts !== null && !isWaiting(this.serverRestsUntil, clock())) await windows.refresh(name, facts)
    if (!this.isTurnOf(name) || !(await leases.take(name))) return
    try {
      await served.refresh(name)
      this.states.set(name, await readState(read, name))
      if (this.isTurnOf(name)) await this.tryWithinLimits(name)
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error
      // Another daemon has taken the name, because this one was too slow.
      this.drop()
    } finally {
      await leases.release(name)
    }
  }

  /** A renewal that an operator has asked for waits for nothing but rate limits. */
  private isTurnOf(name: DomainName): boolean {
    const { served, windows, clock } = this.deps
    const { record, isAsked } = this.stateOf(name)
    const facts = served.factsOf(name)
    const now = clock()
    const isDue = facts === null || !isValidAt(facts, now) || renewalTimeOf(facts, windows.windowOf(name, facts)) <= now
    return isAsked || (isDue && !isWaiting(record.nextTryAt, now) && !isWaiting(this.serverRestsUntil, now))
  }

  private async tryWithinLimits(name: DomainName): Promise<void> {
    const { served, limits, leases, clock } = this.deps
    const { record } = this.stateOf(name)
    const [facts, now] = [served.factsOf(name), clock()]
    const allowedAt = limits.nextOrderAt(name, now, facts === null ? null : facts.to - facts.from)
    if (allowedAt <= now) return this.tryOrder(name, record)
    const fault = 'waits for the rate limits of the server'
    await leases.settle(name, this.note(name, { ...record, fault, triedAt: now, nextTryAt: allowedAt }))
  }

  private async tryOrder(name: DomainName, record: NameRecord): Promise<void> {
    const { checkName, order } = this.deps
    try {
      const elsewhere = await checkName(name)
      if (elsewhere !== null) throw new AcmeProblem('', elsewhere, 'name')
      await this.settleIssue(name, await order(name, record.failures, this.stopping.signal))
    } catch (error) {
      if (error instanceof WriteConflict) throw error
      if (!this.stopping.signal.aborted) await this.settleFailure(name, record, error)
    }
  }

  /** If it cannot be stored, the next try reads the certificate from its order again. */
  private async settleIssue(name: DomainName, pair: TlsPair): Promise<void> {
    const { served, limits, leases, clock, log, onIssued } = this.deps
    const row = toCertificateRow(name, pair)
    limits.recordIssue(name, clock())
    const record = this.note(name, { ...newNameRecord, triedAt: clock() })
    await leases.settleOrder(name, record, [storeCertificate(row)])
    await served.adopt(name, toFacts(row))
    this.serverFailures = 0
    onIssued(name, pair)
    log.info({ name, certificate_until: new Date(row.valid_to).toISOString() }, 'a certificate was issued')
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
    await this.deps.leases.settle(name, this.note(name, { ...record, failures, fault, triedAt: now, nextTryAt }))
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

  /** Returns what is to be stored. If that fails, the name waits nevertheless. */
  private note(name: DomainName, record: NameRecord): NameRecord {
    const { limits, clock } = this.deps
    const noted = { ...record, ...limits.recall(name, clock()) }
    this.states.set(name, { record: noted, isAsked: false, updatedAt: clock() })
    return noted
  }

  /** Removes names that are no longer served, once their certificates have expired and their orders no longer count. */
  private async forgetOthers(): Promise<void> {
    const { served, commit, windows, clock } = this.deps
    const [current, now] = [new Set(this.names), clock()]
    const before = now - KEEP_TIME
    for (const name of new Set([...served.names(), ...this.states.keys()])) {
      const facts = served.factsOf(name)
      const isKept = (facts !== null && isValidAt(facts, now)) || this.stateOf(name).updatedAt >= before
      if (current.has(name) || isKept) continue
      await commit([removeExpired({ name, now }), removeUnused({ name, before })])
      served.forget(name)
      windows.forget(name)
      this.states.delete(name)
    }
  }
}
