/**
 * Holds the certificates: what listeners serve by name, the orders at the ACME server, and the warnings before an expiry.
 *
 * `open` reads what is stored, before any listener opens; `start` begins the work when listeners can answer challenges.
 * Without ACME there is the default certificate alone, whose expiry is watched too.
 */
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../base/config/complete.js'
import type { StartSettings } from '../../base/config/live-config.js'
import type { ListenAddress } from '../../base/config/network-values.js'
import type { DomainName } from '../../base/mail/address.js'
import type { Clock } from '../../base/platform/clock.js'
import { defaultResolverSettings, openResolver, type Resolver } from '../../base/platform/dns/resolver.js'
import { createHttpClient, type HttpClient } from '../../base/platform/http/http-client.js'
import type { Log } from '../../base/platform/log.js'
import type { RandomSource } from '../../base/platform/random.js'
import { type ListenerTls, loadTlsFiles, readAuthorities, type TlsFiles } from '../../base/platform/tls-files.js'
import { version } from '../../base/platform/version.js'
import type { Database } from '../../base/storage/db/database.js'
import { type AcmeDirectory, openAcmeDirectory } from './acme-directory.js'
import { AcmeOrders } from './acme-orders.js'
import { CertificateFiles } from './certificate-files.js'
import type { CertificateView } from './certificate-list.js'
import { listMailHosts, listServiceNames } from './certificate-names.js'
import { CertificateRunner } from './certificate-runner.js'
import { ChallengeAnswers } from './challenge-answers.js'
import { openChallengeListener } from './challenge-listener.js'
import { ExpiryWatch, type WatchDeps, type WatchedCertificate } from './expiry-watch.js'
import { checkName } from './name-check.js'
import { OrderLimits } from './order-limits.js'
import { readCertificateFacts } from './renewal-plan.js'
import { RenewalWindows } from './renewal-windows.js'
import { ServedCertificates } from './served-certificates.js'

/** Bytes of an answer of an ACME server; a chain has some 6 KB. */
const MAX_ANSWER_BYTES = 256 * 1024

export type PairSettings = Pick<Config['tls'], 'cert_file' | 'key_file'>

interface CertificateDeps {
  readonly config: StartSettings
  readonly clock: Clock
  readonly log: Log
}

interface OpenAcme {
  readonly files: CertificateFiles
  readonly served: ServedCertificates
  readonly directory: AcmeDirectory
  readonly http: HttpClient
}

interface WorkDeps {
  readonly database: Database
  /** Null: the configured servers are asked. */
  readonly resolver: Resolver | null
  readonly random: RandomSource
  /** The listeners, which serve the default certificate. */
  readonly listeners: { readonly served: { readonly cert: string }; readonly useCertificate: (tls: TlsFiles) => void }
  readonly composeNotices: WatchDeps['composeNotices']
}

export class Certificates {
  readonly answers = new ChallengeAnswers()
  /** Where challenges over plain HTTP are answered. */
  endpoints: readonly ListenAddress[] = []
  private runner: CertificateRunner | null = null
  /** Those that listeners serve by name; without ACME the default one. */
  private listWatched: () => readonly WatchedCertificate[] = () => []
  private readonly stopSteps: (() => Promise<void>)[] = []

  private constructor(
    private readonly deps: CertificateDeps,
    private readonly acme: OpenAcme | null,
    /** The default certificate at the start. */
    readonly tls: TlsFiles,
  ) {}

  static async open(deps: CertificateDeps, settings: PairSettings): Promise<Certificates> {
    const acme = deps.config.tls.acme.enabled ? await openAcme(deps) : null
    return new Certificates(deps, acme, await loadDefaultTls(deps, acme, settings))
  }

  /** What listeners serve from the start: the default certificate, and others by name. */
  get listenerTls(): ListenerTls {
    const { cert, key } = this.tls
    return { cert, key, SNICallback: this.acme?.served.chooseContext }
  }

  /** Whether clients that ask for this name get a valid certificate of its own. */
  servesName(name: DomainName): boolean {
    return this.acme?.served.serves(name) ?? false
  }

  /** The default certificate as it should be now: that of the ACME server, else that of these settings. */
  loadDefault(settings: PairSettings): Promise<TlsFiles> {
    return loadDefaultTls(this.deps, this.acme, settings)
  }

