/**
 * The certificates that listeners serve, and which of them a client gets by the name that it asks for (SNI).
 *
 * Validity is in memory for each name; certificates and keys are read from their files when a client asks for the name,
 * and the contexts of those used last are kept. A client that names no host with a certificate gets the default one of
 * its listener.
 */
import { X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { type DomainName, tryParseDomainName } from '../../base/mail/address.js'
import { createLruCache, type LruCache } from '../../base/platform/lru-cache.js'
import type { SniCallback, TlsPair } from '../../base/platform/tls-files.js'
import type { CertificateFiles } from './certificate-files.js'
import { type CertificateFacts, isValidAt, readCertificateFacts } from './renewal-plan.js'

/** Contexts that are kept; each takes some 50 KB. */
const MAX_CONTEXTS = 500

interface CachedContext {
  readonly facts: CertificateFacts
  readonly context: Promise<SecureContext>
}

interface StoreDeps {
  readonly files: Pick<CertificateFiles, 'listNames' | 'readPair' | 'storePair'>
  readonly clock: () => number
  /** A stored certificate that cannot be used. */
  readonly onFault: (name: string, error: unknown) => void
}

export class ServedCertificates {
  private readonly known = new Map<DomainName, CertificateFacts>()
  private readonly contexts: LruCache<CachedContext> = createLruCache({ max: MAX_CONTEXTS })

  constructor(private readonly deps: StoreDeps) {}

  /** Reads which certificates are stored. One that is broken counts as absent. */
  async load(): Promise<void> {
    for (const name of await this.deps.files.listNames()) {
      try {
        const pair = await this.deps.files.readPair(name)
        if (pair !== null) this.known.set(name, readPairFacts(name, pair))
      } catch (error) {
        this.deps.onFault(name, error)
      }
    }
  }

  /** Stores a new certificate; later handshakes use it. Rejects if it is not for the name or not of the key. */
  async replace(name: DomainName, pair: TlsPair): Promise<void> {
    const facts = readPairFacts(name, pair)
    await this.deps.files.storePair(name, pair)
    this.known.set(name, facts)
  }

  forget(name: DomainName): void {
    this.known.delete(name)
  }

  factsOf(name: DomainName): CertificateFacts | null {
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
        this.deps.onFault(name, error)
        respond(null)
      },
    )
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
    const pair = await this.deps.files.readPair(name)
    if (pair === null) throw new Error('the file of the certificate is missing')
    return createSecureContext({ ...pair, minVersion: 'TLSv1.2' })
  }
}

/** Throws if the certificate does not name the host, or the key does not belong to it. */
function readPairFacts(name: DomainName, { cert, key }: TlsPair): CertificateFacts {
  if (new X509Certificate(cert).checkHost(name) === undefined) throw new Error(`the certificate is not for ${name}`)
  createSecureContext({ cert, key })
  return readCertificateFacts(cert)
}
