/**
 * The certificates that listeners serve, and which of them a client gets by the name that it asks for (SNI).
 *
 * Validity is in memory for each name. Certificates and keys are read from the database when a client asks for the name,
 * and the contexts of those used last are kept. A client that names no host with a certificate gets the default one of
 * its listener.
 */
import { createSecureContext, type SecureContext } from 'node:tls'
import { type DomainName, tryParseDomainName } from '../../base/mail/address.js'
import { createLruCache, type LruCache } from '../../base/platform/lru-cache.js'
import { createSerialRunner } from '../../base/platform/serial-runner.js'
import type { SniCallback } from '../../base/platform/tls-files.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { StorageFault } from '../../base/storage/db/write.js'
import { readAllFacts, readFacts, readPair } from './certificate-rows.js'
import { type IdentifiedFacts, isValidAt } from './renewal-plan.js'

/** Contexts that are kept; each takes some 50 KB. */
const MAX_CONTEXTS = 500

interface CachedContext {
  readonly facts: IdentifiedFacts
  readonly context: Promise<SecureContext>
}

interface StoreDeps {
  readonly read: Read
  readonly clock: () => number
  /** A stored certificate that cannot be used. */
  readonly onFault: (name: string, error: unknown) => void
}

export class ServedCertificates {
  private readonly known = new Map<DomainName, IdentifiedFacts>()
  private readonly contexts: LruCache<CachedContext> = createLruCache({ max: MAX_CONTEXTS })
  /** A read that began before a change must not undo it. */
  private readonly inTurn = createSerialRunner()

  constructor(private readonly deps: StoreDeps) {}

  /** Reads which certificates are stored. Resolves to the names whose certificate is another one than before. */
  load(): Promise<ReadonlySet<DomainName>> {
    return this.inTurn(async () => {
      const stored = await readAllFacts(this.deps.read)
      for (const name of this.known.keys()) if (!stored.has(name)) this.known.delete(name)
      const changed = [...stored].filter(([name, facts]) => this.note(name, facts))
      return new Set(changed.map(([name]) => name))
    })
  }

  /** Reads the one of this name again. */
  refresh(name: DomainName): Promise<void> {
    return this.inTurn(async () => {
      const facts = await readFacts(this.deps.read, name)
      if (facts !== null) this.note(name, facts)
    })
  }

  /** This daemon has stored the certificate: later handshakes use it. */
  adopt(name: DomainName, facts: IdentifiedFacts): Promise<void> {
    return this.inTurn(async () => void this.note(name, facts))
  }

  forget(name: DomainName): void {
    this.known.delete(name)
  }

  factsOf(name: DomainName): IdentifiedFacts | null {
    return this.known.get(name) ?? null
  }

  names(): IterableIterator<DomainName> {
    return this.known.keys()
  }

  /** Whether clients that ask for this name get a certificate that is valid now. */
  serves(name: DomainName): boolean {
    const facts = this.known.get(name)
    return facts !== undefined && isValidAt(facts, this.deps.clock())
  }

  readonly chooseContext: SniCallback = (asked, respond) => {
    const name = tryParseDomainName(asked)
    if (name === null || !this.serves(name)) return respond(null)
    this.findContext(name).then(
      (context) => respond(null, context),
      (error: unknown) => {
        // The outage has a line of its own.
        if (!(error instanceof StorageFault)) this.deps.onFault(name, error)
        respond(null)
      },
    )
  }

  private note(name: DomainName, facts: IdentifiedFacts): boolean {
    if (this.known.get(name)?.fingerprint === facts.fingerprint) return false
    this.known.set(name, facts)
    return true
  }

  private findContext(name: DomainName): Promise<SecureContext> {
    const facts = this.known.get(name)
    const cached = this.contexts.get(name)
    if (cached !== undefined && cached.facts === facts) return cached.context
    const context = this.readContext(name)
    if (facts !== undefined) this.contexts.set(name, { facts, context })
    context.catch(() => this.contexts.delete(name))
    return context
  }

  private async readContext(name: DomainName): Promise<SecureContext> {
    const pair = await readPair(this.deps.read, name)
    if (pair === null) throw new Error('the certificate is no longer stored')
    return createSecureContext({ ...pair, minVersion: 'TLSv1.2' })
  }
}