  async start(work: WorkDeps): Promise<void> {
    const { hostname, public_url: publicUrl } = this.deps.config.service
    if (this.acme === null) {
      const { served } = work.listeners
      this.listWatched = () => [{ name: hostname, fault: null, ...readCertificateFacts(served.cert) }]
      this.openWatch(work).start()
      return
    }
    const runner = this.openRunner(this.acme, work)
    this.runner = runner
    this.listWatched = () => runner.listIssued()
    const watch = this.openWatch(work)
    const listener = await openChallengeListener(this.deps.config.tls.acme.http_listen, {
      ...{ answers: this.answers, publicUrl },
    })
    this.stopSteps.push(() => listener.stop())
    this.endpoints = listener.endpoints
    runner.start(() => watch.start())
  }

  /** Has the orders look at once: names may have changed, or a renewal was asked for. */
  wake(): void {
    this.runner?.wake()
  }

  /** Those from the ACME server; empty without one. */
  list(): readonly CertificateView[] {
    return this.runner?.list() ?? []
  }

  /** Those whose expiry is watched. */
  listServed(): readonly WatchedCertificate[] {
    return this.listWatched()
  }

  async stop(): Promise<void> {
    for (const step of this.stopSteps.splice(0).toReversed()) await step()
  }

  private openRunner(acme: OpenAcme, { database, resolver, random, listeners }: WorkDeps): CertificateRunner {
    const { config, clock, log } = this.deps
    const { files, served, directory, http } = acme
    const ending = new AbortController()
    const settings = { ...defaultResolverSettings, servers: config.dns.servers, cacheSize: 0 }
    const { resolveAddresses } = resolver ?? openResolver(settings, clock, ending.signal)
    const windows = new RenewalWindows({ directory, files, clock })
    const limits = new OrderLimits()
    const nameDeps = { resolveAddresses, publicAddresses: config.service.public_addresses, readOwnAddresses }
    const orders = new AcmeOrders({ ...this.deps, files, directory, windows, limits, answers: this.answers })
    const runner = new CertificateRunner({
      ...{ files, served, windows, limits, clock, random, log },
      listNames: async () => ({ service: listServiceNames(config), mailHosts: await listMailHosts(database.read) }),
      checkName: (name) => checkName(name, nameDeps),
      order: (name, failures, signal) => orders.order(name, failures, signal),
      onIssued: (name, pair) => {
        if (name === config.service.hostname) listeners.useCertificate({ ...pair, caFile: files.pathOf(name) })
      },
    })
    this.stopSteps.push(async () => {
      const stopped = runner.stop()
      ending.abort()
      await http.close()
      await stopped
    })
    return runner
  }

  private openWatch({ database: { read, commit }, composeNotices }: WorkDeps): ExpiryWatch {
    const { clock, log } = this.deps
    const watch = new ExpiryWatch({ read, commit, clock, log, list: () => this.listServed(), composeNotices })
    this.stopSteps.push(() => watch.stop())
    return watch
  }
}

async function openAcme({ config: { service, tls }, clock, log }: CertificateDeps): Promise<OpenAcme> {
  const files = new CertificateFiles(service.data_dir)
  const onFault = (name: string, err: unknown): void => log.error({ name, err }, 'a certificate cannot be used')
  const served = new ServedCertificates({ files, clock, onFault })
  await served.load()
  const authorities = tls.acme.ca_file === null ? undefined : await readAuthorities(tls.acme.ca_file)
  const limits = { maxConnections: 2, maxBodyBytes: MAX_ANSWER_BYTES, maxDroppedBytes: 0 }
  const http = await createHttpClient({ ...limits, authorities })
  const userAgent = `Posthorn/${version}`
  const directory = await openAcmeDirectory({ url: tls.acme.directory, http, clock, userAgent })
  return { files, served, directory, http }
}

async function loadDefaultTls(
  { config, clock }: CertificateDeps,
  acme: OpenAcme | null,
  { cert_file: certFile, key_file: keyFile }: PairSettings,
): Promise<TlsFiles> {
  const { data_dir, hostname } = config.service
  const issued = await readHostCertificate(hostname, acme)
  const configured = certFile === null || keyFile === null ? null : { certFile, keyFile }
  return issued ?? loadTlsFiles(configured, { folder: join(data_dir, 'tls'), hostname, now: clock() })
}

/** Null if there is none yet. */
async function readHostCertificate(hostname: DomainName, acme: OpenAcme | null): Promise<TlsFiles | null> {
  if (acme === null || !acme.served.serves(hostname)) return null
  const pair = await acme.files.readPair(hostname)
  return pair === null ? null : { ...pair, caFile: acme.files.pathOf(hostname) }
}

function readOwnAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
}
